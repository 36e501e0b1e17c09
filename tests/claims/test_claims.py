"""The engine of the ledger, tried on evidence made by hand: the verdict can be worked out on paper."""

from dataclasses import replace

import numpy as np
import pytest
from made import refusals

from bertlook_course.claims import (
    FAILS,
    HOLDS,
    OPEN,
    Claim,
    Evidence,
    Resources,
    collect_evidence,
    course_claims,
    decide,
    decide_lesson,
    evidence_table,
    find_statistic,
    iter_verdicts,
    ledger,
)
from bertlook_course.claims import verdicts as deciding
from bertlook_course.claims.evidence import _kept
from bertlook_course.metrics import CannotDecide
from bertlook_teach.stats import CONFIDENCE, REPLICATES, widening


class FakeEncoder:
    """Engine and collectors only meet through the encoder; a name will do."""

    def __init__(self, name="trained", **about):
        self.name = self.fingerprint = name
        self.__dict__.update(about)


TRAINED, RANDOM = FakeEncoder(), FakeEncoder("random")


def claim(statistic, key="99-made-up", **changes):
    about = {
        "sentence": "Made up", "source": "Nobody 2019", "section": "1", "published": "0.57",
        "exactness": "V", "operational": "a number", "refuted_if": "it is small", "evidence": "made", "threshold": 0.5,
    }  # fmt: skip
    return Claim(key=key, statistic=statistic, **{**about, **changes})


def rows(values):
    """Evidence of one quantity, "x", for each input; None leaves it out."""
    return [{} if value is None else {"x": np.asarray(value, dtype=float)} for value in values]


def run(statistic, trained, random=(0.0,) * 8, *, strict=True, **changes):
    """Decide one claim on one quantity of two made-up models."""
    _kept.clear()
    table = {"made": lambda encoder, resources: rows(trained if encoder is TRAINED else random)}
    [verdict] = decide(
        [claim(statistic, **changes)],
        TRAINED,
        twin=RANDOM,
        resources=Resources(),
        evidence=table,
        strict=strict,
    )
    return verdict


def mean(values, choice):
    return values["x"].mean()


@pytest.fixture(autouse=True)
def few_inputs_decide(monkeypatch):
    """Rules are tried on a handful of made-up inputs; what keeps so few from deciding anything has tests of its own."""
    for minimum in ("FEWEST_REPORTING", "FEWEST_CHOOSING"):
        monkeypatch.setattr(deciding, minimum, 2)


# --- the three verdicts -----------------------------------------------------------------------------------------


def test_evidence_gives_back_the_rows_it_was_made_of():
    rows = [{}, {"a": np.arange(2.0)}, {"a": np.ones(2), "b": np.float64(3)}, {}]
    found = Evidence.of("some", rows)
    back = list(found.rows())
    assert [set(row) for row in back] == [set(row) for row in rows] and back[2]["b"] == 3
    again = Evidence.of("some", back)
    assert again.n == found.n == 4
    for quantity in ("a", "b"):
        np.testing.assert_array_equal(again.values[quantity], found.values[quantity])
        np.testing.assert_array_equal(again.inputs[quantity], found.inputs[quantity])


def test_a_claim_holds_if_the_whole_interval_meets_what_it_needs_and_the_twins_does_not():
    verdict = run(mean, [0.9, 0.68, 0.9, 0.72, 0.9, 0.7])
    assert verdict.value == pytest.approx(0.7)  # of the inputs with odd index only
    far = 0.02 * widening(3)  # three inputs: all may be the same one, and new ones lie farther off
    assert (verdict.low, verdict.high) == pytest.approx((0.7 - far, 0.7 + far))
    assert (verdict.n, verdict.verdict, verdict.twin) == (3, HOLDS, 0.0)
    assert verdict.why == "the whole interval meets what it needs, the twin's does not"


def test_a_claim_does_not_hold_if_the_whole_interval_is_below_the_line():
    assert run(mean, [0.9, 0.32, 0.9, 0.3, 0.9, 0.28]).verdict == FAILS


