"""The feedback of exercises: right, wrong with a reason, unfilled; and the same for every lesson's checks."""

import importlib
import inspect
import math
import pkgutil
import re
import subprocess
import sys
import types
import warnings

import numpy as np
import pytest
from render.test_render_claims import verdict

from bertlook_course import checks
from bertlook_course.analyses.syntax import NO_ANSWER
from bertlook_course.checks import cases, lesson01, lesson09
from bertlook_course.claims import FAILS, HOLDS, OPEN
from bertlook_course.metrics import kruskal_stress
from bertlook_course.render import claim_card
from bertlook_course.storage import evidence_folder, shipped_evidence
from bertlook_teach.measures import Profile

LEARNT = "Rows sum to 1."
WEIGHTS = np.array([[0.5, 0.25, 0.25], [0.1, 0.8, 0.1], [1.0, 0.0, 0.0]])  # rows over key sum to 1


# ---- checks.Feedback -------------------------------------------------------------------------------------------------


def test_only_a_right_feedback_is_true():
    assert checks.Feedback("right", "yes")
    assert not checks.Feedback("wrong", "no")
    assert not checks.Feedback("unanswered", "later")


def test_feedback_reads_the_same_as_text_and_in_the_page():
    feedback = checks.Feedback("wrong", "compare `a < b` & think")
    assert repr(feedback) == "Not right yet. compare `a < b` & think"
    page = feedback._repr_html_()
    assert "<strong>Not right yet.</strong> compare <code>a &lt; b</code> &amp; think" in page
    assert 'role="status"' in page and 'data-status="wrong"' in page
    assert page == checks.Feedback("wrong", "compare `a < b` & think")._repr_html_()


def test_markup_in_a_message_is_escaped():
    assert "<script>" not in checks.Feedback("wrong", "`<script>` and <script>")._repr_html_()


def test_a_feedback_is_frozen_and_refuses_other_states():
    with pytest.raises(AttributeError):
        checks.Feedback("right", "yes").status = "wrong"
    with pytest.raises(ValueError, match="one of unanswered, wrong, right; got 'good'"):
        checks.Feedback("good", "x")
    with pytest.raises(ValueError, match="needs a message"):
        checks.Feedback("wrong", "  ")


# ---- unanswered -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "answer",
    [..., "...", "  ", (1, ...), [[0.1, ...]], {"a": ...}, {1, ...}, np.array([1, ...], dtype=object)],
    ids=repr,
)
def test_what_still_holds_an_ellipsis_is_unanswered(answer):
    assert checks.is_unanswered(answer)


@pytest.mark.parametrize("answer", [0, 0.0, None, False, [], {}, "a...", [1, ""], np.zeros(2), ()], ids=repr)
def test_an_empty_or_false_answer_is_still_an_answer(answer):
    assert not checks.is_unanswered(answer)


ONE_OF_EACH = [
    checks.NumberCheck(1.0, tolerance=0.1, learnt=LEARNT),
    checks.ArrayCheck(WEIGHTS, learnt=LEARNT),
    checks.ChoiceCheck("query", options=["query", "key"], learnt=LEARNT),
    checks.ChoiceCheck("query", learnt=LEARNT),
    checks.SetCheck({1, 2}, learnt=LEARNT),
    checks.ListCheck([1, 2], learnt=LEARNT),
    checks.ListCheck(["3-1"], single=True, learnt=LEARNT),
    checks.FunctionCheck(lambda x: 17, cases=[1], learnt=LEARNT),
    checks.TextCheck("x", mentions={"say x": "x"}, learnt=LEARNT),
]


@pytest.mark.parametrize("check", ONE_OF_EACH, ids=lambda check: type(check).__name__)
def test_every_helper_says_not_answered_yet(check):
    feedback = check(...)
    assert feedback.status == "unanswered"
    assert repr(feedback).startswith("Not answered yet.")


# ---- numbers --------------------------------------------------------------------------------------------------


