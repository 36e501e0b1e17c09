"""What deck 3 shows of every head: as `profile_heads` measures it, chosen on one half and reported on the other."""

import numpy as np
import pytest

from bertlook_course.claims.lessons import lesson03
from bertlook_course.corpora import load_pairs
from bertlook_course.metrics import layer_difference
from bertlook_course.storage.cache import recomputing
from bertlook_teach.measures import profile_heads
from bertlook_teach.model import load_encoder


@pytest.mark.parametrize("segments", ["standard", "zeros"])
def test_halves_are_what_the_profile_measures_on_every_second_pair(segments):
    specimen, pairs = load_encoder("specimen"), load_pairs()
    wanted = {"sep": lesson03.shown_measures()["sep"]}
    with recomputing():
        halves = lesson03.halves(specimen, segments=segments, only=("sep",))
    first = profile_heads(specimen, pairs[::2], wanted, segments=segments)
    second = profile_heads(specimen, pairs[1::2], wanted, segments=segments, first=first.n)
    for ours, theirs in zip(halves, (first, second)):
        np.testing.assert_allclose(ours.sums["sep"], theirs.sums["sep"], atol=1e-4)
        np.testing.assert_array_equal(ours.counts, theirs.counts)
        assert (ours.n_tokens, ours.n_truncated) == (theirs.n_tokens, theirs.n_truncated)


def test_what_ships_is_what_is_measured_and_its_halves_merge_and_compare():
    specimen = load_encoder("specimen")
    shipped, zeros = lesson03.halves(specimen), lesson03.halves(specimen, segments="zeros", only=("sep",))
    with recomputing():
        made = lesson03.halves(specimen, only=("sep", "previous, uniform"))
    for name in made[0].measures:
        np.testing.assert_allclose(shipped[1].mean(name), made[1].mean(name), atol=2e-3)
    whole = shipped[0].merge(shipped[1])
    assert whole.n == len(load_pairs())
    assert layer_difference(whole, zeros[0].merge(zeros[1]), "sep")[0].shape == (specimen.n_layers,)


def test_a_measure_that_the_package_gains_changes_nothing_that_is_kept(monkeypatch):
    shown = list(lesson03.shown_measures())
    known = lesson03.surface_measures()
    monkeypatch.setattr(lesson03, "surface_measures", lambda: known | {"new": known["sep"]})
    assert list(lesson03.shown_measures()) == shown
