"""``bertlook claims``: try the published sentences on any model, and write down what came out."""

from __future__ import annotations

import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Iterable, Iterator, Sequence
from contextlib import nullcontext, suppress
from dataclasses import fields, replace
from math import isnan
from pathlib import Path

from bertlook_course.claims import (
    VERDICT_RULE,
    Resources,
    Verdict,
    decide,
    iter_recorded_verdicts,
    iter_verdicts,
    ledger,
    recorded_sentence,
    recorded_trees,
    recorded_verdicts,
)
from bertlook_course.render import claims_page, claims_text, needs_text
from bertlook_course.storage import (
    TOLERANCE,
    NotShipped,
    attributes,
    claim_folder,
    digest_of,
    recomputing,
    shipping,
)
from bertlook_course.storage import about as about_result
from bertlook_teach.disk import csv_text, json_text, write_files
from bertlook_teach.stats import CONFIDENCE, REPLICATES

from . import chunks, common

_FILES = {"table": "claims.csv", "record": "claims.json", "page": "claims.html"}


def add_arguments(parser: ArgumentParser) -> None:
    """The options of ``bertlook claims``."""
    common.describe(
        parser,
        "Decide the course's claims on a model: each published sentence with its number, ours with a 95 % interval, that of a "
        f"randomly initialised twin, and a verdict. {VERDICT_RULE} Prints them; with --out writes claims.csv, claims.json and a page, "
        "claims.html.",
        "claims --model bert-base-uncased --lesson 03 --out result",
        "Of a recording (--model recorded:NAME) the inputs are those that were recorded, and attention alone decides: every other claim says what it "
        "would take. A claim that a random twin controls can hold only beside a recording of the twin, --twin.",
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
        help="compute everything here: take no shipped evidence and nothing kept before, and say which claims come out otherwise",
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
        twin = common.recorded_twin(args, encoder)
    verdicts, interrupted = [], False
    progress = common.bar(args, unit="claim", total=len(claims))()

    def reading(stream: Iterable, label: str) -> Iterable:
        """Before the bar what is being read, behind it how many inputs of it."""
        progress.set_description(label)
        for done, row in enumerate(stream, 1):
            yield row
            progress.set_postfix_str(f"{done} inputs")

    if recorded:
        deciding = iter_recorded_verdicts(
            claims, encoder, trees=resources.treebank, twin=twin, progress=reading
        )
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
        interrupted = True
    finally:
        progress.close()
    if interrupted and not verdicts:
        print("interrupted before the first claim was decided; nothing written.", file=sys.stderr)
        return 130
    order = {claim.key: i for i, claim in enumerate(claims)}
    verdicts.sort(key=lambda verdict: order[verdict.claim.key])
    items = {
        **attributes(encoder, "n_layers n_heads"),
        "lesson": _lesson(args.lesson) or "all",
        **(_recorded_inputs(encoder, resources) if recorded else _inputs(args)),
        "limit": args.limit,
        "too_long": _longer(encoder, recorded),
        "interval": f"{CONFIDENCE:.0%} bootstrap over inputs, {REPLICATES} replicates",
        "complete": not interrupted,
    }
    about = about_result(encoder, items)
    if folder:
        save(verdicts, about, folder)
    if not args.quiet:
        print(claims_text(verdicts))
    if recorded:
        print(_of_recording(about))
    if args.recompute and not interrupted:
        for line in _otherwise(verdicts, encoder, resources):
            print(line)
    failed = [v.claim.key for v in verdicts if "failed: " in v.why or "statistic fails: " in v.why]
    if failed:
        print(
            f"bertlook claims: {len(failed)} claims could not be computed on this model or these inputs; their reasons stand in "
            f"the table: {', '.join(failed[:5])}{' ...' if len(failed) > 5 else ''}",
            file=sys.stderr,
        )
    done = f"interrupted: {len(verdicts)} of {len(claims)}" if interrupted else f"{len(verdicts)}"
    print(f"{encoder.name}: {done} claims" + (f" -> {folder / _FILES['page']}" if folder else ""))
    return 130 if interrupted else 0


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
        model = chunks.Model.of(args, encoder)
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
            "--twin goes with --model recorded:NAME; of a model that can be run the twin is made here."
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


def _recorded_inputs(recording, resources: Resources) -> dict[str, object]:
    """What the claims were decided on: the recorded inputs, and which sentences of the treebank are among them."""
    pairs = sum(isinstance(text, tuple) for text in recording.texts)
    return {
        "recorded": recording.note,
        "badge": recording.badge,
        "pairs": f"{pairs} recorded",
        "texts": f"{len(recording) - pairs} recorded",
        "treebank": f"{len(recorded_trees(recording, resources.treebank))} recorded sentences of it",
    }


def _of_recording(about: dict) -> str:
    return (
        f"{about['badge']}, {about['recorded'].partition(', ')[2]}: {about['texts'].split()[0]} single texts, {about['pairs'].split()[0]} pairs. The verdicts are about "
        "these inputs and no others: half of them choose, half report, and examples are not a sample of texts."
    )


def _otherwise(verdicts: Sequence, encoder, resources: Resources) -> Iterable[str]:
    """Which claims have another verdict, or a number further away than `TOLERANCE` says, by the evidence that ships."""
    shipped = _shipped_verdicts([verdict.claim for verdict in verdicts], encoder, resources)
    differ = 0
    for new in verdicts:
        old = shipped.get(new.claim.key)
        if old is not None and (old.verdict != new.verdict or _far(old, new)):
            differ += 1
            yield f"{new.claim.key}: shipped evidence says {old!r}, computed here {new!r}"
    yield f"computed here: {len(verdicts)} claims; {len(shipped)} of them have shipped evidence, {differ} of these come out otherwise"


def _shipped_verdicts(claims: Sequence, encoder, resources: Resources) -> dict:
    """Key -> verdict of the claims whose evidence ships, for these inputs."""
    groups: dict[str, list] = {}
    for claim in claims:
        if claim.statistic is not None:
            groups.setdefault(claim.evidence, []).append(claim)
    found = {}
    with shipping(make=False):
        for group in groups.values():
            with suppress(NotShipped):
                found |= {v.claim.key: v for v in decide(group, encoder, resources=resources)}
    return found


def _far(old, new) -> bool:
    size = max(abs(old.value), old.high - old.low)
    return any(
        abs(getattr(old, name) - getattr(new, name)) > TOLERANCE * size for name in ("value", "low", "high")
    )


def save(verdicts: Sequence, about: dict, folder: Path) -> None:
    """Write ``claims.csv``, ``claims.json`` and ``claims.html`` into a folder."""
    rows = [record(verdict) for verdict in verdicts]
    beside = [*_sentences(about), recorded_sentence()]
    page = claims_page(verdicts, about=beside, recorded=recorded_verdicts())
    contents = {
        "table": csv_text(rows),
        "record": json_text({**about, "claims": rows}, indent=2, allow_nan=False),
        "page": page,
    }
    write_files({folder / _FILES[kind]: content for kind, content in contents.items()})


def record(verdict) -> dict:
    """A verdict as plain values: None where there is no number."""
    claim = verdict.claim
    row = {
        "key": claim.key,
        "lesson": claim.lesson,
        "claim": claim.sentence,
        "source": claim.source,
        "section": claim.section,
        "published": verdict.published,
        "original": claim.original_text(),
        "exactness": claim.exactness,
        "erratum": claim.erratum,
        "measured": claim.operational,
        "needs": needs_text(claim),
        "threshold": claim.threshold if claim.statistic is not None else None,
        "sign": -1 if claim.below else 1,  # what is measured is sign x value
        "refuted_if": claim.refuted_text(),
    }
    for name, number in attributes(verdict, "value low high twin twin_low twin_high").items():
        row[name] = None if isnan(number) else round(number, 6)
    return {
        **row,
        "n": verdict.n,
        "n_choice": verdict.n_choice,
        "control": claim.control,
        "verdict": verdict.verdict,
        "why": verdict.why,
    }


def _longer(encoder, recorded: bool) -> str:
    """What became of inputs that the model cannot read whole."""
    if recorded:
        return f"{sum(attention.truncated for attention in encoder.values())} of them were cut when they were recorded"
    return f"longer ones are cut to {encoder.max_tokens} wordpieces"


def _lesson(given: str | None) -> str | None:
    """ "3" is as good as "03"."""
    return given.zfill(2) if given and given.isascii() and given.isdecimal() else given


def _sentences(about: dict) -> list[str]:
    own = ", ".join(f"{name}: {about[name]}" for name in ("pairs", "texts", "treebank"))
    limit = f", the first {about['limit']} of each" if about["limit"] else ""
    beside = [_of_recording(about)] if "recorded" in about else []
    return [
        *beside,
        f"Model: {about['model']}, {about['n_layers']} layers of {about['n_heads']} heads, fingerprint {about['fingerprint']}.",
        f"Inputs: {own}{limit}; {about['too_long']}. Interval: {about['interval']}.",
        f"bertlook {about['version']}"
        + ("" if about["complete"] else "; interrupted, so claims are missing")
        + ".",
    ]