def test_an_interval_that_includes_the_line_decides_nothing():
    verdict = run(mean, [0, 0.1, 0, 0.9, 0, 0.2, 0, 0.9])
    assert (verdict.verdict, verdict.why) == (OPEN, "the interval includes the line")
    below = run(mean, [0, 0.1, 0, 0.9, 0, 0.2, 0, 0.6])
    assert below.value < 0.5 < below.high and below.verdict == OPEN


def test_fewer_than_twenty_reporting_inputs_decide_nothing_even_if_they_agree(monkeypatch):
    monkeypatch.undo()
    assert deciding.FEWEST_REPORTING == 20
    enough = run(mean, [0.9] * 40, [0.1] * 40)
    assert (enough.n, enough.verdict) == (20, HOLDS) and run(mean, [0.1] * 40).verdict == FAILS
    for value in (0.9, 0.1):
        verdict = run(mean, [value] * 38, [0.1] * 40)
        assert (verdict.n, verdict.verdict, verdict.value) == (19, OPEN, pytest.approx(value))
        assert verdict.why == "only 19 inputs to report on; fewer than 20 decide nothing, even if they agree"
    rare = [0.9 if i % 3 else None for i in range(40)]  # twenty inputs, but the number rests on thirteen
    assert run(mean, rare, [0.1] * 40).n == 13 and run(mean, rare, [0.1] * 40).verdict == OPEN


