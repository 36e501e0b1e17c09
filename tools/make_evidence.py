"""Make the shipped evidence: what decks and ledger fit or train for, computed once and kept in data/evidence.

    python tools/make_evidence.py              make what is missing or of an old version; what fits stays as it is
    python tools/make_evidence.py --check      compute nothing, say what is missing, of an old version, damaged or superfluous
    python tools/make_evidence.py --compare    compute everything again, and fail if a number changed and its version did not
    python tools/make_evidence.py 12 14        only what begins with 12 or 14

It can be stopped and started again: each result is written when it is there. On two quiet cores all of it takes about ten minutes.
After a change of a measure or a fit raise the version of what rests on it (``--compare`` names it), then run this command, then
tools/run_notebooks.py on the decks that show it. After a change of a text everything is made anew.
"""

from __future__ import annotations

import argparse
import sys
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from bertlook_course.claims import Resources, collect_evidence, evidence_table, ledger
from bertlook_course.claims.lessons import (
    lesson01,
    lesson03,
    lesson04,
    lesson06,
    lesson07,
    lesson08,
    lesson10,
    lesson11,
    lesson12,
    lesson13,
    lesson14,
)
from bertlook_course.corpora import coreference_documents, load_pairs, load_treebank
from bertlook_course.metrics import NotConverged
from bertlook_course.storage import cache as store
from bertlook_course.storage import code_digest, digest, shipped_evidence
from bertlook_teach import load_encoder

MODELS = ("specimen", "specimen-random", "minilm", "minilm-random")
SPECIMEN, MINILM = MODELS[:2], MODELS[2:]
# Read off the maps in a few seconds, and larger than all that is fitted and trained together.
NOT_WORTH_IT = ("families",)
# Read by no lesson in which MiniLM stands, or with a masked-LM head, which it lacks.
_WITHOUT_MINILM = ("05", "11", "13")
OF_THE_SPECIMEN = {claim.evidence for lesson in _WITHOUT_MINILM for claim in ledger(lesson)} - {
    claim.evidence for claim in ledger() if claim.lesson not in _WITHOUT_MINILM
} | {"importance"}
# More than about ten seconds on two quiet cores.
SLOW = (
    "08 probes",
    "10 fits",
    "11 agreement",
    "12 tuned",
    "14 tuned",
    "ledger word",
    "ledger layers",
    "ledger cues",
)
SLOW += ("ledger norms", "ledger value zeroing")


@dataclass(frozen=True)
class Part:
    """One thing to compute.

    Attributes
    ----------
    label : str
        Begins with the lesson.
    run : function of the models by name
    """

    label: str
    run: Callable[[dict], object]

    @property
    def slow(self) -> bool:
        """Whether it takes longer than a test should: what is of MiniLM mostly does."""
        return self.label.startswith(SLOW) or "minilm" in self.label


