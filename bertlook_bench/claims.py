"""``bertlook claims``: try the published sentences on any model, and write down what came out."""

from __future__ import annotations

import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Iterable, Iterator, Sequence
from contextlib import nullcontext
from dataclasses import fields, replace
from pathlib import Path

from bertlook_course.claims import (
    VERDICT_RULE,
    Resources,
    Verdict,
    differences_from_shipped,
    iter_recorded_verdicts,
    iter_verdicts,
    ledger,
)
from bertlook_course.render import report_claims
from bertlook_course.storage import claim_folder, digest_of, recomputing
from bertlook_teach.model import Recording

from . import chunks, common
from .models import Model


def add_arguments(parser: ArgumentParser) -> None:
    """The options of ``bertlook claims``."""
    common.describe(
        parser,
        "Decide the course's claims on a model: each published sentence with its number, ours with a 95 % interval, that of a "
        f"randomly initialised twin, and a verdict. {VERDICT_RULE} Prints them; with --out writes claims.csv, claims.json and a page, "
        "claims.html.",
        "claims --model bert-base-uncased --lesson 03 --out result",
        "With a recording (--model recorded:NAME) the inputs are those that were recorded, and only claims about attention can be decided; every "
        "other claim says what it needs. A claim with the random twin as its control can hold only with a recording of the twin, --twin.",
    )
    common.add_model(parser, common.MODELS_TOO_RECORDED)
    common.add_recorded_twin(parser)
    parser.add_argument("--lesson", metavar="NN", help="only the claims of this lesson (default: all)")
    common.add_data(parser, "a treebank in CoNLL-U (default: the shipped treebank)")
    common.add_texts(parser, default=" (default: the shipped texts and pairs)")
    common.add_limit(parser, "inputs of each kind")
    without = "folder for the result (default: print the verdicts, and write no file)"
    common.add_out(parser, required=False, help=without)
    parser.add_argument(
        "--recompute",
        action="store_true",
        help="compute everything again, ignore shipped and kept results, and report which claims come out differently",
    )
    common.add_device(parser)
    chunks.add_scale(parser)


def run(args: Namespace) -> int:
    """``bertlook claims``: returns the exit code; Ctrl-C keeps the claims that are decided and returns 130."""
    from bertlook_course.corpora import read_conllu, read_pairs, read_texts

    if args.quiet and not args.out:
        raise ValueError(
            "--quiet without --out would show nothing; name a folder with --out, or leave out --quiet."
        )
    common.at_least(args, limit=1)
    recorded = args.model.startswith(common.RECORDED)
    _fits(args, recorded)
    folder = claim_folder(args.out) if args.out else None
    claims = ledger(_lesson(args.lesson))
    own = {
        "pairs": read_pairs(args.pairs) if args.pairs else None,
        "texts": read_texts(args.texts) if args.texts else None,
        "treebank": read_conllu(args.data) if args.data else None,
        "limit": args.limit,
    }
    resources = Resources(**own)
    encoder = common.load_model(args.model, args.device)
    if recorded:
        encoder = replace(encoder, inputs=encoder.inputs[: args.limit])
    verdicts, complete = _decided(args, folder, claims, encoder, own, resources)
    if not complete and not verdicts:
        print("interrupted before the first claim was decided; nothing written.", file=sys.stderr)
        return 130
    options = {"lesson": _lesson(args.lesson) or "all", "limit": args.limit, "complete": complete}
    report = report_claims(encoder, verdicts, inputs=_inputs(args), resources=resources, **options)
    page = report.save(folder) if folder else None
    for line in report.notes() if args.quiet else [report]:
        print(line)
    if args.recompute and complete:
        print(*differences_from_shipped(verdicts, encoder, resources), sep="\n")
    if failed := report.failed():
        print(
            f"bertlook claims: {len(failed)} claims could not be computed on this model or these inputs; their reasons stand in "
            f"the table: {', '.join(failed[:5])}{' ...' if len(failed) > 5 else ''}",
            file=sys.stderr,
        )
    done = f"{len(verdicts)}" if complete else f"interrupted: {len(verdicts)} of {len(claims)}"
    print(f"{encoder.name}: {done} claims" + (f" -> {page}" if page else ""))
    return 0 if complete else 130