def test_a_head_that_few_inputs_chose_decides_nothing(monkeypatch):
    monkeypatch.undo()
    chosen = lambda values, choice: values["x"][choice["x"].argmax()]
    for n, expected in ((40, HOLDS), (38, OPEN)):
        values = [[0.9, 0.1] if i % 2 or i < n else None for i in range(50)]
        verdict = run(chosen, values, [[0.1, 0.1]] * 50)
        assert (verdict.n, verdict.n_choice, verdict.verdict) == (25, n // 2, expected)
    assert (
        verdict.why
        == "only 19 inputs to choose a head, layer or relation on; on fewer than 20 chance chooses"
    )


def test_what_a_statistic_only_asks_for_is_not_what_it_rests_on():
    """Of 40 inputs 2 have a comma; a statistic that looks whether there are enough, and takes another, rests on the other."""

    def enough_or_all(values, choice):
        return values["commas"] if "commas" in values and values.total("commas") > 5 else values["x"]

    table = {"made": lambda *_: [{"x": 0.9, **({"commas": 1} if i in (1, 3) else {})} for i in range(40)]}
    _kept.clear()
    [verdict] = decide([claim(enough_or_all, control=False)], TRAINED, twin=RANDOM, evidence=table)
    assert (verdict.n, verdict.n_choice, verdict.value) == (20, 0, pytest.approx(0.9))


def test_a_corrected_p_of_few_inputs_decides_nothing_either(monkeypatch):
    monkeypatch.undo()
    for n, expected in ((40, HOLDS), (38, OPEN)):
        _kept.clear()
        table = {"made": lambda encoder, _, n=n: rows([0.9 if encoder is TRAINED else 0.1] * n)}
        [verdict] = decide([claim(mean)], TRAINED, twin=RANDOM, evidence=table, correct="holm")
        assert verdict.verdict == expected


def test_a_claim_that_a_random_twin_reaches_too_is_not_decided():
    verdict = run(mean, [0.9] * 6, [0.8] * 6)
    assert (verdict.verdict, verdict.why) == (OPEN, "a random twin reaches it too")
    assert run(mean, [0.9] * 6, [0.8] * 6, control=False).verdict == HOLDS


def test_a_twin_on_the_line_is_no_twin_above_it():
    """Noise around a line at 0 does not reach it; noise that reaches our interval does."""
    noise = [-0.1, 0.1, 0.1, -0.1] * 3
    assert run(mean, [0.9, 0.8] * 6, noise, threshold=0.0).verdict == HOLDS
    verdict = run(mean, [0.1, 0.05] * 6, noise, threshold=0.0)
    assert (verdict.verdict, verdict.why) == (OPEN, "a random twin's interval reaches into it")


@pytest.mark.parametrize("off", [-2e-7, 0, 2e-7])
def test_no_verdict_hangs_on_the_last_digits_of_a_processor(off):
    """An interval that ends on the line, a twin on the line, a twin that touches the interval: the same verdict on all."""
    assert run(mean, [0.5 + off] * 6, threshold=0.5).why == "the interval includes the line"
    assert run(mean, [0.9] * 6, [0.5 + off] * 6, threshold=0.5).verdict == HOLDS
    touching = run(mean, [0.7] * 6, [0.1, 0.1, 0.1, 0.7 + off, 0.1, 0.7 + off], threshold=0.5)
    assert touching.why == "a random twin's interval reaches into it"


def test_a_claim_without_a_statistic_says_why():
    verdict = run(None, [1.0], operational="nothing here measures it", evidence="no such evidence")
    assert (verdict.verdict, verdict.why, verdict.n) == (OPEN, "nothing here measures it", 0)
    assert np.isnan([verdict.value, verdict.low, verdict.high, verdict.twin]).all()


# --- a claim of the token on which attention rests -------------------------------------------------------------

OF_A_SINK = claim(
    find_statistic("best_layer", ["sep"]), sentence="Over half to [SEP]", operational="[SEP]: mean", sink="{}"
)


def decide_sink(one, trained, random, n=8):
    """Decide a claim of a sink on two models that give so much to [CLS] and to [SEP]; of each a pair of pairs for choosing and reporting."""
    _kept.clear()

    def made(encoder, resources):
        both = trained if encoder is TRAINED else random
        return [
            {kind: np.full((1, 2), part) for kind, part in zip(("cls", "sep"), both[i % 2])} for i in range(n)
        ]

    [verdict] = decide([one], TRAINED, twin=RANDOM, evidence={"made": made})
    return verdict


def test_a_claim_of_a_sink_is_tried_on_the_token_that_the_model_gives_most():
    even = [(0.1, 0.2)] * 2
    verdict = decide_sink(OF_A_SINK, [(0.7, 0.1)] * 2, even)
    assert (verdict.value, verdict.twin) == pytest.approx(
        (0.7, 0.1)
    )  # the twin is asked about the same token
    assert verdict.verdict == HOLDS and verdict.claim.key == OF_A_SINK.key
    assert (verdict.claim.sentence, verdict.claim.operational) == ("Over half to [CLS]", "[CLS]: mean")
    assert verdict.published == "[SEP]: 0.57"  # that number stays of the token it was printed for
    as_written = decide_sink(OF_A_SINK, [(0.1, 0.7)] * 2, even)
    assert as_written.claim is OF_A_SINK and (as_written.value, as_written.twin) == pytest.approx((0.7, 0.2))
    fixed = decide_sink(replace(OF_A_SINK, sink=""), [(0.7, 0.1)] * 2, even)
    assert fixed.value == pytest.approx(0.1) and fixed.verdict == FAILS


def test_the_sink_is_found_on_the_inputs_that_choose():
    verdict = decide_sink(OF_A_SINK, [(0.9, 0.1), (0.1, 0.9)], [(0.1, 0.1)] * 2)
    assert verdict.claim.sentence == "Over half to [CLS]" and verdict.value == pytest.approx(0.1)


# --- choosing and reporting ------------------------------------------------------------------------------------


def test_even_inputs_choose_and_odd_inputs_report():
    statistic = lambda values, choice: values["x"][choice["x"].argmax()]
    best = run(statistic, [[1, 0], [0.2, 0.9]] * 3, [[0, 0]] * 6)
    assert best.value == pytest.approx(0.2)  # head 0 was chosen; on the inputs that report, head 1 has more
    assert (best.n, best.n_choice) == (3, 3)


def test_the_interval_is_that_of_an_independent_bootstrap():
    values = np.arange(1, 41, dtype=float) / 10
    reported = values[1::2]
    verdict = run(mean, values, threshold=0.0)
    draws = np.random.default_rng(5).choice(reported, (20000, len(reported))).mean(axis=1)
    low, high = np.quantile(draws, [(1 - CONFIDENCE) / 2, (1 + CONFIDENCE) / 2])
    error = 4 * draws.std() / np.sqrt(REPLICATES * 0.025)  # of a 2.5 % quantile of 400 draws, generously
    assert verdict.low == pytest.approx(low, abs=error)
    assert verdict.high == pytest.approx(high, abs=error)


def test_two_quantities_of_one_input_are_drawn_together():
    """The difference of two equal quantities has no spread, however much each of them has."""
    table = {
        "made": lambda *_: [{"x": np.array(v), "y": np.array(v)} for v in (0.1, 0.9, 0.4, 0.2, 0.5, 0.7)]
    }
    _kept.clear()
    difference = claim(lambda values, choice: values["x"] - values["y"], threshold=-1.0, control=False)
    [verdict] = decide([difference], TRAINED, twin=RANDOM, evidence=table)
    assert (verdict.low, verdict.high) == pytest.approx((0, 0))


def test_the_same_run_gives_the_same_interval():
    values = [0.1, 0.9, 0.4, 0.2, 0.5, 0.7, 0.3, 0.6]
    assert repr(run(mean, values)) == repr(run(mean, values))


def test_an_input_that_leaves_a_quantity_out_is_not_counted():
    verdict = run(mean, [0.9, 0.6, 0.9, None, 0.9, 0.8, 0.9, None])
    assert verdict.value == pytest.approx(0.7)
    assert verdict.n == 2


def test_n_is_the_smallest_count_among_the_quantities_used():
    table = {
        "made": lambda *_: (
            [{"x": 1, "y": 1, "z": 1}, {"x": 1, "y": 1}] + [{"x": 1}, {"x": 1}, {"x": 1}, {"x": 1, "y": 1}]
        )
    }
    _kept.clear()
    both = claim(lambda values, choice: values["x"] + values["y"] + choice["x"])
    [verdict] = decide([both], TRAINED, twin=RANDOM, evidence=table)
    assert (verdict.n, verdict.n_choice) == (2, 3)


# --- what cannot be decided ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "values, statistic, why",
    [
        ([0.9] * 3, mean, "only 1 input to report on; an interval needs two"),
        ([0.9, 0.9, 0.9, None], mean, "only 1 input to report on with 'x'; an interval needs two"),
        ([0.9, None, 0.9, None], mean, "only 0 inputs to report on with 'x'; an interval needs two"),
        ([None, 0.9, None, 0.9], lambda v, c: v["x"] * c["x"], "no input to choose on has 'x'"),
        ([0.9] * 4, lambda v, c: v["commas"], "no input yields 'commas'"),
        ([], mean, "no input yields 'x'"),
        ([0.9] * 4, lambda v, c: np.nan, "its statistic is undefined for these inputs"),
        ([0.9] * 2, lambda v, c: 1.0, "only 1 input to report on; an interval needs two"),
    ],
)
def test_too_little_evidence_is_said_and_no_number_is_shown(values, statistic, why):
    verdict = run(statistic, values)
    assert (verdict.verdict, verdict.why) == (OPEN, why)
    assert np.isnan([verdict.value, verdict.low, verdict.high]).all()


