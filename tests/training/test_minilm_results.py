"""The page of MiniLM's results: its own numbers, and the specimen's beside them, each from where it stands."""

import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT), str(ROOT / "training")]
import minilm_results as tool

from bertlook_course.published import measured, measured_of
from bertlook_teach import load_encoder
from tools.page_tables import table_below

PAGE = tool.PAGE.read_text(encoding="utf-8")

SPECIMENS = """## A chapter

### Specimen on made-up trees

| relation | gain |
|---|---|
| det | +1.0 |
| obj | +2.0 |

### LitBank

| predictor | all |
|---|---|
| nearest mention | 49 |
| **best head of the specimen** | 75 |
"""


def test_the_specimens_number_stands_in_the_row_of_its_relation():
    table = "| relation | n |\n| --- | --- |\n| obj | 7 |\n| case | 8 |"
    made = tool.beside(table, "syntax", SPECIMENS, "### Specimen on made-up trees").split("\n")
    assert made[0] == "| relation | n | the specimen's gain |"
    assert made[2:] == ["| obj | 7 | +2.0 |", "| case | 8 | - |"]


def test_the_specimens_row_stands_below_under_its_own_name():
    table = (
        "| predictor | all |\n| --- | --- |\n| **best head of MiniLM** | 80 |\n\nHeads chosen for all: ..."
    )
    made = tool.beside(table, "coref", SPECIMENS, "### LitBank").split("\n")
    assert made[3:] == ["| the specimen's best head | 75 |", "", "Heads chosen for all: ..."]
    assert tool.chapter_of(SPECIMENS, "### LitBank") == "## A chapter"


def test_slides_quote_the_page_of_the_model_that_they_read_with():
    minilm, specimen = load_encoder("minilm"), load_encoder("specimen")
    theirs, ours = (measured_of(model, "EWT, Stanford") for model in (minilm, specimen))
    assert (theirs.whose, ours.whose) == ("MiniLM", "the specimen")
    for table, page in ((theirs, PAGE), (ours, tool.RESULTS.read_text(encoding="utf-8"))):
        heading = next(
            line for line in page.split("\n") if line.endswith("EWT dev, Stanford scheme (converted)")
        )
        [row] = (row for row in table_below(page, heading).rows if row[0] == "dobj")
        assert table.cell("dobj", "gain") == row[5]
    assert measured("minilm/EWT, Stanford").current
    assert measured_of(minilm, "negation") is None  # it was not tuned
    assert measured_of(load_encoder("minilm-random"), "EWT, Stanford") is None


def test_the_ledger_counts_verdicts_by_lesson_and_model():
    def rows(*verdicts):
        return [{"lesson": lesson, "verdict": verdict} for lesson, verdict in verdicts]

    ours = rows(("01", "holds"), ("01", "does not hold"), ("02", "cannot be decided here"))
    made = tool.ledger_table({"A": ours, "B": rows(("01", "holds"), ("01", "holds"), ("02", "holds"))})
    assert made.split("\n")[2:] == [
        "| 01 | 2 | 1 / 1 / 0 | 2 / 0 / 0 |",
        "| 02 | 1 | 0 / 0 / 1 | 1 / 0 / 0 |",
        "| all | 3 | 1 / 1 / 1 | 3 / 0 / 0 |",
    ]


def test_a_wrong_call_says_how(capsys):
    assert tool.main([]) == 2 and "FOLDER holds a folder for each command" in capsys.readouterr().err
    with pytest.raises(StopIteration):
        tool.chapter_of("### no chapter", "### no chapter")