def number(answer, right=0.25, tolerance=0.01, **options):
    return checks.NumberCheck(right, tolerance=tolerance, learnt=LEARNT, **options)(answer)


@pytest.mark.parametrize(
    "answer", [0.25, 0.2599, np.float32(0.25), np.array(0.25), np.array([0.25])], ids=repr
)
def test_a_number_within_tolerance_is_right(answer):
    assert number(answer) == checks.Feedback("right", LEARNT)


def test_the_tolerance_is_absolute_and_closed():
    assert number(3, right=2, tolerance=1)
    assert not number(3.001, right=2, tolerance=1)


@pytest.mark.parametrize(
    "answer, reason",
    [
        (0.3, "Your answer is 0.3, which is too large."),
        (0.1, "Your answer is 0.1, which is too small."),
        (-0.25, "Your answer is -0.25: the size is right, the sign is not."),
        (25, "Your answer is 25: that is a percentage; shares are fractions from 0 to 1 here."),
        ("0.25", "Leave out the quotation marks."),
        (True, "yours is True or False."),
        (math.nan, "nan, not a number"),
        ([0.25, 0.25], r"One number was expected; yours is an array of shape (2,)."),
        (len, "yours is a function."),
    ],
)
def test_a_wrong_number_gets_its_reason(answer, reason):
    feedback = number(answer)
    assert feedback.status == "wrong"
    assert reason in feedback.message


def test_a_known_mistake_in_a_number_is_named_before_the_general_hint():
    wrong = {
        "that is the number of keys": 4,
        "that is huge.": checks.Whenever(lambda x: x > 100, such_as=101),
    }
    assert number(4.005, wrong=wrong).message == "Your answer is 4.005: that is the number of keys."
    assert number(400, wrong=wrong).message == "Your answer is 400: that is huge."
    assert number(5, wrong=wrong).message == "Your answer is 5, which is too large."


def test_what_cannot_be_asked_of_an_answer_is_not_its_mistake():
    never = {"never": checks.Whenever(lambda x: x.shape, such_as=None)}
    assert number(5, wrong=never).message == "Your answer is 5, which is too large."


@pytest.mark.parametrize(
    "make, message",
    [
        (lambda: checks.NumberCheck(math.nan, tolerance=0, learnt=LEARNT), "finite number"),
        (
            lambda: checks.NumberCheck(1, tolerance=-1, learnt=LEARNT),
            "tolerance must be zero or more; got -1",
        ),
        (lambda: checks.NumberCheck(1, tolerance=math.nan, learnt=LEARNT), "tolerance must be zero or more"),
        (lambda: checks.NumberCheck(1, tolerance=0, learnt=" "), "learnt must say"),
        (lambda: checks.ArrayCheck([math.nan], learnt=LEARNT), "finite numbers"),
        (
            lambda: checks.ArrayCheck([1], axes=("layer", "head"), learnt=LEARNT),
            "names 2 axes, but the right answer has 1",
        ),
        (lambda: checks.ChoiceCheck("c", options=["a", "b"], learnt=LEARNT), "'c' is not one of the options"),
        (lambda: checks.FunctionCheck(len, cases=[], learnt=LEARNT), "at least one case"),
        (lambda: checks.TextCheck("a", mentions={}, learnt=LEARNT), "at least one"),
        (lambda: checks.check_all(), "at least one Feedback"),
        (
            lambda: checks.ListCheck([1], wrong=["why", [2], "and why"], learnt=LEARNT),
            "a reason without a wrong answer",
        ),
        (
            lambda: checks.ListCheck([1], wrong=[[2], "why"], learnt=LEARNT),
            "each reason, a text, stands before",
        ),
    ],
)
def test_a_mistake_of_the_lesson_itself_is_an_error(make, message):
    with pytest.raises(ValueError, match=message):
        make()


# ---- arrays ---------------------------------------------------------------------------------------------------


def array(answer, right=WEIGHTS, **options):
    return checks.ArrayCheck(right, learnt=LEARNT, **options)(answer)


