"""The evidence of lessons 01 and 03, and what decks show of the ledger."""

import json
import re
from pathlib import Path

import numpy as np
import pytest
from made import attention

from bertlook_course.claims import FEWEST_REPORTING, Resources, collect_evidence
from bertlook_course.claims.lessons import lesson01, lesson03
from bertlook_course.render.drawing.text_table import TABLE


def test_what_an_input_lacks_is_left_out():
    whole = lesson03.surface_quantities(attention(("[CLS]", "yes", ",", "we", "[SEP]", "can", "[SEP]")))
    no_comma = lesson03.surface_quantities(attention(("[CLS]", "yes", "[SEP]")))
    assert whole.keys() - no_comma.keys() == {"punct"}
    bare = lesson03.surface_quantities(attention(("yes", "we", ".")))
    assert bare.keys() & {"cls", "sep", "sep_to_sep", "entropy_from_cls"} == set()
    assert "punct" in bare and "entropy" in bare


def test_the_weights_are_made_again_in_two_ways():
    rng = np.random.default_rng(1)
    queries, keys = rng.normal(size=(2, 3, 2, 5, 7))
    raw = np.einsum("lhid,lhjd->lhij", queries, keys)
    rows = np.exp(raw / np.sqrt(7))
    weights = rows / rows.sum(-1, keepdims=True)
    found = lesson01.score_quantities(weights, queries, keys)
    assert found["softmax_error"] < 1e-12
    assert found["sigmoid_error"] == pytest.approx(
        np.abs(1 / (1 + np.exp(-raw / np.sqrt(7))) - weights).max()
    )
    turned = lesson01.score_quantities(weights, keys, queries)
    assert turned["softmax_error"] > 0.1  # queries and keys may not change places


def test_no_deck_asks_for_so_few_inputs_that_nothing_is_decided():
    """Half of them report."""
    files = [*Path("slides").glob("*.ipynb"), *Path("bertlook_course/decks").glob("*.py")]
    decks = [path.read_text(encoding="utf-8") for path in files]
    asked = [
        int(n)
        for deck in decks
        for n in re.findall(r"(?:decide_lesson\([^)]*\bn|Resources\(limit|N_TEXTS)[ =]*(\d+)", deck)
    ]
    assert asked and min(asked) >= 2 * FEWEST_REPORTING


def test_no_deck_shows_a_verdict_on_fewer_than_twenty_inputs():
    """What is saved: the smallest n of each table of claims that decides one, which its picture keeps."""
    rule, smallest = "Otherwise it cannot be decided here.", {}
    for path in sorted(Path("slides").glob("*.ipynb")):
        for cell in json.loads(path.read_text(encoding="utf-8"))["cells"]:
            for output in cell.get("outputs", ()):
                table = output.get("data", {}).get(TABLE, {})
                rows, caption = table.get("rows", []), table.get("caption", "")
                if rule in caption and {row[-1] for row in rows} & {"holds", "does not hold"}:
                    n = int(re.search(r"\bn = (\d+)", caption)[1])
                    smallest[path.stem] = min(n, smallest.get(path.stem, n))
    assert len(smallest) == len(list(Path("slides").glob("*.ipynb")))
    assert min(smallest.values()) >= FEWEST_REPORTING, smallest


# --- on the specimen: only what any BERT would satisfy -----------------------------------------------------------


def test_the_evidence_of_both_lessons_holds_together_on_the_specimen(specimen):
    resources = Resources(limit=2)
    surface = collect_evidence("surface", specimen, resources)
    assert surface.n == 2 and surface.values["sep"].shape == (2, specimen.n_layers, specimen.n_heads)
    assert (sum(surface.values[kind] for kind in ("cls", "sep", "punct")) <= 1).all()
    scores = collect_evidence("scores", specimen, resources)
    assert (scores.values["softmax_error"] < 1e-3).all() and (scores.values["sigmoid_error"] > 0.1).all()
