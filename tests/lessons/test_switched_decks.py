"""A deck that reads with another model speaks of that model, and of no other, wherever it says who does what.

One deck is run in each run of the tests, the same for the same tree; ``python3 start.py test --all`` runs all of them.
"""

import hashlib
import os
import re
import shutil
from pathlib import Path

import pytest

from bertlook_course.storage import code_digest
from bertlook_press.classroom.export.runner import read_deck, run_deck
from bertlook_teach.disk import data_path

ROOT = Path(__file__).resolve().parents[2]
DECKS = sorted(path.stem for path in (ROOT / "slides").glob("*.ipynb"))
TOLD_OF_THE_SPECIMEN = (
    # facts about the specimen itself, whatever the deck reads with
    r"\*\*The specimen\*\* explains",
    r"docs/results\.md",
    r"here the specimen answers",
    r"MODEL_CARD",
)
OF_ITS_OWN = {
    "00": r"specimen \[95 %\]|one head of the specimen|Bar: specimen, 95|B: the tokenizer of the specimen|the specimen on 50 pairs of texts|Specimen: 0",  # its line of the ledger is the specimen's
    "14": r"\*\*five\*\* seeds \(the specimen\)|ten rounds(?:: | \()the specimen|Ten rounds: run on the specimen",  # a longer training, of docs/results.md
    "08": r"the specimen on EWT",  # of docs/results.md
    "07": r"On other texts, the specimen's best head",  # what docs/results.md has of larger sets, here and below
    "10": r"EWT and GUM \(the specimen\)",
    "11": r"in two of three seeds\. With 11 of 36 heads off, the specimen.{1,6}s accuracy",
    "12": r"F1 of the specimen's best head and of RAKE on other texts",
}
DRAWING = re.compile(r"<style\b.*?</style>|<[^>]*>", re.DOTALL)


def chosen(decks: list[str]) -> list[str]:
    """One deck, another one for another tree; all of them with ``--all``."""
    if os.environ.get("BERTLOOK_ALL"):
        return decks
    return [decks[int(hashlib.sha256(code_digest().encode()).hexdigest(), 16) % len(decks)]]


def said(deck: str, model: str, monkeypatch) -> list[str]:
    """All that the cells of a deck show when it reads with a model, as lines of text."""
    monkeypatch.setenv("BERTLOOK_MODEL", model)
    path = ROOT / "slides" / f"{deck}.ipynb"
    notebook = run_deck(read_deck(path), folder=path.parent, name=deck, say=lambda _: None)
    lines = []
    for cell in notebook.cells:
        for output in cell.get("outputs", ()):
            for kind, content in {**output.get("data", {}), "": output.get("text", "")}.items():
                if kind in ("", "text/plain", "text/markdown", "text/html", "image/svg+xml"):
                    lines += DRAWING.sub("\n", "".join(content)).splitlines()
    return [line for line in map(str.strip, lines) if line]


@pytest.fixture(scope="module")
def pebble(tmp_path_factory) -> str:
    """The specimen in a folder of another name: every number is the same, so only the name may change."""
    folder = tmp_path_factory.mktemp("models") / "pebble"
    shutil.copytree(data_path("model"), folder)
    return str(folder)


@pytest.mark.parametrize("deck", chosen(DECKS))
def test_what_a_model_does_is_said_of_that_model(deck, pebble, monkeypatch):
    lines = said(deck, pebble, monkeypatch)
    assert any("pebble" in line for line in lines)
    allowed = "|".join([*TOLD_OF_THE_SPECIMEN, *([OF_ITS_OWN[deck[:2]]] if deck[:2] in OF_ITS_OWN else [])])
    wrong = [
        line for line in lines if re.search("specimen", line, re.IGNORECASE) and not re.search(allowed, line)
    ]
    assert not wrong, wrong[:5]
    assert pebble not in "".join(lines), "a slide shows the path of the folder"


@pytest.mark.parametrize("deck", chosen(DECKS[::-1]))
def test_every_deck_runs_with_a_model_that_guesses_no_words(deck, monkeypatch):
    lines = said(deck, "minilm", monkeypatch)
    assert any("MiniLM" in line for line in lines)