def test_an_array_a_list_and_a_tensor_are_all_right():
    torch = pytest.importorskip("torch")
    for answer in (
        WEIGHTS,
        WEIGHTS.tolist(),
        WEIGHTS.astype("float32"),
        torch.tensor(WEIGHTS, requires_grad=True),
    ):
        assert array(answer, tolerance=1e-6) == checks.Feedback("right", LEARNT)


def test_swapped_axes_are_named_for_weights_and_for_other_arrays():
    assert array(WEIGHTS.T).message == "These rows sum over queries; did you swap the last two axes?"
    scores = np.arange(6.0).reshape(2, 3)
    assert array(scores.T, scores).message == "The values are right but the last two axes are swapped."


def test_softmax_over_the_wrong_axis_is_recognised_by_its_sums():
    scores = np.log(WEIGHTS + 0.1)
    rows = np.exp(scores) / np.exp(scores).sum(axis=1, keepdims=True)
    columns = np.exp(scores) / np.exp(scores).sum(axis=0, keepdims=True)
    assert array(columns, rows).message == "These rows sum over queries; did you swap the last two axes?"
    assert array(rows, rows)


def test_a_symmetric_array_is_not_called_swapped():
    assert array(np.eye(3), np.eye(3))


@pytest.mark.parametrize(
    "answer, reason",
    [
        ("abc", "An array of numbers was expected; yours is a text (in quotation marks)."),
        (None, "An array of numbers was expected; yours is None."),
        ([["a", "b"]], "An array of numbers was expected; yours is a list."),
        (WEIGHTS[0], "It has 1 axis, shape (3,); 2 axes (query, key) were expected."),
        (WEIGHTS[:2], "It has shape (2, 3); the expected shape is (3, 3) (query, key)."),
        (WEIGHTS > 0, "It holds True and False; numbers were expected."),
        (WEIGHTS * [[1], [np.nan], [1]], "The entry at query 1, key 0 is nan"),
        (WEIGHTS * [[1], [2], [1]], "Each row should sum to 1; the row at query 1 sums to 2."),
        (WEIGHTS[:, [0, 2, 1]], "The first entry that differs is at query 1, key 1: yours is 0.1."),
    ],
)
def test_a_wrong_array_gets_the_first_reason_that_applies(answer, reason):
    feedback = array(answer, axes=("query", "key"))
    assert feedback.status == "wrong"
    assert reason in feedback.message


def test_an_index_without_axis_names_is_printed_plainly():
    assert "at index [1, 1]: yours is 0.1" in array(WEIGHTS[:, [0, 2, 1]]).message


def test_a_known_wrong_array_is_named():
    feedback = array(WEIGHTS[::-1], wrong={"the rows are upside down": WEIGHTS[::-1].copy()})
    assert feedback.message == "The rows are upside down."
    deep = checks.Whenever(lambda a: a.shape == (3, 3, 1), such_as=WEIGHTS[..., None])
    others = {"that is one row": WEIGHTS[0], "one axis too many": deep}  # of other shapes
    assert array(WEIGHTS[0], wrong=others).message == "That is one row."
    assert array(WEIGHTS[..., None], wrong=others).message == "One axis too many."
    assert "yours is 0.1" in array(WEIGHTS[:, [0, 2, 1]], wrong=others).message


def test_the_expected_value_of_an_entry_is_never_printed():
    for answer in (WEIGHTS + 0.011, WEIGHTS[:, [0, 2, 1]], WEIGHTS * 2):
        assert "0.8" not in array(answer).message


def test_the_answer_is_left_as_it_was():
    answer = WEIGHTS.copy()
    array(answer), array(answer.T)
    assert np.array_equal(answer, WEIGHTS)


# ---- choices, sets, lists, texts ------------------------------------------------------------------------------


