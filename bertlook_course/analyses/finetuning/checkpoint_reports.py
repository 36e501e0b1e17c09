"""What changed in every head between two checkpoints, beside two models that share nothing."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from bertlook_teach import __version__

from ...storage import IN_PLACE, Report, Work, interval, tabulate
from .checkpoints import CheckpointComparison, compare_checkpoints


def report_checkpoints(
    before,
    after,
    texts: Sequence,
    *,
    twin=None,
    matching: bool = True,
    truncate: bool = False,
    batch_size: int = 8,
    work: Work = IN_PLACE,
) -> Report:
    """Compare every head of two checkpoints on the same texts.

    Reports cosine and Jensen-Shannon divergence of the maps with intervals, the curves of what heads look at,
    and whether the best pairing of heads pairs each with itself. The first checkpoint is also compared with
    its random twin, to show what two models give that share nothing.

    Parameters
    ----------
    before, after, twin : encoder or Recording
        Of one shape and vocabulary.
    texts : list of str or of pairs of str
    matching : bool
        Pairing the heads, which takes memory for large models and many texts.
    truncate : bool
        Cut inputs that are too long.
    batch_size, work
        As of every report; see `bertlook_course.storage.Report`.

    Returns
    -------
    Report
        With two tables: ``compare``, a row for each head, and ``compare-layers``, one for each layer.

    Raises
    ------
    ValueError
        If there are fewer than two texts, or the checkpoints cannot be compared.
    """
    if len(texts) < 2:
        raise ValueError(f"a comparison with intervals needs at least two texts; got {len(texts)}.")
    compare = partial(
        compare_checkpoints,
        before,
        texts=texts,
        matching=matching,
        truncate=truncate,
        batch_size=batch_size,
        progress=work.bar("texts", total=len(texts)),
    )
    found = compare(after)
    others = {} if twin is None else {"random twin": compare(twin)}
    late = found.late_minus_early() if found.shape[0] > 1 else None
    said = {
        "before": before.name,
        "after": after.name,
        "fingerprints": [found.about["before"], found.about["after"]],
        "n": found.n_texts,
        "mean cosine": round(float(found.cosine.mean()), 6),
        "floor: cosine with the other heads of the layer": round(float(found.floor.mean()), 6),
        "mean divergence, nats": round(float(found.js.mean()), 6),
        "last third of the layers minus first, nats": late and [round(value, 6) for value in late],
        "protocol": "maps cropped to the texts' own tokens, special tokens in; every text weighs the same; 95 % bootstrap over texts",
        "version": __version__,
    }
    means = (
        f"mean cosine {found.cosine.mean():.3f} (with the other heads of the layer {found.floor.mean():.3f}), "
        f"divergence {found.js.mean():.4f} nats."
    )
    text = [f"{before.name} -> {after.name}, {found.n_texts} texts: {means}", _format_layers(found)]
    if late is not None:
        value, low, high = late
        text.append(
            f"Divergence of the last third of the layers minus that of the first: {value:+.4f} [{low:+.4f}, {high:+.4f}] nats."
        )
    for name, comparison in {after.name: found, **others}.items():
        told, said[f"against {name}"] = _against(name, comparison)
        text.append(told)
    if found.cross is not None:
        text.append("Pairing at random keeps one head on average.")
    tables = {"compare": found.heads(), "compare-layers": found.layers()}
    return Report("\n".join(text), tables, said)


def _format_layers(found: CheckpointComparison) -> str:
    cells = {
        "layer": "layer",
        "cosine [95 %]": interval("cosine", digits=3, factor=1),
        "floor": "{floor:.3f}",
        "divergence [95 %]": interval("js", digits=4, factor=1),
        "[SEP] before": "{sep_before:.3f}",
        "after": "{sep_after:.3f}",
        "change [95 %]": interval("sep_change", digits=3, factor=1, sign="+"),
    }
    return tabulate(found.layers(), cells)


def _against(name: str, comparison: CheckpointComparison) -> tuple[str, dict]:
    """How far one other model is, in a line and as plain values; with how heads pair off where that was compared."""
    line = f"{name}: divergence {comparison.js.mean():.4f} nats"
    said = {"mean divergence, nats": round(float(comparison.js.mean()), 6)}
    if comparison.cross is not None:
        pairs = comparison.matching()
        said |= {"heads paired with themselves": pairs.kept, "low": pairs.low, "high": pairs.high}
        said["of"] = pairs.n_heads
        line += f"; {pairs.kept} of {pairs.n_heads} heads are paired with themselves [{pairs.low:g}, {pairs.high:g}]"
    return f"{line}.", said