def test_a_statistic_may_ask_whether_a_quantity_is_there():
    assert run(lambda v, c: v["x"] if "commas" not in v else v["commas"], [0.9] * 6).verdict == HOLDS
    assert run(lambda v, c: v.get("commas", v["x"]), [0.9] * 6).verdict == HOLDS


def test_a_quantity_too_rare_for_the_bootstrap_is_not_decided():
    """Two of forty reporting inputs: a resample misses both about every seventh time."""
    verdict = run(mean, [0.9 if i in (1, 3) else None for i in range(80)])
    assert verdict.verdict == OPEN
    assert "of 400 resamples of the inputs give a number" in verdict.why


@pytest.mark.parametrize("generator", [True, False])
def test_a_collector_that_does_not_apply_gives_its_reason(generator):
    def collect(encoder, resources):
        raise CannotDecide("the model reads one segment only")
        yield

    def refuse(encoder, resources):
        raise CannotDecide("the model reads one segment only")

    _kept.clear()
    for _ in range(2):  # the second time from memory
        [verdict] = decide(
            [claim(mean)], TRAINED, twin=RANDOM, evidence={"made": collect if generator else refuse}
        )
        assert (verdict.verdict, verdict.why) == (OPEN, "the model reads one segment only")


def test_a_statistic_that_does_not_apply_gives_its_reason():
    def sixth_layer(values, choice):
        raise CannotDecide("the model has 3 layers")

    assert run(sixth_layer, [0.9] * 4).why == "the model has 3 layers"


