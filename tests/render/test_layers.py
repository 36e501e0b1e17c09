"""Tables over depth: layer 0 is the embeddings, the last is all layers, and both ends are the given ones."""

from types import SimpleNamespace

import numpy as np
import pytest

from bertlook_course.published import published_probing
from bertlook_course.render import describe_beliefs, describe_curves, published_layers_table, where_table

RISES = [0.1, 0.4, 0.6, 0.9]  # no two ends alike


def test_a_table_of_where_goes_from_the_embeddings_to_all_layers():
    curve = {
        "f1": [0.1, 0.4, 0.6, 0.6],
        "gain": 0.5,
        "gain_interval": lambda: (0.4, 0.6),
        "expected_layer": 1.75,
        "interval": lambda: (1.5, 2.2),
    }
    about = {
        "n_layers": 3,
        "warnings": list,
        "n_test": 40,
        "best": np.array([0, 1, 2, 2]),
        "share_of_choice": lambda: 0.93,
    }
    sure, not_sure = (
        SimpleNamespace(**about, so_far=SimpleNamespace(**curve, sure=sure)) for sure in (True, False)
    )
    table = where_table({"POS": sure, "Entities": not_sure}, "More.")
    assert table.header == ["task", "embeddings", "best layer", "its F1", "adds [95 %]", "expected layer"]
    assert table.rows == [
        ["POS", "10.0", "2 (9 of 10)", "60.0", "+50.0 [+40.0, +60.0]", "1.8 [1.5, 2.2]"],
        ["Entities", "10.0", "2 (9 of 10)", "60.0", "+50.0 [+40.0, +60.0]", "not sure"],
    ]
    sure.share_of_choice = lambda: np.nan  # too few documents to choose on
    assert where_table({"POS": sure}).rows[0][2] == "2"
    assert table.caption.startswith("Layers 0 to 3;") and "n = 40 cases" in table.caption


@pytest.mark.parametrize("model", ["BERT-base", "BERT-large"])
def test_the_published_table_has_the_ends_of_each_curve(model):
    for name, rise, *_ in published_layers_table(model).rows:
        f1 = published_probing(model)[name].f1
        assert rise == f"{f1[0]:.0f} → {f1[-1]:.0f}"


def test_beliefs_and_curves_are_said_from_the_embeddings_to_the_last_layer():
    about = {"span1": (0, 1), "span2": None, "labels": ["NOUN"], "beliefs": [RISES], "gold": None}
    case = {"words": ["can"], "targets": [about]}
    assert describe_beliefs(case, 0).endswith("goes from 10 % with the embeddings to 90 % with layer 3.")
    assert describe_curves({"POS": RISES}) == "From the embeddings to all 3 layers: POS 0.1 to 0.9 %."
