"""``bertlook claims``: try the published sentences on any model, and write down what came out."""

from __future__ import annotations

import argparse
import csv
import json
import sys
from collections.abc import Iterable, Sequence
from math import isnan
from pathlib import Path

from . import __version__
from .claims import Resources, iter_verdicts, ledger
from .profile import CONFIDENCE, REPLICATES, replacing, writable_folder
from .render.claims import claims_text
from .render.ledger_page import claims_page

_FILES = {"table": "claims.csv", "record": "claims.json", "page": "claims.html"}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of ``bertlook claims``."""
    parser.description = (
        "Decide the course's claims on a model: each published sentence with its number, ours with a 95 % interval, that of a "
        "randomly initialised twin, and a verdict: holds, does not hold, cannot be decided here. Prints them; with --out writes "
        "claims.csv, claims.json and a page, claims.html."
    )
    parser.add_argument(
        "--model",
        default="specimen",
        help="specimen, specimen-random, a hub name or a folder (default: specimen)",
    )
    parser.add_argument("--lesson", metavar="NN", help="only the claims of this lesson (default: all)")
    parser.add_argument(
        "--pairs", metavar="FILE", help="UTF-8 file of text pairs instead of the shipped ones"
    )
    parser.add_argument(
        "--texts", metavar="FILE", help="UTF-8 file with one text a line instead of the shipped sentences"
    )
    parser.add_argument(
        "--treebank", metavar="F.conllu", help="treebank in CoNLL-U instead of the shipped one"
    )
    parser.add_argument(
        "--limit", type=_positive, metavar="N", help="use only the first N inputs of each kind"
    )
    parser.add_argument(
        "--out",
        metavar="DIR",
        help="folder for the result (without: the verdicts on the screen, and no file)",
    )
    parser.add_argument("--device", default="auto", help="auto, cpu, cuda, mps (default: auto)")
    parser.add_argument("--quiet", action="store_true", help="no progress bar, and no table on the screen")


def run(args: argparse.Namespace) -> int:
    """``bertlook claims``: returns the exit code; Ctrl-C keeps the claims that are decided and returns 130."""
    from .corpora import read_conllu, read_pairs, read_texts
    from .encoder import load_encoder

    if args.quiet and not args.out:
        raise ValueError(
            "--quiet without --out would show nothing; name a folder with --out, or leave out --quiet."
        )
    folder = writable_folder(args.out) if args.out else None
    claims = ledger(_lesson(args.lesson))
    resources = Resources(
        pairs=read_pairs(args.pairs) if args.pairs else None,
        texts=read_texts(args.texts) if args.texts else None,
        treebank=read_conllu(args.treebank) if args.treebank else None,
        limit=args.limit,
    )
    encoder = load_encoder(args.model, device=args.device)
    verdicts, interrupted = [], False
    bar = _Bar(len(claims), args.quiet)
    try:
        for verdict in iter_verdicts(
            claims, encoder, resources=resources, progress=bar.reading, strict=False
        ):
            verdicts.append(verdict)
            bar.decided(verdict)
    except KeyboardInterrupt:
        interrupted = True
    finally:
        bar.close()
    if interrupted and not verdicts:
        print("interrupted before the first claim was decided; nothing written.", file=sys.stderr)
        return 130
    order = {claim.key: i for i, claim in enumerate(claims)}
    verdicts.sort(key=lambda verdict: order[verdict.claim.key])
    about = {
        "model": encoder.name,
        "fingerprint": encoder.fingerprint,
        "n_layers": encoder.n_layers,
        "n_heads": encoder.n_heads,
        "lesson": _lesson(args.lesson) or "all",
        **{name: Path(own).name if own else "shipped" for name, own in _own_files(args).items()},
        "limit": args.limit,
        "too_long": f"cut to {encoder.max_tokens} wordpieces",
        "interval": f"{CONFIDENCE:.0%} bootstrap over inputs, {REPLICATES} replicates",
        "complete": not interrupted,
        "version": __version__,
    }
    if folder:
        save(verdicts, about, folder)
    if not args.quiet:
        print(claims_text(verdicts))
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


def save(verdicts: Sequence, about: dict, folder: Path) -> None:
    """Write ``claims.csv``, ``claims.json`` and ``claims.html`` into a folder."""
    rows = [record(verdict) for verdict in verdicts]
    with replacing(folder / _FILES["table"]) as file:
        writer = csv.DictWriter(file, rows[0], lineterminator="\n")
        writer.writeheader()
        writer.writerows({key: "" if value is None else value for key, value in row.items()} for row in rows)
    with replacing(folder / _FILES["record"]) as file:
        file.write(
            json.dumps({**about, "claims": rows}, indent=2, ensure_ascii=False, allow_nan=False) + "\n"
        )
    with replacing(folder / _FILES["page"]) as file:
        file.write(claims_page(verdicts, about=_sentences(about)))


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
        "exactness": claim.exactness,
        "erratum": claim.erratum,
        "measured": claim.operational,
        "line": claim.line if claim.statistic is not None else None,
        "refuted_if": claim.refuted_if,
    }
    for name in ("value", "low", "high", "twin", "twin_low", "twin_high"):
        number = getattr(verdict, name)
        row[name] = None if isnan(number) else round(number, 6)
    return {
        **row,
        "n": verdict.n,
        "n_choice": verdict.n_choice,
        "control": claim.control,
        "verdict": verdict.verdict,
        "why": verdict.why,
    }


class _Bar:
    """One bar over the claims; before it what is being read, behind it how many inputs of it or which claim."""

    def __init__(self, n_claims: int, quiet: bool):
        from tqdm import tqdm

        self.bar = tqdm(total=n_claims, unit="claim", disable=quiet, file=sys.stderr)
        self.close = self.bar.close

    def reading(self, stream: Iterable, label: str) -> Iterable:
        self.bar.set_description(label)
        for done, row in enumerate(stream, 1):
            yield row
            self.bar.set_postfix_str(f"{done} inputs")

    def decided(self, verdict) -> None:
        self.bar.set_postfix_str(verdict.claim.key)
        self.bar.update()


def _own_files(args: argparse.Namespace) -> dict:
    return {"pairs": args.pairs, "texts": args.texts, "treebank": args.treebank}


def _lesson(given: str | None) -> str | None:
    """ "3" is as good as "03"."""
    return given.zfill(2) if given and given.isdigit() else given


def _positive(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"a whole number from 1; got {text!r}")
    return int(text)


def _sentences(about: dict) -> list[str]:
    own = ", ".join(f"{name}: {about[name]}" for name in ("pairs", "texts", "treebank"))
    limit = f", the first {about['limit']} of each" if about["limit"] else ""
    return [
        f"Model: {about['model']}, {about['n_layers']} layers of {about['n_heads']} heads, fingerprint {about['fingerprint']}.",
        f"Inputs: {own}{limit}; longer ones are {about['too_long']}. Interval: {about['interval']}.",
        f"bertlook {about['version']}"
        + ("" if about["complete"] else "; interrupted, so claims are missing")
        + ".",
    ]