def test_a_twin_without_control_leaves_the_claim_open():
    verdict = run(mean, [0.9] * 6, [None] * 6)
    assert verdict.verdict == OPEN
    assert verdict.why == "the random twin gives no control: no input yields 'x'"
    assert verdict.value == pytest.approx(0.9)
    assert run(mean, [0.9] * 6, [None] * 6, control=False).verdict == HOLDS


# --- what is wrong ---------------------------------------------------------------------------------------------


def test_evidence_without_a_collector_is_named_before_anything_is_computed():
    def never(encoder, resources):
        raise AssertionError("computed")

    wrong = claim(mean, key="99-wrong", evidence="surfaces")
    with pytest.raises(
        ValueError,
        match="claim '99-wrong' names evidence 'surfaces' and brings no collector of it; evidence has made",
    ):
        decide([claim(mean), wrong], TRAINED, twin=RANDOM, evidence={"made": never})


def eighth(values, choice):
    return values["x"][7]


def test_a_statistic_that_fails_may_become_the_reason():
    verdict = run(eighth, [[0.1, 0.2]] * 4, strict=False)
    assert verdict.verdict == OPEN and verdict.why.startswith("its statistic fails: IndexError")


def test_a_collector_that_fails_stops_or_becomes_the_reason():
    def collect(encoder, resources):
        yield {"x": 1}
        raise ValueError("the text is empty")

    _kept.clear()
    with pytest.raises(ValueError, match="the text is empty"):
        decide([claim(mean)], TRAINED, twin=RANDOM, evidence={"made": collect})
    [verdict] = decide([claim(mean)], TRAINED, twin=RANDOM, evidence={"made": collect}, strict=False)
    assert verdict.why == "collecting 'made' failed: ValueError: the text is empty"


# --- evidence is collected once ----------------------------------------------------------------------------------


def test_evidence_is_collected_once_for_all_claims_and_again_for_other_inputs():
    calls = []

    def collect(encoder, resources):
        calls.append((encoder.name, resources.limit))
        return rows([0.9] * 4)

    _kept.clear()
    three = [claim(mean, key=f"99-{k}") for k in "abc"]
    decide(three, TRAINED, twin=RANDOM, evidence={"made": collect})
    decide(three[:1], TRAINED, twin=RANDOM, evidence={"made": collect})
    assert calls == [("trained", None), ("random", None)]
    decide(three, TRAINED, twin=RANDOM, evidence={"made": collect}, resources=Resources(limit=4))
    assert calls[2:] == [("trained", 4), ("random", 4)]


def test_what_is_kept_depends_on_the_content_of_the_resources():
    digests = [
        Resources().digest,
        Resources(limit=3).digest,
        Resources(pairs=[("a", "b")]).digest,
        Resources(texts=["a", "b"]).digest,
        Resources(texts=["ab"]).digest,
    ]
    assert len(set(digests)) == 5
    assert Resources(texts=["a", "b"]).digest == Resources(texts=("a", "b")).digest


def test_what_is_kept_does_not_grow_without_end():
    _kept.clear()
    for k in range(_kept.most + 5):
        collect_evidence("made", FakeEncoder(f"model {k}"), evidence={"made": collect_nothing})
    assert len(_kept) == _kept.most


def collect_nothing(encoder, resources):
    return []


def test_progress_sees_every_input_with_a_label():
    seen = []

    def progress(stream, label):
        for row in stream:
            seen.append(label)
            yield row

    _kept.clear()
    decide([claim(mean)], TRAINED, twin=RANDOM, evidence={"made": lambda *_: rows([1, 1])}, progress=progress)
    assert seen == ["made, trained"] * 2 + ["made, random"] * 2