def test_a_choice_ignores_case_and_spaces_and_explains_the_tempting_option():
    choice = checks.ChoiceCheck.among(
        {"query": None, "key": "it is looked at", "value": "it is taken"}, learnt=LEARNT
    )
    assert choice.options == ("query", "key", "value")
    assert choice(" Query ")
    assert choice("KEY").message == "Your choice is `KEY`: it is looked at."
    assert choice("head").message == "`head` is not one of the options: `query`, `key`, `value`."


def test_true_is_not_the_choice_one():
    one = checks.ChoiceCheck(1, options=[1, 2], learnt=LEARNT)
    assert not one(True) and one(np.int64(1))


def test_a_set_forgets_order_repetition_and_container():
    for answer in ({(0, 1), (1, 3)}, [(1, 3), (0, 1), (0, 1)], np.array([[0, 1], [1, 3]]), [[0, 1], [1, 3]]):
        assert checks.SetCheck({(0, 1), (1, 3)}, learnt=LEARNT)(answer)


def test_a_wrong_set_counts_what_is_missing_and_names_what_is_too_much():
    def chosen(answer, right, **options):
        return checks.SetCheck(right, learnt=LEARNT, **options)(answer)

    feedback = chosen({1, 7, 9}, {1, 2, 3})
    assert feedback.message == "`7` and 1 more do not belong. 2 are still missing."
    assert chosen({2, 3}, {1, 2}, wrong={"count from 0": {2, 3}}).message == "Count from 0."
    assert chosen("ab", {"a", "b"}).status == "wrong"


def test_an_empty_set_has_made_no_listed_mistake():
    heads = checks.SetCheck({1, 2}, wrong={"those look at the next token": set()}, learnt=LEARNT)
    assert heads(set()).message == "2 are still missing."


def test_a_list_minds_order_and_case():
    tokens = ["[CLS]", "un", "##real"]
    pieces = checks.ListCheck(tokens, wrong={"where is [CLS]?": tokens[1:]}, learnt=LEARNT)
    assert pieces(tuple(tokens))
    assert "number 0" in pieces(["[cls]", "un", "##real"]).message
    assert "number 1 (counting from 0): `##real`" in pieces(["[CLS]", "##real", "un"]).message
    assert pieces(tokens[1:]).message == "Where is [CLS]?"


def test_where_one_thing_is_asked_for_it_may_stand_alone_or_in_a_list():
    name = checks.ListCheck(["3-1"], single=True, learnt=LEARNT)
    assert name("3-1") and name(["3-1"]) and name(("3-1",))
    assert name(("3", "1")).message == "Your list has 2 entries, 1 was expected."


def test_a_text_is_asked_for_what_it_does_not_mention():
    text = checks.TextCheck(
        "Softmax makes rows sum to 1.",
        mentions={"which step?": r"soft\s*max", "sum of what?": "sum"},
        wrong={"no chance in it": checks.Whenever(lambda said: "random" in said, such_as="it is random")},
        learnt="Softmax makes rows sum to 1.",
    )
    assert text("The SoftMax makes them sum to one")
    assert text("they sum to one").message == "Which step?"
    assert text("the softmax does it").message == "Sum of what?"
    assert text("it is random, softmax sum").message == "No chance in it."
    assert text("softmax").message == "Say it in a sentence of at least 3 words."
    assert text(7).status == "wrong"


# ---- functions ------------------------------------------------------------------------------------------------


def mean_of_rows(weights):
    return weights.mean(axis=1)


CASES = [np.array([[0.0, 1.0], [3.0, 5.0]]), np.ones((2, 3))]


def function(answer, cases=CASES, right=mean_of_rows, **options):
    return checks.FunctionCheck(right, cases=cases, learnt=LEARNT, **options)(answer)


def test_a_right_function_is_right_on_numpy_and_torch():
    torch = pytest.importorskip("torch")
    assert function(mean_of_rows)
    assert function(mean_of_rows, [torch.tensor(case) for case in CASES])


def unfilled_body(weights):
    """A docstring, as in the notebook."""
    ...  # noqa: PIE790 - exactly what the generated exercise holds


def unfilled_return(weights):
    return ...


def unfilled_middle(weights):
    total = ...
    return total / weights.shape[1]


