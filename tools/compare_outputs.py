"""Whether two outputs of a cell say the same to a reader, and if not, which word, number or mark differs.

Processors differ in the last digit of a sum, and so do the numbers, coordinates and colours that come from it; a reader sees no
difference, a comparison of bytes sees nothing else. Here:

- words, punctuation, structure and whole numbers are the same, or it is a difference;
- a decimal number may be off by one in its last printed place, and so may a percentage (a whole number followed by ``%``);
- a picture has the same labels, marks and caption; a mark may lie elsewhere by less than is seen, and be of the next of 32 shades;
- ids may be others, if they are so throughout.

How much is allowed stands in `compare_texts.Tolerance` and nowhere else. The pytest plugin `nbval_compare` and `run_notebooks.py` ask here.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from compare_pictures import decoded, image_differences, json_differences, markup_differences
from compare_texts import ROUNDING, Tolerance, many_of, text_differences

WIDGET_VIEW = "application/vnd.jupyter.widget-view+json"  # names a living model, another one in each run
SHOWN = 8  # differences of one cell that are told; more help nobody


def differences(
    saved: Sequence[Mapping], fresh: Sequence[Mapping], tolerance: Tolerance = ROUNDING
) -> list[str]:
    """What a reader would find changed between the saved outputs of a cell and the fresh ones.

    Parameters
    ----------
    saved, fresh : sequence of dict
        Outputs as nbformat has them, streams joined. Metadata, execution counts, tracebacks and references to living widgets are
        not compared.
    tolerance : Tolerance

    Returns
    -------
    list of str
        A line each, at most `SHOWN` and one that counts the rest; empty when they say the same.
    """
    found: list[str] = []
    if len(saved) != len(fresh):
        found.append(
            f"{many_of(len(saved), 'output')} saved, {len(fresh)} now: {_kinds(saved)} / {_kinds(fresh)}"
        )
    for number, (old, new) in enumerate(zip(saved, fresh), start=1):
        where = f"output {number}, " if max(len(saved), len(fresh)) > 1 else ""
        found += [where + line for line in _output(old, new, tolerance)]
    if len(found) > SHOWN:
        found[SHOWN:] = [f"... and {len(found) - SHOWN} more differences"]
    return found


def same(saved: Mapping, fresh: Mapping, tolerance: Tolerance = ROUNDING) -> bool:
    """Whether one output says the same as another."""
    return not _output(saved, fresh, tolerance)


def _output(old: Mapping, new: Mapping, tolerance: Tolerance) -> list[str]:
    if _kind(old) != _kind(new):
        return [f"the kind of output: {_kind(old)} saved, {_kind(new)} now"]
    if "data" in old:
        found = []
        one, other = ({k: v for k, v in output["data"].items() if k != WIDGET_VIEW} for output in (old, new))
        for kind in sorted(one.keys() | other.keys()):
            if kind not in other:
                found.append(f"{kind} was saved and is missing now")
            elif kind not in one:
                found.append(f"{kind} was not saved and is there now")
            else:
                found += [f"{kind}: {line}" for line in _data(kind, one[kind], other[kind], tolerance)]
        return found
    return [
        f"{key}: {line}"
        for key in ("text", "ename", "evalue")
        if key in old or key in new
        for line in text_differences(_joined(old.get(key, "")), _joined(new.get(key, "")), tolerance)
    ]


def _data(kind: str, old: object, new: object, tolerance: Tolerance) -> list[str]:
    if kind.endswith("json"):
        return json_differences(old, new, tolerance)
    old, new = _joined(old), _joined(new)
    if kind in ("text/html", "image/svg+xml"):
        return markup_differences(old, new, tolerance)
    if kind.startswith("image/"):
        return image_differences(decoded(old), decoded(new), tolerance)
    return text_differences(old, new, tolerance)


def _kind(output: Mapping) -> str:
    return " ".join([output["output_type"], *([output["name"]] if output["output_type"] == "stream" else [])])


def _kinds(outputs: Sequence[Mapping]) -> str:
    return ", ".join(_kind(output) for output in outputs) or "none"


def _joined(text: object) -> str:
    return "".join(text) if isinstance(text, list) else str(text)
