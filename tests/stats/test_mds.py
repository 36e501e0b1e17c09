"""Laying one map on another; scaling and families are tried on heads in tests/measures/test_distances.py."""

import numpy as np
import pytest

from bertlook_course.metrics.mds import procrustes

POINTS = np.array([[0, 0], [4, 0], [4, 1], [-1, 3]], dtype=float)


@pytest.mark.parametrize("scale", [0.25, 1, 7])
@pytest.mark.parametrize("mirror", [-1, 1])
def test_a_map_that_was_moved_turned_mirrored_and_scaled_lies_on_the_other_again(scale, mirror):
    turned = scale * (POINTS * (mirror, 1)) @ np.array([[0.6, -0.8], [0.8, 0.6]]) + (3, -5)
    for ours, theirs in ((turned, POINTS), (POINTS, turned)):
        aligned, left = procrustes(ours, theirs, "abcd", "abcd")
        assert aligned == pytest.approx(theirs) and left == pytest.approx(0, abs=1e-12)


def test_no_other_scale_brings_two_maps_nearer():
    other = POINTS + [[0, 1], [1, 0], [-1, 1], [0, -2]]
    aligned, left = procrustes(POINTS, other, "abcd", "abcd")
    middle = other.mean(axis=0)
    wrong = [((middle + k * (aligned - middle) - other) ** 2).sum() for k in (0.9, 1, 1.1)]
    assert wrong[1] < min(wrong[0], wrong[2])
    assert left == pytest.approx(wrong[1] / ((other - middle) ** 2).sum())