def _decided(
    args: Namespace, folder: Path | None, claims: Sequence, encoder, own: dict, resources: Resources
) -> tuple[list[Verdict], bool]:
    """The verdicts in the order of the claims, with a bar; and whether Ctrl-C did not stop it."""
    twin = common.recorded_twin(args, encoder) if isinstance(encoder, Recording) else None
    verdicts, complete = [], True
    progress = common.bar(args, unit="claim", total=len(claims))()

    def reading(stream: Iterable, label: str) -> Iterable:
        """Before the bar what is being read, behind it how many inputs of it."""
        progress.set_description(label)
        for done, row in enumerate(stream, 1):
            yield row
            progress.set_postfix_str(f"{done} inputs")

    if isinstance(encoder, Recording):
        options = {"trees": resources.treebank, "twin": twin, "progress": reading}
        deciding = iter_recorded_verdicts(claims, encoder, **options)
    elif args.workers or args.scheduler:
        deciding = _on_workers(args, folder, claims, encoder, own)
    else:
        deciding = iter_verdicts(claims, encoder, resources=resources, progress=reading, strict=False)
    try:
        with recomputing() if args.recompute else nullcontext():
            for verdict in deciding:
                verdicts.append(verdict)
                progress.set_postfix_str(verdict.claim.key)
                progress.update()
    except KeyboardInterrupt:
        complete = False
    finally:
        progress.close()
    order = {claim.key: i for i, claim in enumerate(claims)}
    return sorted(verdicts, key=lambda verdict: order[verdict.claim.key]), complete


def _on_workers(args: Namespace, folder: Path, claims: Sequence, encoder, own: dict) -> Iterator[Verdict]:
    """The verdicts, the claims of one evidence together on one worker; what was finished is kept, as of every corpus."""
    groups: dict[str, list[str]] = {}
    for claim in claims:
        groups.setdefault(claim.evidence, []).append(claim.key)
    same = {
        "command": "claims",
        "fingerprint": encoder.fingerprint,
        "claims_sha256": digest_of(groups.items()),
        "inputs_sha256": digest_of(own.values()),
        "recompute": args.recompute,
    }
    by_key = {claim.key: claim for claim in claims}
    quiet = Namespace(**{**vars(args), "quiet": True})  # the bar of the claims shows
    with chunks.Run(quiet, folder, same) as work:
        model = Model.of(args, encoder)
        options = {"own": own, "recompute": args.recompute}
        for chunk in work.results(
            decide_chunk, model, groups.values(), total=len(groups), label="evidence", size=1, **options
        ):
            for row in chunk:
                yield Verdict(claim=by_key[row.pop("claim")], **row)
        work.finished()


def decide_chunk(encoder, items: Sequence, *, own: dict, recompute: bool) -> list[dict]:
    """The verdicts on the claims of some evidence, as plain values; a claim by its key."""
    by_key = {claim.key: claim for claim in ledger(None)}
    wanted = [by_key[key] for keys in items for key in keys]
    with recomputing() if recompute else nullcontext():
        verdicts = list(iter_verdicts(wanted, encoder, resources=Resources(**own), strict=False))
    names = [field.name for field in fields(Verdict) if field.name != "claim"]
    return [{"claim": v.claim.key, **{name: getattr(v, name) for name in names}} for v in verdicts]


def _fits(args: Namespace, recorded: bool) -> None:
    """Options that do not go with a recording, or only with one."""
    if not recorded and args.twin:
        raise ValueError(
            "--twin goes with --model recorded:NAME; for a model that can be run, the twin is made here."
        )
    if recorded and args.twin and not args.twin.startswith(common.RECORDED):
        raise ValueError(f"--twin names a recording, recorded:FILE; got {args.twin!r}.")
    if recorded and (args.texts or args.pairs):
        raise ValueError(
            "the inputs of a recording are those that were recorded; leave out --texts and --pairs (--limit N takes the first N)."
        )
    scaled = args.workers or args.scheduler
    if scaled and (recorded or not args.out):
        raise ValueError(
            "--workers and --scheduler go with a model that is run, and need a folder for what they finish: give --out."
        )
    if recorded and args.recompute:
        raise ValueError("--recompute runs the model again, and a recording has none; leave it out.")


def _inputs(args: Namespace) -> dict[str, str]:
    own = {"pairs": args.pairs, "texts": args.texts, "treebank": args.data}
    return {name: Path(path).name if path else "shipped" for name, path in own.items()}


def _lesson(given: str | None) -> str | None:
    """ "3" is as good as "03"."""
    return given.zfill(2) if given and given.isascii() and given.isdecimal() else given
