"""Write the verdicts on recorded attention of BERT-base into docs/results.md, from data/bert_base/measured and the ledger.

    python tools/recorded_verdicts.py            write them between their marks
    python tools/recorded_verdicts.py --check    write nothing, exit 1 if the page says something else

The recording itself is not here, so its numbers stay as they are; the claims they decide, and their wording, may change.
"""

from __future__ import annotations

import csv
import re
import sys
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))  # so that a plain checkout works too

from bertlook_course.claims import FAILS, HOLDS, OPEN, VERDICT_RULE, ledger
from bertlook_course.render import needs_text
from bertlook_course.storage import with_interval
from bertlook_teach.disk import data_path
from tools.written import write_or_check

PAGE = ROOT / "docs" / "results.md"
MARKS = (
    "<!-- verdicts on BERT-base: written by tools/recorded_verdicts.py -->",
    "<!-- end of verdicts on BERT-base -->",
)


def measured(name: str) -> list[dict]:
    with open(data_path("bert_base", "measured", f"{name}.csv"), newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def quantity(claim, row: dict, names: str = "value low high") -> str:
    """A statistic of the ledger with its interval, as the quantity that the claim is about."""
    value, low, high = (claim.quantity(float(row[name])) for name in names.split())
    low, high = sorted((low, high))
    text = with_interval(value, low, high, digits=2, factor=1)
    return re.sub(
        r"-(0\.0+)(?!\d)", r"\1", text
    )  # "-0.00" would make a reader look for a minus that is not there


def verdicts() -> str:
    """How many claims hold, do not hold and stay open, and a row for each."""
    claims = {claim.key: claim for claim in ledger()}
    rows = measured("verdicts")
    counts = Counter(row["verdict"] for row in rows)
    lines = [
        [
            row["key"],
            claims[row["key"]].sentence,
            needs_text(claims[row["key"]]),
            quantity(claims[row["key"]], row),
            quantity(claims[row["key"]], row, "twin twin_low twin_high")
            if claims[row["key"]].control
            else "—",
            row["verdict"],
        ]
        for row in rows
    ]
    said = (
        f"Of {len(rows)} claims {counts[HOLDS]} hold, {counts[FAILS]} do not hold, and {counts[OPEN]} cannot be decided here. The other "
        f"{len(claims) - len(rows)} claims of the ledger ask for more than attention on single sentences gives. {VERDICT_RULE} —: no control by the twin."
    )
    header = ["claim", "sentence", "needs", "value", "random twin", "verdict"]
    cells = [header, ["---"] * len(header), *lines]
    return f"{said}\n\n" + "\n".join("| " + " | ".join(row) + " |" for row in cells)


def page_with(page: str, tables: str) -> str:
    before, rest = page.split(MARKS[0])
    return f"{before}{MARKS[0]}\n{tables}\n{MARKS[1]}{rest.split(MARKS[1])[1]}"


def main(argv=None) -> int:
    def make() -> str:
        return page_with(PAGE.read_text(encoding="utf-8"), verdicts())

    return write_or_check(argv, __doc__, PAGE, make, "docs/results.md says something else.")


if __name__ == "__main__":
    raise SystemExit(main())