def unfilled_numpy(weights):
    total = ...
    return np.exp(total)


@pytest.mark.parametrize("answer", [unfilled_body, unfilled_return, unfilled_middle, unfilled_numpy])
def test_a_function_with_an_ellipsis_left_in_it_is_unanswered(answer):
    assert function(answer).status == "unanswered"


def test_a_function_that_forgets_to_return_is_told_so():
    def forgot(weights):
        result = weights.mean(axis=1)  # noqa: F841

    feedback = function(forgot)
    assert feedback.status == "wrong"
    assert (
        feedback.message
        == "With input `array of shape (2, 2)` it returns None: is there a `return` at the end?"
    )


@pytest.mark.parametrize(
    "source",
    [
        "def f(w):\n    return None",
        "def f(w):\n    return",
        "f = lambda w: None",
        "def f(w):\n    if 0:\n        return w",
    ],
)
def test_a_function_that_returns_none_is_not_unanswered(source, tmp_path, monkeypatch):
    (tmp_path / "written.py").write_text(source + "\n")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "written", raising=False)
    assert "it returns None: is there a `return`" in function(importlib.import_module("written").f).message


def test_an_exception_becomes_a_sentence_with_the_failing_input():
    one = {"right": lambda x: 1 / max(x, 1), "cases": [2, 0]}
    feedback = function(lambda x: 1 / x, **one)
    assert feedback.message == "With input `0` it stopped with ZeroDivisionError: division by zero."
    assert "stopped with TypeError" in function(lambda: 1, **one).message


def test_the_first_failing_case_is_shown_without_the_solution():
    feedback = function(lambda x: x + 1, [1, 5, 6], right={1: 2, 5: 7, 6: 99}.get)
    assert feedback.message == "With input `5`: your answer is 6, which is too small."


def test_a_wrong_version_is_recognised_only_when_it_agrees_on_every_case():
    wrong = {
        "you averaged over the other axis": lambda weights: weights.mean(axis=0)[: len(weights)],
        "that is the largest": lambda weights: weights.max(axis=1),
    }
    over_queries = function(lambda w: w.mean(axis=0)[: len(w)], wrong=wrong)
    assert over_queries.message == "You averaged over the other axis."
    assert function(lambda w: w.max(axis=1), wrong=wrong).message == "That is the largest."
    assert "differs is at index [0]" in function(lambda w: w.min(axis=1), wrong=wrong).message


def test_a_function_that_changes_its_input_is_told_so_and_the_cases_stay_whole():
    def greedy(weights):
        result = weights.mean(axis=1)
        weights[:] = 0
        return result

    before = CASES[0].copy()
    assert "changed its input" in function(greedy).message
    assert np.array_equal(CASES[0], before)


def test_something_that_is_no_function_is_named():
    assert "Give its name, without brackets" in function(mean_of_rows(np.ones((2, 2)))).message


@pytest.mark.parametrize(
    "expected, wrong, reason",
    [
        (True, 1, "True or False was expected"),
        (True, False, "it returns False"),
        ("noun", "verb", "was expected; it returns `verb`"),
        (["a", "b"], ["a"], "it returns 1 values, 2 were expected"),
        (["a", "b"], ["a", "c"], "at place 1"),
        ((1.0, np.zeros(2)), (1.0, np.ones(2)), "at place 1"),
        ({"a": 1.0}, {"b": 1.0}, "the dictionary has 1 keys"),
        ({"a": 1.0}, {"a": 2.0}, "at key 'a'"),
        ({1, 2}, {1}, "was expected"),
    ],
)
def test_results_of_every_kind_are_compared(expected, wrong, reason):
    assert function(lambda x: expected, [0], right=lambda x: expected)
    assert reason in function(lambda x: wrong, [0], right=lambda x: expected).message


