"""Claims as they are written down: one TOML file a lesson, one table a claim.

    source = "Clark et al. 2019"            # of every claim that says nothing else; the same for section, evidence, exactness
    evidence = "surface"

    [sep]
    sentence = "Over half to [SEP]"
    published = "{layers[sep].max:.3f}, layer {layers[sep].highest}"     # see published_fields.py
    exactness = "V"
    measured = "highest layer mean"
    statistic = ["best_layer", "sep"]       # see statistics.py: read, never run
    above = 0.5                             # the line; or below

A claim that nothing here measures says why in ``not_measured``, in place of ``measured``, ``statistic`` and line. A guess in the pattern language
says its ``pattern``, in place of ``measured``, ``statistic`` and ``evidence``. All other fields are those of `bertlook_course.claims.Claim`.
"""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Mapping

from .claim import Claim
from .published_fields import FilledText
from .statistics import find_statistic

WORDS = (
    "sentence",
    "source",
    "section",
    "published",
    "original",
    "exactness",
    "evidence",
    "refuted_if",
    "erratum",
)
WORDS += ("title", "remark", "registered", "measured", "not_measured", "pattern", "null", "sink")
FIELDS = dict.fromkeys(WORDS, str) | {"number": int, "statistic": list, "above": float, "below": float}
FIELDS["control"] = bool
DEFAULTS = ("source", "section", "evidence", "exactness")

_ONE_OF = ("measured", "not_measured", "pattern")


def read_claims(text: str, lesson: str, collectors: Mapping[str, Callable]) -> tuple[Claim, ...]:
    """The claims of one lesson, in the order in which they are written down.

    Parameters
    ----------
    text : str
        TOML.
    lesson : str
        Two digits, put before each key.
    collectors : dict of evidence -> collector

    Raises
    ------
    ValueError
        If the text is no TOML, or a claim lacks a field, has an unknown one, one of another kind, or names a statistic or evidence that
        is not there; the message names the claim.
    """
    try:
        tables = tomllib.loads(text)
    except tomllib.TOMLDecodeError as reason:
        raise ValueError(f"the claims of lesson {lesson} are not valid TOML: {reason}.") from None
    defaults = {name: value for name, value in tables.items() if not isinstance(value, dict)}
    if unknown := set(defaults) - set(DEFAULTS):
        raise ValueError(
            f"lesson {lesson}: what stands before the first claim is the default of {', '.join(DEFAULTS)}; got {', '.join(sorted(unknown))}."
        )
    claims = []
    for name, fields in tables.items():
        if name not in defaults:
            key = f"{lesson}-{name}"
            try:
                _check(fields)
                claims.append(_claim(key, defaults | fields, collectors))
            except ValueError as reason:
                said = str(reason)
                raise ValueError(said if said.startswith("claim ") else f"claim {key!r}: {said}") from None
    return tuple(claims)


def _check(fields: Mapping) -> None:
    for name, value in fields.items():
        kind = FIELDS.get(name)
        if kind is None:
            raise ValueError(f"a claim has no field {name!r}; it has {', '.join(FIELDS)}.")
        if not isinstance(value, kind) and not (kind is float and type(value) is int):
            raise ValueError(f"{name} must be {kind.__name__}; got {value!r}.")
    given = [name for name in _ONE_OF if name in fields]
    if len(given) != 1:
        raise ValueError(f"it says one of {', '.join(_ONE_OF)}; got {' and '.join(given) or 'none'}.")
    lines = [name for name in ("above", "below") if name in fields]
    if len(lines) != (given != ["not_measured"]):
        raise ValueError(
            f"it has one line, above or below, unless nothing measures it; got {' and '.join(lines) or 'none'}."
        )
    if given == ["pattern"] and lines != ["above"]:
        raise ValueError("a head follows a pattern by more than a line: above, and not below.")
    if ("statistic" in fields) != (given == ["measured"]):
        raise ValueError("a statistic goes with what is measured, and with that alone.")


def _claim(key: str, fields: dict, collectors: Mapping[str, Callable]) -> Claim:
    fields = {"sentence": "", "source": "", "evidence": ""} | fields  # whose absence `Claim` names
    fields |= {
        name: FilledText(fields[name]) for name in ("published", "original") if "{" in fields.get(name, "")
    }
    below = "below" in fields
    line = fields.pop("below", None) if below else fields.pop("above", 0.0)
    if "pattern" in fields:
        from ..analyses.patterns import parse_pattern
        from .from_patterns import claim_of

        fields.pop("evidence")
        return claim_of(parse_pattern(fields.pop("pattern")), key=key, threshold=line, **fields)
    evidence = fields["evidence"]
    named = fields.pop("statistic", None)
    null = fields.pop("null", None)
    if named is not None and evidence not in collectors:
        raise ValueError(f"no collector of evidence {evidence!r}; there is: {', '.join(sorted(collectors))}.")
    if named == []:
        raise ValueError("a statistic is a list of its name and what it takes; got an empty one.")
    return Claim(
        key=key,
        operational=fields.pop("measured", None) or fields.pop("not_measured"),
        statistic=None if named is None else find_statistic(named[0], named[1:], negative=below),
        threshold=-line if below else line,
        below=below,
        null=find_statistic(null) if null else None,
        collect=collectors.get(evidence),
        **fields,
    )
