"""The two films: their numbers are right, they are short, and they stand still with the result for who wants no motion."""

import re

import numpy as np
import pytest

from bertlook_course.render import bootstrap_picture, winners_curse_picture
from bertlook_teach.stats import mean_interval

SHARES = [0.71, 0.92, 0.85, 0.6, 0.95, 0.88, 0.79, 0.93, 0.66, 0.9, 0.83, 0.97]


def numbers(sentence: str) -> list[float]:
    return [float(one) for one in re.findall(r"-?\d+\.\d+", sentence)]


def test_the_interval_is_that_of_a_mean():
    mean, low, high = numbers(bootstrap_picture(SHARES, axis="share").sentence)
    ends = mean_interval(SHARES, scheme="multinomial")
    assert mean == round(np.mean(SHARES), 2)
    assert np.allclose([low, high], ends[-2:], atol=0.015)


def test_the_best_of_equal_heads_is_lucky_and_then_is_not():
    found = re.findall(r"(\d+) %", winners_curse_picture(36, 25, 0.1).sentence)
    generator = np.random.default_rng(99)
    best = (generator.binomial(25, 0.1, (20_000, 36)) / 25).max(axis=1).mean()
    assert int(found[0]) == 10 and abs(int(found[1]) - 100 * best) < 1.5 and abs(int(found[2]) - 10) <= 1
    alone = re.findall(r"(\d+) %", winners_curse_picture(1, 400, 0.5).sentence)
    assert abs(int(alone[1]) - 50) <= 1  # nothing is chosen


@pytest.mark.parametrize(
    "picture", [bootstrap_picture(SHARES, axis="share"), winners_curse_picture()], ids=["bootstrap", "curse"]
)
def test_a_film_is_short_and_ends_with_what_is_shown_without_motion(picture):
    flashes = re.findall(r"opacity:0;animation:bl-flash ([\d.]+)s ([\d.]+)s", picture.svg)
    waits = [float(one) for one in re.findall(r"animation:bl-wait ([\d.]+)s", picture.svg)]
    assert max(float(length) + float(start) for length, start in flashes) <= max(waits) < 5.0
    assert "prefers-reduced-motion" in picture.svg and "@media print" in picture.svg
    assert "<script" not in picture.svg


def test_equal_values_have_a_scale_too():
    assert numbers(bootstrap_picture([0.5, 0.5, 0.5], axis="share").sentence) == [0.5, 0.5, 0.5]


def test_close_values_have_as_many_digits_as_tell_them_apart():
    ends = numbers(bootstrap_picture([0.981, 0.983, 0.984, 0.982], axis="share").sentence)[1:]
    assert 0.98 < ends[0] < ends[1] < 0.985
