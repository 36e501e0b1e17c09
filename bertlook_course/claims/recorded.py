"""Verdicts on recorded attention of a BERT-base: computed once where the recording was, shipped as numbers.

They were made on 200 sentences of SST-2 that a BERT-base **fine-tuned on SST-2** had read, with a BERT-base of random
weights on the same wordpieces as the control. It is not the published model, and single sentences are not the pairs of paragraphs on which the
course's own verdicts stand, so a verdict here is about that model on those sentences.
"""

from __future__ import annotations

import csv
import json
import math
from typing import NamedTuple

from bertlook_teach.disk import data_path

from .claim import FAILS, HOLDS, OPEN

RECORDED_COLUMN = "BERT-base (SST-2), recorded"


class RecordedVerdict(NamedTuple):
    """One claim as it came out on the recording; numbers are NaN where there is none."""

    key: str
    value: float
    low: float
    high: float
    twin: float
    twin_low: float
    twin_high: float
    n: int
    verdict: str
    why: str
    threshold: float


def recorded_verdicts() -> dict[str, RecordedVerdict]:
    """Key of a claim -> its verdict on the recording, for every claim whose evidence attention alone can give.

    Raises
    ------
    ValueError
        If a row of the table has an unknown verdict.
    """
    found = {}
    with open(data_path("bert_base", "measured", "verdicts.csv"), newline="", encoding="utf-8") as file:
        for row in csv.DictReader(file):
            if row["verdict"] not in (HOLDS, FAILS, OPEN):
                raise ValueError(
                    f"a verdict is one of {HOLDS}, {FAILS}, {OPEN}; the table has {row['verdict']!r} for {row['key']!r}. "
                    "Take the table of the last commit; its recording is not part of the course."
                )
            numbers = {
                name: float(row[name]) if row[name] else math.nan
                for name in ("value", "low", "high", "twin", "twin_low", "twin_high", "threshold")
            }
            found[row["key"]] = RecordedVerdict(
                key=row["key"], n=int(row["n"]), verdict=row["verdict"], why=row["why"], **numbers
            )
    return found


def recorded_about() -> dict:
    """What they are about: model, source, sentences, wordpieces."""
    return json.loads(data_path("bert_base", "measured", "about.json").read_text(encoding="utf-8"))


def recorded_sentence() -> str:
    """What a reader must know beside the column, in a sentence."""
    about = recorded_about()
    return (
        f"{RECORDED_COLUMN}: verdicts of their own on {about['model'].removesuffix(' (recorded)')}, {about['sentences']} {about['inputs']}; "
        f"{about['source']}. Not the published model. A dash: attention alone cannot decide it."
    )