def test_verdicts_come_as_they_are_ready_and_are_sorted_like_the_claims():
    claims = [claim(mean, "99-a"), claim(mean, "99-b", evidence="more"), claim(mean, "99-c")]
    table = {"made": lambda *_: rows([1] * 4), "more": lambda *_: rows([0] * 4)}
    _kept.clear()
    order = [v.claim.key for v in iter_verdicts(claims, TRAINED, twin=RANDOM, evidence=table)]
    assert order == ["99-a", "99-c", "99-b"]
    assert [v.claim.key for v in decide(claims, TRAINED, twin=RANDOM, evidence=table)] == [
        "99-a",
        "99-b",
        "99-c",
    ]


# --- resources --------------------------------------------------------------------------------------------------


def test_resources_are_the_shipped_ones_cut_to_the_limit():
    resources = Resources(limit=3)
    assert [len(x) for x in (resources.pairs, resources.texts, resources.treebank)] == [3, 3, 3]
    assert len(Resources().pairs) >= 60
    own = Resources(pairs=[("a", "b")] * 5, limit=2)
    assert own.pairs == [("a", "b")] * 2


# --- the whole ledger ---------------------------------------------------------------------------------------------


def test_two_kinds_of_evidence_with_one_name_are_refused(monkeypatch):
    monkeypatch.setattr(course_claims, "_collectors", lambda number: {"made": lambda *_: []})
    monkeypatch.setattr(course_claims, "ledger", lambda: ())
    with pytest.raises(ValueError, match="evidence 'made' of lesson 02 has the name"):
        evidence_table()


def test_one_evidence_name_with_two_collectors_is_collected_twice():
    _kept.clear()
    one, other = (
        claim(mean, key=f"99-{value}", collect=lambda *_, value=value: rows([value] * 4))
        for value in (0.2, 0.9)
    )
    assert [v.value for v in decide([one, other], TRAINED, twin=RANDOM)] == pytest.approx([0.2, 0.9])


def test_a_lesson_is_named_by_its_number_too():
    assert ledger(3) == ledger("3") == ledger("03")


# --- what is refused ----------------------------------------------------------------------------------------------


def changed(**fields):
    return replace(claim(mean), **fields)


def test_a_claim_may_say_less():
    assert changed(exactness="V/A").exactness == "V/A"
    assert changed(published="", exactness="").published_text() == ""
    assert changed(published=lambda: "0.58").published_text() == "0.58"


test_what_is_refused = refusals(
    (lambda: run(mean, [0.1, 0.2, np.nan, 0.3]), "claim '99-made-up': evidence 'made', input 2: quantity 'x' holds NaN"),
    (lambda: run(mean, [0.1, [0.2, 0.3]]), r"input 1: quantity 'x' has shape \(2,\); it was \(\)"),
    (lambda: Evidence.of("made", [{"x": "many"}]), "input 0: quantity 'x' is not an array of numbers: 'many'"),
    (lambda: collect_evidence("surfaces", TRAINED), "there is no evidence 'surfaces'"),
    (lambda: run(eighth, [[0.1, 0.2]] * 4), "the statistic of claim '99-made-up' fails: IndexError"),
    (lambda: run(lambda v, c: v["x"], [[0.1, 0.2]] * 4), "fails: TypeError"),
    (lambda: changed(key="made-up"), "begins with its lesson, two digits"),
    (lambda: changed(key="9-x"), "begins with its lesson, two digits"),
    (lambda: changed(threshold=float("nan")), "the threshold must be a number"),
    (lambda: changed(refuted_if=" ", statistic=None), "say in refuted_if what would refute it"),
    (lambda: changed(operational=""), "has no operational"),
    (lambda: changed(exactness="R"), "A number from memory has no place"),
    (lambda: changed(exactness="V/R"), "A number from memory has no place"),
    (lambda: Claim("99-made-up", "Made up"), "positional", TypeError),
    (lambda: Resources(limit=0), "limit is the number of inputs to use, at least 1; got 0"),
    (lambda: decide([claim(mean)], TRAINED, correct="bonferroni"), "correct must be 'holm' or None; got 'bonferroni'"),
    (lambda: decide_lesson("03", TRAINED, n=4, resources=Resources()), "give n or resources, not both"),
    (lambda: decide_lesson(77, TRAINED), "no lesson 77 with claims; there is: 01"),
)  # fmt: skip