def parts() -> Iterator[Part]:
    """Everything that ships, in the order in which it is made: what a lesson shows first, then what its claims are decided on."""
    for name in SPECIMEN:
        yield Part(f"01 pre-training, {name}", lambda m, n=name: lesson01.pretraining_scores(m[n]))
    plain = tuple(
        name for name in lesson03.shown_measures() if "offset" not in name and "uniform" not in name
    )
    for trained, twin in (SPECIMEN, MINILM):
        yield Part(f"03 profile, {trained}", lambda m, n=trained: lesson03.halves(m[n]))
        yield Part(f"03 profile, {twin}", lambda m, n=twin: lesson03.halves(m[n], only=plain))
    yield Part("03 profile, zeros", lambda m: lesson03.halves(m["specimen"], segments="zeros", only=("sep",)))
    treebank = cache(load_treebank)
    yield Part("04 bounds", lambda m: lesson04.shown_bounds(m["specimen"], load_pairs()[0]))
    for name in (SPECIMEN[0], *MINILM):
        yield Part(f"06 answers, {name}", lambda m, n=name: lesson06.shown_answers(m[n], treebank()[:300]))
    for scheme in ("ud", "stanford"):
        yield Part(f"06 relations, {scheme}, {MINILM[0]}", partial(_relations, treebank, scheme))
    for name in (SPECIMEN[0], *MINILM):
        yield Part(
            f"07 antecedents, {name}",
            lambda m, n=name: lesson07.shown_antecedents(m[n], coreference_documents(treebank())[:60]),
        )
    for trained, twin in (SPECIMEN, MINILM):
        yield Part(f"08 probes, {trained}", lambda m, a=trained, b=twin: lesson08.measured(m[a], m[b]))
    for name in MODELS:
        yield Part(f"10 fits, {name}", lambda m, n=name: lesson10.fitted(m[n], treebank()))
    for name in (SPECIMEN[0], MINILM[0]):
        yield Part(f"10 shown, {name}", lambda m, n=name: lesson10.shown(m[n], treebank()))
    for name in SPECIMEN:
        yield Part(
            f"11 heads away, {name}", lambda m, n=name: lesson11.measured(m[n], lesson11.class_resources())
        )
    yield Part("11 versions", lambda m: lesson11.versions(m["specimen"], lesson11.class_resources()))
    yield Part(
        "11 orders of the script",
        lambda m: lesson11.script_by_order(m["specimen"], lesson11.class_resources()),
    )
    yield Part("11 agreement", lambda m: lesson11.on_agreement(m["specimen"]))
    for name in MODELS:
        yield Part(f"12 heads and rules, {name}", lambda m, n=name: lesson12.measured(m[n], Resources()))
        yield Part(f"12 tuned, {name}", lambda m, n=name: lesson12.tuned(m[n], Resources()))
    for name in MODELS:
        yield Part(f"14 tuned, {name}", lambda m, n=name: lesson14.measured(m[n]))
    for pair in (SPECIMEN, MINILM):
        yield Part(
            f"14 {pair[0]} against the twin", lambda m, p=pair: lesson14.against(*(m[name] for name in p))
        )
    for lesson, resources in (
        ("11", cache(lesson11.class_resources)),
        ("13", cache(lesson13.class_resources)),
    ):
        for evidence in dict.fromkeys(claim.evidence for claim in ledger(lesson)):
            for name in SPECIMEN:
                collect = partial(_collect, evidence, name, resources)
                yield Part(f"{lesson} {evidence}, in class, {name}", collect)
    for evidence in (name for name in evidence_table() if name not in NOT_WORTH_IT):
        for name in SPECIMEN if evidence in OF_THE_SPECIMEN else MODELS:
            yield Part(f"ledger {evidence}, {name}", partial(_collect, evidence, name, Resources))


def _relations(treebank, scheme, models):
    answers = (lesson06.shown_answers(models[name], treebank()[:300]) for name in MINILM)
    return lesson06.shown_relations(*answers, scheme)


def _collect(evidence: str, name: str, resources: Callable, models: dict):
    return collect_evidence(evidence, models[name], resources())


def load_models() -> dict:
    """The models whose results ship, by name."""
    return {name: load_encoder(name) for name in MODELS}


def make(chosen: Sequence[Part], models: dict) -> set[str]:
    """Make what is missing or does not fit; returns the names of the files that were used."""
    with store.shipping() as used, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # what does not fit is made anew
        warnings.simplefilter("error", NotConverged)  # no shipped number rests on a fit that has not finished
        for number, part in enumerate(chosen, 1):
            start, before = time.perf_counter(), _files()
            print(f"[{number}/{len(chosen)}] {part.label} ...", end=" ", flush=True)
            part.run(models)
            new = sum(size for name, size in _files().items() if before.get(name) != size)
            print(
                f"{f'{new / 1e3:,.0f} kB' if new else 'there'} ({time.perf_counter() - start:.1f} s)",
                flush=True,
            )
    return used


