"""The calculations of the worksheets and examinations, computed a second time."""

from __future__ import annotations

import tomllib
from pathlib import Path

import numpy as np
import pytest

from bertlook_course.syllabus import LESSONS, QUESTIONS
from bertlook_teach import stats

ROOT = Path(__file__).resolve().parents[2]
BANK = tomllib.loads((ROOT / "data" / "misconceptions.toml").read_text(encoding="utf-8"))


def test_every_lesson_is_asked_about_its_own_misconception():
    assert list(QUESTIONS) == [one.number for one in LESSONS]
    for number, asked in QUESTIONS.items():
        assert (
            number in BANK[asked.false]["lessons"]
            and asked.criticise in BANK
            and asked.criticise != asked.false
        )
        assert (
            asked.calculate.endswith(("?", ".")) and asked.answer.endswith(".") and asked.true.endswith(".")
        )


def divergence(p, q):
    middle = (np.array(p) + q) / 2
    return np.mean([sum(x * np.log(x / m) for x, m in zip(row, middle) if x) for row in (p, q)])


def softmax(scores):
    powers = np.exp(scores)
    return powers / powers.sum()


def pairs_won(ranks, n):
    others = [rank for rank in range(1, n + 1) if rank not in ranks]
    return np.mean([rank < other for rank in ranks for other in others])


kappa = np.trace([[0.82, 0.08], [0.08, 0.02]])  # 84 agreed, each with 90 and 10

ANSWERS = {
    "01": [f"{share:.3f}" for share in (*softmax([2.0, 0, 0])[:2], softmax([8.0, 0, 0])[0])],
    "02": ["0.08"],
    "03": [f"{2.0 / np.log(50):.2f}", f"{1.9 / np.log(25):.2f}", "0.10"],
    "04": [f"{0.16 / 0.46:.2f}"],
    "05": [f"{(kappa - 0.82) / 0.18:.2f}"],
    "06": ["6 points", "p = 0.036"],
    "07": ["At most 18", "At least 6"],
    "08": ["17 points", "B 35"],
    "09": [f"{divergence([1, 0], [0.5, 0.5]):.3f}", "0.693"],
    "10": ["1.40", "(1.0)"],
    "11": ["7.2", "99.94 %", "0.00035"],
    "12": [f"{pairs_won((1, 6), 10):.2f}"],
    "13": [f"{stats.holm(np.array([0.004, 0.03, 0.04, *[1] * 8]))[0]:.3f}", "0.30", "0.36", "0.027"],
    "14": ["0.10 beside 0.09"],
}


@pytest.mark.parametrize("number", ANSWERS)
def test_the_answer_is_right(number):
    assert all(value in QUESTIONS[number].answer for value in ANSWERS[number]), QUESTIONS[number].answer