def test_check_all_gives_the_first_wrong_part_then_the_first_unanswered_one():
    right, wrong, unanswered = (
        checks.Feedback("right", "a"),
        checks.Feedback("wrong", "b"),
        checks.Feedback("unanswered", "c"),
    )
    assert checks.check_all(right, unanswered, wrong) == checks.Feedback("wrong", "Part 3: b")
    assert checks.check_all(right, unanswered) == checks.Feedback("unanswered", "c")
    assert checks.check_all(right, right, learnt="both") == checks.Feedback("right", "both")
    assert checks.check_all(right) == right


# ---- parts, and checks of a run ----------------------------------------------------------------------------------------


@checks.of_run(lambda: (4,), answers=2)
def check_two(n, step=1):
    """A number, and the one after it."""
    first = checks.NumberCheck(n, tolerance=0, wrong={"that is the next one": n + step}, learnt="One.")
    second = checks.NumberCheck(n + step, tolerance=0, learnt="Two.")
    return checks.PartsCheck((first, second), learnt=f"{n} and {n + step}.")


def test_a_check_of_a_run_takes_the_answers_first_and_the_run_after_them():
    assert check_two(4, 5, 4).message == "4 and 5."
    assert check_two(4, 6, 4, step=2).message == "4 and 6."
    assert check_two(5, 5, 4).message == "Part 1: Your answer is 5: that is the next one."
    assert check_two(4, ..., 4).status == "unanswered"
    assert str(inspect.signature(check_two)) == "(answer_1, answer_2, /, n, step=1)"


# ---- every record of every lesson -------------------------------------------------------------------------------------


def every_check():
    """Each check that a lesson keeps, as a notebook calls it."""
    for module in pkgutil.iter_modules(checks.__path__):
        if module.name.startswith("lesson"):
            lesson = importlib.import_module(f"{checks.__name__}.{module.name}")
            for name in lesson.sheet().answers:
                yield pytest.param(getattr(lesson, f"check_{name}"), id=f"{module.name}-{name}")


def trials(record):
    """(right answers, answers with one mistake, its reason) for each wrong answer of a record, or of its parts."""
    parts = record.right if isinstance(record, checks.PartsCheck) else (record,)
    right = [part.right for part in parts]
    for place, part in enumerate(parts):
        for reason, wrong in part.mistakes:
            wrong = wrong.such_as if isinstance(wrong, checks.Whenever) else wrong
            yield [*right[:place], wrong, *right[place + 1 :]], reason


# Anything a student may leave behind. No check may raise, and none may call these right.
ODD = [None, True, "seven", b"x", object(), [], {}, {1: 2}, {"a"}, [1, "a"], [[1], [2, 3]], np.zeros((2, 0)),
       np.array("a"), float("nan"), float("inf"), 1j, range(3), len, int, lambda: 1 / 0, iter([]), Exception("x")]  # fmt: skip


def faults(check, run=None) -> list[str]:
    """What is wrong with a check, tried with its own right and wrong answers on a run, its own example if none is given."""
    of_run = isinstance(check, checks.RunCheck)
    run = run or (check.example() if of_run else ())
    record = check.make(*run) if of_run else check
    n = record.answers
    if n != check.answers:
        return [f"it says that it takes {check.answers} answers and takes {n}"]
    right = [part.right for part in record.right] if n > 1 else [record.right]
    found = [] if check.asks.strip() else ["it does not say what it asks for"]
    odd = [([*right[:at], one, *right[at + 1 :]], "wrong") for one in ODD for at in range(n)]
    for answers, status in ((right, "right"), ([...] * n, "unanswered"), *odd):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            said = record(*answers)
        if said.status != status:
            found.append(f"{answers} should be {status}, and is {said.status}: {said.message}")
        if " at 0x" in repr(said) or len(said.message) > 400:
            found.append(f"a message must be short and the same in each run: {said.message}")
    for answers, reason in trials(record):
        with np.errstate(all="ignore"):  # a student's own code warns, and goes on
            said = record(*answers)
        if said.status != "wrong" or reason[1:].rstrip(".") not in said.message:
            found.append(f"{reason!r} got {said.status}: {said.message}")
    return found


