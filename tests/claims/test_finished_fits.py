"""No number and no picture that ships rests on a fit that had not finished."""

from __future__ import annotations

import json
from dataclasses import fields, is_dataclass, replace
from pathlib import Path

import numpy as np
import pytest

from bertlook_course.claims.lessons.lesson10 import Fits, Stopped
from bertlook_course.storage import unpack
from bertlook_course.storage.shipped_evidence import evidence_folder

ROOT = Path(__file__).resolve().parents[2]
SAYS_SO = "NOT FINISHED"  # what a table or a picture of unfinished fits says


def fitted(value, where=""):
    """(where it stands, whether it has finished) of all that carries ``converged``, however deep; what is stopped on purpose is not entered."""
    if isinstance(value, Stopped):
        return
    if hasattr(value, "converged"):
        yield where, bool(np.all(value.converged))
    if is_dataclass(value):
        value = {f.name: getattr(value, f.name) for f in fields(value)}
    if isinstance(value, dict):
        parts = value.items()
    elif isinstance(value, list | tuple):
        parts = enumerate(value)
    else:
        return
    for name, part in parts:
        yield from fitted(part, f"{where}.{name}")


def shipped():
    return sorted(evidence_folder().glob("*.npz"))


def test_every_fit_that_ships_has_finished(monkeypatch):
    monkeypatch.delenv("BERTLOOK_EVIDENCE", raising=False)
    files = shipped()
    found = {path.name: list(fitted(unpack(path.read_bytes()))) for path in files}
    open_ = [f"{name}{where}" for name, fits in found.items() for where, finished in fits if not finished]
    assert not open_, f"these fits had not finished, and numbers rest on them: {open_}"
    of_layers = [fits for name, fits in found.items() if name.startswith("layer-probes")]
    assert len(of_layers) == 6 and all(len(fits) >= 5 for fits in of_layers), (
        "the fits are not where they were"
    )


def test_one_that_had_not_is_found(monkeypatch):
    """Broken on purpose: one of the fits of lesson 10 is said not to have finished."""
    monkeypatch.delenv("BERTLOOK_EVIDENCE", raising=False)
    [path, *_] = [p for p in shipped() if isinstance(unpack(p.read_bytes()), Fits)]
    found = unpack(path.read_bytes())
    [*mixes, last] = found.mixes
    task = next(iter(last))
    broken = replace(found, mixes=[*mixes, last | {task: replace(last[task], converged=False)}])
    assert [where for where, finished in fitted(broken) if not finished] == [f".mixes.{len(mixes)}.{task}"]
    scores = found.scores["pos"]
    halfway = replace(scores, converged=scores.converged & (np.arange(len(scores.converged)) != 2))
    assert [w for w, ok in fitted([replace(found, scores={"pos": halfway})]) if not ok] == [".0.scores.pos"]


def saved_notebooks():
    return sorted([*ROOT.glob("slides/*.ipynb"), *ROOT.glob("notebooks/*/*.ipynb")])


@pytest.mark.parametrize("path", saved_notebooks(), ids=lambda path: path.stem)
def test_no_saved_output_is_of_unfinished_fits(path):
    cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
    shown = json.dumps([cell.get("outputs", []) for cell in cells])
    assert SAYS_SO not in shown


def test_what_is_stopped_on_purpose_is_said_on_the_slide(monkeypatch):
    monkeypatch.delenv("BERTLOOK_EVIDENCE", raising=False)
    deck = (ROOT / "slides" / "10_what_each_layer_knows.ipynb").read_text(encoding="utf-8")
    found = [unpack(path.read_bytes()) for path in shipped() if path.name.startswith("layer-probes-shown")]
    assert found and all(shown.stopped.why for shown in found)
    assert "stopped on purpose" in deck


def test_no_page_prints_unfinished_fits():
    for page in (
        *ROOT.glob("docs/*.md"),
        ROOT / "data" / "results.json",
        ROOT / "data" / "model" / "MODEL_CARD.md",
    ):
        assert SAYS_SO not in page.read_text(encoding="utf-8"), page.name
