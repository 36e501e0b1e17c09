"""``bertlook compare``: what changed in every head between two checkpoints of one shape, beside two models that share nothing."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from functools import partial

from .. import __version__
from ..disk import align, claim_folder, save_rows, with_interval
from . import common


def add_arguments(parser: ArgumentParser) -> None:
    """The options of ``bertlook compare``."""
    common.describe(
        parser,
        "Compares every head of two checkpoints on the same texts (default: the shipped sentences): cosine and Jensen-Shannon "
        "divergence of the maps with intervals, the curves of what heads look at, and whether the best pairing of heads gives each "
        "to itself. Beside it stands the first checkpoint against its random twin: what two models give that share nothing. Writes "
        "compare.csv (one row for each head), compare-layers.csv (one for each layer) and both as JSON.",
        "compare specimen result/negation-0 --texts my.txt --out comparison",
        "Two recordings (recorded:FILE) are compared on what both were recorded on, unless --texts or --pairs choose among it; their random "
        "twin is recorded too, --twin.",
    )
    parser.add_argument("before", metavar="BEFORE", help="specimen, a hub name, a folder, or recorded:FILE")
    parser.add_argument(
        "after", metavar="AFTER", help="a checkpoint of the same shape and vocabulary, named in the same ways"
    )
    common.add_texts(parser.add_mutually_exclusive_group())
    common.add_limit(parser, "texts")
    common.add_out(parser)
    common.add_no_twin(parser)
    common.add_recorded_twin(parser)
    memory = "do not pair heads off: needs less memory for large models and many texts"
    parser.add_argument("--no-matching", action="store_true", help=memory)
    common.add_truncate(parser)
    common.add_device(parser, batch_size=8)


def run(args: Namespace) -> int:
    """``bertlook compare``: returns the exit code."""
    from ..analyses.finetuning import compare_checkpoints
    from ..corpora import iter_pairs, iter_texts, load_texts

    common.at_least(args, limit=(2, "two texts, for intervals"))
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
    if len(texts) < 2:
        raise ValueError(f"a comparison with intervals needs at least two texts; got {len(texts)}.")
    folder = claim_folder(args.out)
    before, after = (
        model or common.load_model(name, args.device)
        for model, name in zip(models, (args.before, args.after))
    )
    compare = partial(
        compare_checkpoints,
        texts=texts,
        matching=not args.no_matching,
        truncate=args.truncate,
        batch_size=args.batch_size,
        progress=common.bar(args, "texts", total=len(texts)),
    )
    found = compare(before, after)
    others = {}
    for twin in common.with_twin(args, before)[1:]:
        others["random twin"] = compare(before, twin)
    late, low, high = found.late_minus_early() if found.shape[0] > 1 else (None,) * 3
    about = {
        "before": before.name,
        "after": after.name,
        "fingerprints": [found.about["before"], found.about["after"]],
        "n": found.n_texts,
        "mean cosine": round(float(found.cosine.mean()), 6),
        "floor: cosine with the other heads of the layer": round(float(found.floor.mean()), 6),
        "mean divergence, nats": round(float(found.js.mean()), 6),
        "last third of the layers minus first, nats": None
        if late is None
        else [round(v, 6) for v in (late, low, high)],
        "protocol": "maps cropped to the texts' own tokens, special tokens in; every text weighs the same; 95 % bootstrap over texts",
        "version": __version__,
    }
    print(
        f"{before.name} -> {after.name}, {found.n_texts} texts: mean cosine {found.cosine.mean():.3f} (with the other heads of the layer "
        f"{found.floor.mean():.3f}), divergence {found.js.mean():.4f} nats."
    )
    print(_format(found.layers()))
    if late is not None:
        print(
            f"Divergence of the last third of the layers minus that of the first: {late:+.4f} [{low:+.4f}, {high:+.4f}] nats."
        )
    for name, comparison in {after.name: found, **others}.items():
        about[f"against {name}"] = {"mean divergence, nats": round(float(comparison.js.mean()), 6)}
        said = f"{name}: divergence {comparison.js.mean():.4f} nats"
        if comparison.cross is not None:
            pairs = comparison.matching()
            about[f"against {name}"] |= {
                "heads paired with themselves": pairs.kept,
                "low": pairs.low,
                "high": pairs.high,
                "of": pairs.n_heads,
            }
            said += f"; {pairs.kept} of {pairs.n_heads} heads are paired with themselves [{pairs.low:g}, {pairs.high:g}]"
        print(said + ".")
    if found.cross is not None:
        print("Pairing at random keeps one head on average.")
    print(save_rows(folder, "compare", found.heads(), about))
    print(save_rows(folder, "compare-layers", found.layers(), about))
    return 0


def _format(rows: list[dict]) -> str:
    header = [
        "layer",
        "cosine [95 %]",
        "floor",
        "divergence [95 %]",
        "[SEP] before",
        "after",
        "change [95 %]",
    ]
    lines = [header]
    for row in rows:
        cosine, js, change = (
            with_interval(
                *(row[f"{name}{end}"] for end in ("", "_low", "_high")), digits=digits, factor=1, sign=sign
            )
            for name, digits, sign in (("cosine", 3, ""), ("js", 4, ""), ("sep_change", 3, "+"))
        )
        before, after = (f"{row[f'sep_{when}']:.3f}" for when in ("before", "after"))
        lines.append([row["layer"], cosine, f"{row['floor']:.3f}", js, before, after, change])
    return align(lines)
