"""What the intervals promise, simulated: 95 of 100 hold the truth, with few units, skewed ones, and shares near 0 or 1."""

import numpy as np
import pytest

from bertlook_course.analyses.anatomy import fair_head
from bertlook_course.claims import Claim, Evidence, measure
from bertlook_teach.measures import Profile
from bertlook_teach.stats import (
    draws,
    mean_interval,
    paired_interval,
    percentile_interval,
    ratio_interval,
    sample_interval,
)

SIZES = (5, 10, 20, 50, 100)

RUNS = 2000  # a coverage is then known to 0.5 points (its standard error)

SHAPES = {  # how a thousand samples are drawn, and their true mean
    "normal": (lambda rng, size: rng.normal(size=size), 0.0),
    "skewed": (lambda rng, size: rng.beta(1, 4, size), 0.2),  # skewness 1.05
    "near 1": (lambda rng, size: rng.beta(9, 1, size), 0.9),  # skewness -1.47
    "exponential": (lambda rng, size: rng.exponential(size=size), 1.0),  # skewness 2
}


def held(low, high, truth) -> float:
    return float(np.mean((low <= truth + 1e-12) & (truth - 1e-12 <= high)))


def keeps_its_promise(share: float, at_least: float = 0.93, at_most: float = 0.97) -> bool:
    return at_least <= share <= at_most


def over_seeds(interval, values) -> tuple:
    """Ends for samples of shape (unit, run), with new draws for every fifty."""
    ends = [interval(values[:, i : i + 50], seed=i) for i in range(0, values.shape[1], 50)]
    return tuple(np.concatenate(side) for side in zip(*ends))


@pytest.mark.parametrize("n", SIZES)
@pytest.mark.parametrize("shape", SHAPES)
def test_the_interval_of_a_mean_holds_it_95_times_in_100(shape, n):
    draw, truth = SHAPES[shape]
    values = draw(np.random.default_rng([n, 7]), (n, RUNS))
    least = 0.918 if (shape, n) == ("exponential", 5) else 0.93  # as the docstring says
    assert keeps_its_promise(held(*over_seeds(mean_interval, values), truth), at_least=least)

    def of_any_statistic(values, seed):  # as of a profile, a claim, an F1
        return sample_interval(resampled_means(values, seed), values.mean(axis=0), n)

    assert keeps_its_promise(held(*over_seeds(of_any_statistic, values), truth), at_least=least)


def resampled_means(values, seed):
    weights = draws(len(values), seed=seed)
    weights = weights[weights.any(axis=1)]
    return weights @ values / weights.sum(axis=1, keepdims=True)


@pytest.mark.parametrize("n", (5, 10))
def test_the_plain_percentile_interval_does_not_keep_it(n):
    """What the package had before: .79 to .91."""
    for draw, truth in SHAPES.values():
        values = draw(np.random.default_rng([n, 7]), (n, RUNS))
        plain = over_seeds(lambda v, seed: percentile_interval(resampled_means(v, seed)), values)
        assert held(*plain, truth) < 0.92


@pytest.mark.parametrize("n", SIZES)
@pytest.mark.parametrize("truth", [0.5, 0.8, 0.1, 0.95])
def test_the_interval_of_a_share_holds_it_even_near_0_or_1(truth, n):
    """Units are sentences of one to some six cases whose own shares differ. Where most samples have only right cases or only wrong ones, the
    interval is that of Clopper and Pearson, which is wider than it must be."""
    rng = np.random.default_rng([n, int(100 * truth)])
    cases = 1 + rng.poisson(2, (RUNS, n))
    right = rng.binomial(cases, rng.beta(10 * truth, 10 * (1 - truth), (RUNS, n)))
    weights = [draws(n, seed=seed) for seed in range(RUNS // 20)]
    totals = np.stack([right, cases], axis=2)
    found = np.array([ratio_interval(sample, weights=weights[i // 20]) for i, sample in enumerate(totals)])
    ends = ((right.sum(axis=1) == 0) | (right == cases).all(axis=1)).mean()
    assert keeps_its_promise(held(*found.T, truth), at_most=0.97 if ends < 0.01 else 1)
    assert (found >= 0).all() and (found <= 1).all()


def test_nothing_right_or_everything_still_leaves_a_doubt():
    """Clopper and Pearson: none of 20 is below 17 per cent, in 97.5 samples of 100."""
    assert ratio_interval([[0, 3]] * 20) == pytest.approx((0, 1 - 0.025**0.05))
    assert ratio_interval([[3, 3]] * 20) == pytest.approx((0.025**0.05, 1))
    assert ratio_interval([[0, 3]] * 20, within=(-1, 1)) == (0, 0)
    assert np.isnan(ratio_interval([[1, 3]])).all() and ratio_interval([[3, 3]])[0] == pytest.approx(0.025)


@pytest.mark.parametrize(("value", "ends"), [(0, (0, 0.168)), (1, (0.832, 1)), (0.25, (0.25, 0.25))])
def test_means_and_profiles_leave_that_doubt_too(value, ends):
    values = np.full((20, 1, 1), float(value))
    profile = Profile()
    profile.add_many({"share": values}, [5] * 20, [False] * 20)
    assert np.ravel(profile.interval("share")) == pytest.approx(ends, abs=5e-4)
    assert np.ravel(mean_interval(values)) == pytest.approx(ends, abs=5e-4)


def test_no_answer_changed_leaves_a_doubt_too_and_no_loss_changed_does_not():
    right = np.array([1, 0] * 10)
    assert paired_interval(right, right) == pytest.approx((-0.168, 0.168), abs=5e-4)
    assert paired_interval(right, right, np.arange(20) // 4) == pytest.approx((-0.522, 0.522), abs=5e-4)
    assert paired_interval(right * 0.7, right * 0.7) == (0, 0)


def test_every_interval_of_the_package_is_this_one():
    """A profile, a fair head and a claim on the same ten reporting inputs: as far from the mean as ten allow."""
    rng = np.random.default_rng(3)
    values = rng.normal(1, 0.1, 20)
    profile = Profile(about={"first": 0})
    for value in values[1::2]:
        profile.add({"share": np.full((1, 1), value)}, 1)
    low, high = (float(end[0, 0]) for end in profile.interval("share"))
    [fair] = fair_head(values[:, None, None])
    claim = Claim(
        key="99-mean",
        sentence="s",
        source="n",
        operational="o",
        refuted_if="r",
        evidence="e",
        statistic=lambda v, _: v["x"],
    )
    found = measure(claim, Evidence.of("made up", ({"x": value} for value in values)))
    t_half = 2.262 * values[1::2].std(ddof=1) / np.sqrt(10)  # the textbook's, with 9 degrees of freedom
    for one, other in ((low, high), (fair.value.low, fair.value.high), (found.low, found.high)):
        assert other - one == pytest.approx(2 * t_half, rel=0.2)
