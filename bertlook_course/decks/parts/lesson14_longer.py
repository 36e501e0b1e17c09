"""What ten rounds of tuning and five seeds say beside lesson 14's three rounds: read from docs/results.md."""

from __future__ import annotations

from ...published import measured
from ...render import Estimate


def layers_after_ten_rounds(named: bool = True) -> str:
    """Which layers negation moves more than the control does in the longer run: docs/results.md, "What else changed"."""
    whose = f"({measured('negation').whose}) " if named else ""
    return f"{whose}every layer more"


def ten_rounds(task: str) -> list[float]:
    """The mean F1 of all heads after ten rounds, per cent: mean, lowest and highest of five seeds."""
    return measured("negation").values(f"tuned on {'the ' * (task == 'control')}{task}", "mean")


def best_after_ten_rounds() -> tuple[str, float, float]:
    """The head that is best in most seeds after ten rounds of negation, its lowest F1 and the control's highest, per cent."""
    longer = measured("negation")
    (lowest, _), (_, highest) = (
        longer.values(f"tuned on {task}", "its F1") for task in ("negation", "the control")
    )
    return longer.head("tuned on negation", "best head"), lowest, highest


def longer_gaps() -> tuple[float, float, str]:
    """Negation minus control after ten rounds and five seeds, the same for the twin, and whose numbers these are."""
    longer = measured("negation: differences")
    return (
        longer.value("control", "difference").value,
        longer.value("control, random twin", "difference").value,
        longer.whose,
    )


def least_p(minus: str = "control") -> Estimate:
    """The p over seeds of that difference."""
    return Estimate(measured("negation: differences").value(minus, "p over").value, short=True)


def twin_too() -> bool:
    """Whether the twin, too, is ahead of its control in every seed: its p is the least that there can be, that of the model as well."""
    _, twin, _ = longer_gaps()
    return twin > 0 and least_p("control, random twin") == least_p()


def twins_best() -> float:
    """The highest F1 of the twin's best head after ten rounds of negation, per cent."""
    return measured("negation").values("twin tuned on negation", "its F1")[1]
