"""Two pictures in steps: their numbers are right, each step is a fragment, and no caption tells the end before it is shown."""

import re

import numpy as np
import pytest

from bertlook_course.render import bootstrap_picture, winners_curse_picture
from bertlook_teach.stats import mean_interval

SHARES = [0.71, 0.92, 0.85, 0.6, 0.95, 0.88, 0.79, 0.93, 0.66, 0.9, 0.83, 0.97]


def numbers(picture) -> list[float]:
    """What the last step says, a mean and its interval."""
    last = picture.svg.rpartition('class="fragment"')[2]
    return [float(one) for one in re.search(r">(-?[\d.]+) \[(-?[\d.]+), (-?[\d.]+)\]<", last).groups()]


def rates(picture) -> list[float]:
    """What the last step says of the best head, and of the same head on other cases."""
    last = picture.svg.rpartition('class="fragment"')[2]
    return [float(re.search(rf">{word}: ([\d.]+)<", last)[1]) for word in ("best", "then")]


def test_the_interval_is_that_of_a_mean():
    mean, low, high = numbers(bootstrap_picture(SHARES, axis="share"))
    ends = mean_interval(SHARES, scheme="multinomial")
    assert mean == round(np.mean(SHARES), 2)
    assert np.allclose([low, high], ends[-2:], atol=0.015)


def test_the_best_of_equal_heads_is_lucky_and_then_is_not():
    found = rates(winners_curse_picture(36, 25, 0.1))
    generator = np.random.default_rng(99)
    best = (generator.binomial(25, 0.1, (20_000, 36)) / 25).max(axis=1).mean()
    assert abs(found[0] - best) < 0.015 and abs(found[1] - 0.10) <= 0.01
    alone = rates(winners_curse_picture(1, 400, 0.5))
    assert abs(alone[0] - 0.50) <= 0.01  # nothing is chosen


@pytest.mark.parametrize(
    "picture", [bootstrap_picture(SHARES, axis="share"), winners_curse_picture()], ids=["bootstrap", "curse"]
)
def test_each_draw_is_a_step_and_the_first_one_is_there_before_any(picture):
    first, *steps = picture.svg.split('<g class="fragment">')
    assert len(steps) == 6  # five more draws, and the end
    assert "<circle" in first and all(
        'fill="#fff"' in one for one in steps[:-1]
    )  # each covers the one before
    assert "animation" not in picture.svg and "<script" not in picture.svg


def test_equal_values_have_a_scale_too():
    assert numbers(bootstrap_picture([0.5, 0.5, 0.5], axis="share")) == [0.5, 0.5, 0.5]


def test_close_values_have_as_many_digits_as_tell_them_apart():
    ends = numbers(bootstrap_picture([0.981, 0.983, 0.984, 0.982], axis="share"))[1:]
    assert 0.98 < ends[0] < ends[1] < 0.985