@pytest.fixture
def shipped(monkeypatch):
    """The claims on trial are decided on what ships, as in a reader's notebook."""
    monkeypatch.setattr(shipped_evidence, "evidence_folder", evidence_folder)


@pytest.mark.parametrize("check", [*every_check()])
def test_right_is_right_empty_is_unanswered_and_each_wrong_answer_gets_its_own_reason(check, shipped):
    """That the right answer of a record *is* right, the solutions show: each computes it by its own means and is judged by the record."""
    assert faults(check.__wrapped__) == []
    assert check.__doc__ == check.__wrapped__.asks


def a_check(right=1, answers=1, example=(1,), learnt="One is one.", **fields):
    @checks.of_run(lambda: example, answers=answers)
    def check(run):
        """One."""
        return checks.NumberCheck(right, tolerance=0.1, learnt=learnt, **fields)

    return check


@pytest.mark.parametrize(
    "check, message",
    [
        (a_check(wrong={"that is two": 2}), None),
        (a_check(wrong={"that is one": 1.05}), "'that is one' got right"),
        (
            a_check(wrong={"that is two": 2, "that is not one": 2}),
            "'that is not one' got wrong: Your answer is 2: that is two.",
        ),
        (a_check(answers=2), "it says that it takes 2 answers and takes 1"),
        (a_check(learnt="x" * 401), "a message must be short"),
        (checks.NumberCheck(1, tolerance=0, learnt="One."), "it does not say what it asks for"),
        (checks.ListCheck([1, ...], learnt="One.", asks="One."), "should be right, and is unanswered"),
    ],
)
def test_a_check_with_a_fault_is_found_out(check, message):
    found = faults(check)
    assert found == [] if message is None else any(message in fault for fault in found)


def profile_of(**means):
    """Four texts of 3 layers x 2 heads whose means are as given, and vary little from text to text."""
    profile = Profile()
    for shift in (-0.01, 0.01, -0.02, 0.02):
        profile.add({name: np.array(values) + shift for name, values in means.items()}, 1)
    return profile


PREVIOUS, NEXT = [[0.45, 0.55], [0.1, 0.9], [0.55, 0.45]], [[0.55, 0.2], [0.45, 0.1], [0.1, 0.3]]
NEAR_HALF = profile_of(previous=PREVIOUS, next=NEXT)
CHOOSING, REPORTING = (
    profile_of(self=v) for v in ([[0.1, 0.3], [0.2, 0.4], [0.7, 0.2]], [[0.2, 0.8], [0.1, 0.2], [0.6, 0.3]])
)
# Layer by layer: below the twin, not clearly above it, clearly above it, and more than twice it.
SPECIMEN = profile_of(punct=[[0.1, 0.1], [0.205, 0.205], [0.3, 0.3], [0.9, 0.9], [0.25, 0.29], [0.3, 0.3]])
TWIN = profile_of(punct=[[0.2, 0.2]] * 6)
MARKS = ("[CLS]", "yes", ",", "it", "'", "s", ".", "[SEP]")
TEXT = types.SimpleNamespace(weights=np.full((1, 1, 20, 20), 0.4 / 18), tokens=("[CLS]", *"abcdefghijklmnopq", "[SEP]", "[SEP]"),
    special=(True, *[False] * 17, True, True), n_tokens=20)  # fmt: skip
TEXT.weights[..., -2:] = 0.3


@pytest.mark.parametrize(
    "name, answer",
    [
        ("previous_heads", ({"1-2", "2-2", "3-1"}, NEAR_HALF)),
        ("baseline", (2 / 20, TEXT)),
        ("fair_head", ("3-1", 0.6, CHOOSING, REPORTING)),
        ("learned_layers", (4, SPECIMEN, TWIN)),
        ("erratum", ({6, 7, 8, 9},)),
        ("masks", (np.isin(MARKS, (",", ".")), MARKS)),
    ],
)
def test_lesson_3_calls_right_what_can_be_read_off_a_run_made_by_hand(name, answer):
    assert getattr(importlib.import_module("bertlook_course.checks.lesson03"), f"check_{name}")(*answer)