def problems(chosen: Sequence[Part], models: dict, *, whole: bool = True) -> list[str]:
    """What is missing, of another version, damaged or superfluous, in words; nothing is computed.

    Parameters
    ----------
    chosen : sequence of Part
    models : dict of name -> Encoder
    whole : bool
        ``chosen`` is all there is: other files are superfluous, and the size is looked at too.
    """
    found = [
        f"{shipped.file.name} {shipped.problem}"
        for shipped in shipped_evidence.shipped_files(model.fingerprint for model in models.values())
        if shipped.problem
    ]
    with store.shipping(make=False) as used, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for part in chosen:
            try:
                part.run(models)
            except store.NotShipped as missing:
                found.append(f"{part.label}: {missing}")
    if whole:
        found += [f"{name} is used by nothing" for name in sorted(set(_files()) - used) if not found]
        total = sum(_files().values())
        if total > shipped_evidence.MOST_BYTES:
            found.append(f"{total / 1e6:.1f} MB are more than {shipped_evidence.MOST_BYTES / 1e6:.0f}")
    return found


def compare(chosen: Sequence[Part], models: dict, *, say: Callable[[str], None] = print) -> list[str]:
    """Compute again and compare with what is shipped: in words, whose numbers changed although its version did not."""
    shipped = {one.file.name: one for one in shipped_evidence.shipped_files() if not one.problem}
    found, seen = [], set()
    with store.recomputing() as folder:
        for part in chosen:
            start, wrong = time.perf_counter(), []
            part.run(models)
            made = [shipped_evidence.read(file) for file in sorted(set(folder.glob("*.npz")) - seen)]
            seen |= {again.file for again in made}
            # What only feeds a result that ships need not ship itself.
            kept = [again for again in made if again.file.name in shipped]
            for again in kept or made:
                name, version = again.stamp.name, again.stamp.version
                if again.file.name not in shipped:
                    wrong.append(f"{name!r}, version {version}, is not shipped, or does not fit")
                elif differ := shipped_evidence.differences(shipped[again.file.name].value(), again.value()):
                    wrong.append(
                        f"{name!r}: its version was forgotten. It is still {version}, and {len(differ)} of its numbers or "
                        f"arrays came out otherwise ({'; '.join(differ[:2])})"
                    )
            say(f"{part.label}: {len(wrong) or 'no'} differences ({time.perf_counter() - start:.1f} s)")
            found += [f"{part.label}: {text}" for text in wrong]
    return found if seen else ["nothing was computed that ships"]


def part_of_this_tree() -> Part:
    """One quick part, another one for another tree: the same sources and the same evidence always give the same."""
    names = [digest(file.read_bytes()) for file in sorted(_folder().glob("*.npz"))]
    quick = [part for part in parts() if not part.slow]
    return quick[int(digest(code_digest(), *names), 16) % len(quick)]


def _folder() -> Path:
    folder = shipped_evidence.evidence_folder()
    if folder is None:
        sys.exit("BERTLOOK_EVIDENCE says off: there is no folder for evidence.")
    return folder


def _files() -> dict[str, int]:
    return {file.name: file.stat().st_size for file in _folder().glob("*.npz")}


def main(arguments: Sequence[str] | None = None) -> int:
    """Command line; returns the exit status."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("parts", nargs="*", help="beginnings of the parts' names (default: all)")
    doing = parser.add_mutually_exclusive_group()
    doing.add_argument(
        "--check", action="store_true", help="compute nothing; exit 1 if anything is missing or old"
    )
    doing.add_argument(
        "--compare",
        action="store_true",
        help="compute again; exit 1 if a number changed and its version did not",
    )
    doing.add_argument("--list", action="store_true", help="the names of the parts")
    options = parser.parse_args(arguments)
    chosen = [part for part in parts() if not options.parts or part.label.startswith(tuple(options.parts))]
    if not chosen:
        parser.error(f"no part begins with {' or '.join(options.parts)}; --list names them")
    if options.list:
        print("\n".join(part.label for part in chosen))
        return 0
    models = load_models()
    if options.compare:
        found = compare(chosen, models)
    elif options.check:
        found = problems(chosen, models, whole=not options.parts)
    else:
        used = make(chosen, models)
        for name in set() if options.parts else set(_files()) - used:
            (_folder() / name).unlink()
        found = problems(chosen, models, whole=not options.parts)
    print(
        "\n".join(found)
        if found
        else f"{len(_files())} files, {sum(_files().values()) / 1e6:.2f} MB: all fit."
    )
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
