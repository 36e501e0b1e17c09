"""``bertlook compare``: what changed in every head between two checkpoints of one shape, beside two models that share nothing."""

from argparse import ArgumentParser, Namespace
from contextlib import ExitStack

from bertlook_course.analyses.finetuning import report_checkpoints
from bertlook_course.corpora import iter_pairs, iter_texts, load_texts

from . import common
from .driver import Command, Data, Given


class Checkpoints(Data):
    """Two checkpoints, and texts or pairs; of recordings what both were recorded on, if none are named."""

    def add_model(self, parser: ArgumentParser, recorded: bool) -> None:
        before = "specimen, a hub name, a folder, or recorded:FILE"
        parser.add_argument("before", metavar="BEFORE", help=before)
        after = "a checkpoint of the same shape and vocabulary, named in the same ways"
        parser.add_argument("after", metavar="AFTER", help=after)

    def add(self, parser: ArgumentParser) -> None:
        common.add_texts(parser.add_mutually_exclusive_group(), default=" (default: the shipped sentences)")
        common.add_limit(parser, "texts")

    def read(self, args: Namespace, stack: ExitStack) -> Given:
        models = [
            common.load_model(name, args.device) if name.startswith(common.RECORDED) else None
            for name in (args.before, args.after)
        ]
        recordings = [model for model in models if model is not None]
        if len({one.matching for one in recordings}) > 1:
            raise ValueError(
                f"{' and '.join(one.badge for one in recordings)} read texts by different rules ({', '.join(one.matching for one in recordings)}): "
                "maps of different tokens cannot be compared. Compare checkpoints of one vocabulary."
            )
        if len({(one.n_layers, one.n_heads) for one in recordings}) > 1:
            raise ValueError(
                f"{' and '.join(f'{one.badge} ({one.n_layers} x {one.n_heads} heads)' for one in recordings)}: heads are compared one by one, so both models must "
                "have the same layers and heads, as two checkpoints of one model have."
            )
        if recordings and not (args.pairs or args.texts):  # what was recorded, of both
            shared = [text for text in recordings[0].texts if text in recordings[-1]]
            if len(shared) < 2:
                raise ValueError(
                    f"{' and '.join(f'{one.badge} ({len(one)} inputs)' for one in recordings)}: {len(shared)} recorded of both, and a comparison with "
                    "intervals needs at least two. Record both models on one file of texts (`bertlook record`), or compare the models themselves."
                )
            texts = common.first(shared, args.limit)
        elif args.pairs:
            texts = common.first(iter_pairs(args.pairs), args.limit)
        else:
            texts = common.first(iter_texts(args.texts) if args.texts else load_texts(), args.limit)
        before, after = (
            model or common.load_model(name, args.device)
            for model, name in zip(models, (args.before, args.after))
        )
        return Given((after, texts), model=before)


COMMAND = Command(
    "compare",
    report_checkpoints,
    Checkpoints({"limit": (2, "two texts, for intervals")}),
    "compare compare-layers",
    "compare specimen result/negation-0 --texts my.txt --out comparison",
    notes="Two recordings (recorded:FILE) are compared on the inputs that both hold; --texts or --pairs choose from these. Give a recording of the "
    "random twin with --twin.",
    recorded=True,
)
