"""The table of relations: for each the best head and the best offset, fairly chosen, beside the flattering number."""

from __future__ import annotations

from dataclasses import dataclass, field

from bertlook_teach.disk import Table
from bertlook_teach.model import head_label


# --- the table -----------------------------------------------------------------------------------------
@dataclass(frozen=True)
class Choice:
    """A head and the direction in which it is read."""

    layer: int
    head: int
    direction: int

    def __str__(self) -> str:
        return f"{head_label(self.layer, self.head)} {'d>g' if self.direction == 0 else 'g>d'}"


@dataclass(frozen=True, kw_only=True)
class RelationRow:
    """One relation. Accuracies are fractions; intervals are 95 % bootstrap intervals over documents (over sentences if there are fewer than 20).

    ``accuracy`` and ``baseline`` are fair: chosen on every second document, scored on the others, both ways, each
    case once. ``in_sample`` is the best of all heads on the very sentences it is scored on, as in the paper.
    ``p`` asks whether the in-sample best head's answers go with the relation's distances beyond the typical one; ``p_corrected``
    whether those of the best of all heads do, given that it is the best of so many. Neither says that a head knows syntax: of 200 relations asked
    of random twins 91 (46 %) had ``p_corrected`` below .05. A head that weighs all words nearly the same leans to those that were split into
    pieces, long words among them many governors: a cue to more than the distance. What a head knows beyond the input, the twin's column says.
    """

    relation: str
    n: int
    n_sentences: int
    accuracy: float
    low: float
    high: float
    choices: tuple[Choice, ...]
    baseline: float
    offsets: tuple[int, ...]
    gain: float
    gain_low: float
    gain_high: float
    in_sample: float
    in_sample_choice: Choice
    in_sample_baseline: float
    in_sample_offset: int
    p: float | None = None
    p_corrected: float | None = None
    twin: float | None = None
    twin_low: float | None = None
    twin_high: float | None = None
    twin_in_sample: float | None = None

    @property
    def head(self) -> str:
        """The chosen head or heads, as printed: "4-2 d>g", or two of them if the halves chose differently."""
        return " / ".join(dict.fromkeys(map(str, self.choices)))

    @property
    def offset(self) -> str:
        return " / ".join(dict.fromkeys(f"{offset:+d}" for offset in self.offsets))


@dataclass(frozen=True, eq=False)
class RelationTable(Table):
    """Rows by falling number of cases, and what the table is about.

    ``too_rare`` counts the cases of relations that are too rare for a row.
    """

    rows: list[RelationRow]
    about: dict
    too_rare: dict[str, int] = field(default_factory=dict)

    def __getitem__(self, relation: str) -> RelationRow:
        for row in self.rows:
            if row.relation == relation:
                return row
        known = ", ".join(row.relation for row in self.rows)
        cases = self.too_rare.get(relation, 0)
        why = f"it has {cases} cases, too few" if cases else "it never occurs"
        raise KeyError(f"there is no row for {relation!r}: {why}. Rows: {known}.")

    def __contains__(self, relation: str) -> bool:
        return any(row.relation == relation for row in self.rows)

    def __repr__(self) -> str:
        return (
            f"RelationTable({self.about.get('model', '?')}, {self.about.get('scheme')}: {len(self.rows)} rows, "
            f"{self.about.get('n_sentences')} sentences)"
        )