def first_verb(sentence):
    found = [word for word in range(len(sentence)) if sentence.upos[word] == "VERB"]
    return [found[0] if found else NO_ANSWER] * len(sentence)


def even_weights(contexts, values, head):
    mixed = contexts.copy()
    mixed[:, head, :] = 1 / contexts.shape[0]
    return mixed


def chosen_on_all(change, half):
    best = np.argmin([np.mean(losses) for losses in change])
    return -np.mean(change[best][half]), -np.mean(change[best][~half])


@pytest.mark.parametrize(
    "check, answers, reason",
    [
        ("lesson01.split_words", (["cat", "s"], lesson01._example()), "pieces and not words of the text"),
        (
            "lesson06.by_columns",
            (lambda weights: [int(np.argmax(row)) for row in weights],),
            "rows, with the diagonal",
        ),
        ("lesson06.next_verb", (first_verb,), "first verb of the sentence"),
        ("lesson11.disable", (even_weights,), "1/L is the weight of each token"),
        ("lesson11.other_half", (chosen_on_all,), "chosen on all examples"),
    ],
)
def test_a_likely_mistake_is_recognised_however_it_is_written(check, answers, reason):
    lesson, _, name = check.partition(".")
    feedback = getattr(importlib.import_module(f"{checks.__name__}.{lesson}"), f"check_{name}")(*answers)
    assert feedback.status == "wrong" and reason in feedback.message


def test_the_stress_that_is_asked_for_is_that_of_the_maps():
    points, elsewhere = np.random.default_rng(0).normal(size=(2, 5, 2))
    drawn, measured = (np.linalg.norm(at[:, None] - at, axis=-1) for at in (points, elsewhere))
    assert lesson09.check_stress.__wrapped__.right(measured, drawn) == pytest.approx(
        kruskal_stress(measured, points)
    )


def test_the_engine_loads_neither_torch_nor_ipython():
    code = (
        "import sys, bertlook_course.checks; "
        "print([m for m in ('torch', 'IPython', 'ipywidgets', 'transformers') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


# ---- the picture and the claim that close each lesson ---------------------------------------------------------------


def test_of_a_picture_each_wrong_option_has_its_reason_and_the_right_one_has_no_fixed_place():
    places = set()
    for lesson in cases._PICTURES:
        options, check, *_ = cases.close(lesson)
        said = {option: check(option) for option in options}
        assert [one.status for one in said.values()].count("right") == 1, lesson
        assert len({one.message for one in said.values()}) == len(options) == 3 or lesson == "13"
        places.add([one.status for one in said.values()].index("right"))
    assert places == {0, 1, 2}


def decided(monkeypatch, result, value, why=""):
    found = verdict(value, result=result, why=why)
    monkeypatch.setattr(cases, "_decided", lambda lesson: found)
    *_, claim, options, check = cases.close("03")
    return claim_card(claim()), options, check


@pytest.mark.parametrize(
    "result, value, why, said",
    [
        (HOLDS, 0.7, "", "the whole interval meets .* that of the random twin"),
        (FAILS, 0.2, "", "no part of the interval meets"),
        (OPEN, 0.5, "the interval includes the line", "the interval includes the line"),
    ],
)
def test_a_card_holds_all_but_the_verdict_and_the_check_says_what_decides(
    monkeypatch, result, value, why, said
):
    card, options, check = decided(monkeypatch, result, value, why)
    cells = dict(card.rows)
    assert (
        cells["needs"] == "> .50"
        and cells["refuted if"] == "no head does"
        and "n = 50 inputs" in card.caption
    )
    assert result not in cells.values()
    for option in options:
        feedback = check(option)
        assert feedback.status == ("right" if option == result else "wrong")
        assert re.search(said, feedback.message, re.IGNORECASE)
    assert check(...).status == "unanswered" and check("true").status == "wrong"
