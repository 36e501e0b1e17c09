"""What each layer knows: a probe for every layer, beside lists of words, the random twin and made-up labels."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import numpy as np

from ...corpora import TASKS, EdgeSentence
from ...storage import IN_PLACE, Report, Work, about, align, at_least, interval
from .depth_curves import Counts, LayerScores, MixScores
from .layer_baselines import control_labels, form_baseline, majority_baseline
from .layer_fits import MAX_ITERATIONS, TOLERANCE
from .layer_probes import cumulative_probes, layer_scores
from .states import read_states
from .vectors import SpanVectors, draw_cases, span_vectors


@at_least(max_cases=2, seeds=0, hidden=0, max_iterations=1)
def report_layers(
    encoder,
    train: Sequence[EdgeSentence],
    test: Sequence[EdgeSentence],
    task: str,
    *,
    twin=None,
    max_cases: int | None = None,
    hidden: int = 0,
    l2: float | None = None,
    mix: bool = False,
    max_iterations: int = MAX_ITERATIONS,
    seeds: int = 0,
    batch_size: int = 32,
    work: Work = IN_PLACE,
) -> Report:
    """At which layer can a label be read?

    Fits a probe to each layer alone, 0 being the embeddings, scores it on other documents, and names
    for each depth the best layer up to there, chosen on training documents. A list of words, the random
    twin and made-up labels stand beside it.

    Parameters
    ----------
    encoder, twin : encoder
    train, test : list of EdgeSentence
        Questions to fit on and to score, of different documents.
    task : str
        One of `bertlook_course.corpora.TASKS`.
    max_cases : int, optional
        Fit on at most N questions, drawn at random.
    hidden : int
        Units of a hidden layer (default: 0, a linear probe).
    l2 : float, optional
        Penalty on the probe's weights (default: chosen for each layer among the training documents).
    mix : bool
        Also fit the paper's mixes of the layers 0 to l, with expected layer and centre of gravity (takes several times as long).
    max_iterations : int
        Give a fit up after N iterations; it then says that it has not finished.
    seeds : int
        Further runs, each fitted on four fifths of the documents with the same penalties.
    batch_size, work
        As of every report; see `bertlook_course.storage.Report`.

    Returns
    -------
    Report
        With one table, ``layers``: a row for each probe. It is not ``finished`` where a fit has not converged.
    """

    def features(model) -> tuple[SpanVectors, SpanVectors]:
        read = partial(read_states, model, batch_size=batch_size, progress=work.bar(model.name, "sentence"))
        fit_on, score_on = (  # one after the other: the hidden states of a half are let go
            span_vectors(read(s.words for s in half), half, task) for half in (train, test)
        )
        return (fit_on if max_cases is None else draw_cases(fit_on, max_cases)), score_on

    def score(name: str, fit_on, score_on, fit=layer_scores, **more):
        progress = work.bar(name, "layer", total=fit_on.n_layers + 1)
        return fit(fit_on, score_on, progress=progress, hidden=hidden, max_iterations=max_iterations, **more)

    own = features(encoder)
    fit_on, score_on = own
    model = score("model", *own, l2=l2)
    scored = {"model": model}
    for seed in range(seeds):
        scored[f"seed {seed + 1}"] = score(f"seed {seed + 1}", *own, l2=model.l2, seed=seed)
    read = {"model": own}
    if twin is not None:
        read["random twin"] = features(twin)
        scored["random twin"] = score("random twin", *read["random twin"], l2=l2)
        scored["made-up labels"] = score("made-up labels", *control_labels(*own), l2=model.l2)
    mixes = {}
    for name in read if mix else ():
        of_best = float(scored[name].l2[scored[name].best[-1]])  # the penalty of the best layer
        mixes[f"mixes, {name}"] = score(f"mixes, {name}", *read[name], cumulative_probes, l2=of_best)
    rivals = {"commonest label": majority_baseline(*own), "list of words": form_baseline(*own)}
    rows = _table(scored, mixes, rivals, len(score_on))
    fitted = scored | mixes
    items = {
        **_about(task, fit_on, score_on, hidden),
        "converged": all(bool(scores.converged.all()) for scores in fitted.values()),
        "warnings": _warnings(fitted),
        "summary": {name: summarise(scores) for name, scores in scored.items()},
    }
    if mixes:
        items["mixes"] = {
            name.removeprefix("mixes, "): summarise_mix(scores) for name, scores in mixes.items()
        }
    text = _format(encoder, fit_on, score_on, items, _format_curve(rows, scored, rivals), mixes)
    return Report("\n".join(text), {"layers": rows}, about(encoder, items), finished=items["converged"])


def _about(task: str, fit_on: SpanVectors, score_on: SpanVectors, hidden: int) -> dict:
    """What was asked, of how many questions, and how."""
    return {
        "task": task,
        "asks": TASKS[task][2],
        "n_train": len(fit_on),
        "n_test": len(score_on),
        "n_skipped": fit_on.n_skipped + score_on.n_skipped,
        "probe": f"softmax regression on one layer, hidden {hidden}; a fit ends when its gradient is {TOLERANCE:g} of that at the start",
        "protocol": "fitted and scored on different documents; layer and penalty chosen on training documents; micro-F1; 95 % bootstrap over documents",
    }


def _format(encoder, fit_on, score_on, said: dict, curve: str, mixes: dict) -> list[str]:
    """The report's parts as text: what was asked, the scores, what they come to, the mixes, what was left out, warnings."""
    text = [
        f"{encoder.name}, {said['task']}: {len(fit_on)} questions to fit, {len(score_on)} to score; {said['protocol']}.",
        curve,
        _format_summary(said["summary"]),
    ]
    if mixes:
        text.append(_format_mixes(mixes, said["mixes"]))
    if said["n_skipped"]:
        text.append(
            f"{said['n_skipped']} sentences left out: the model cannot read them whole ({encoder.max_tokens} wordpieces at most)."
        )
    return [*text, *said["warnings"]]


def _warnings(fitted: dict) -> list[str]:
    """All that the model's own fits say, and of the others that they have not finished."""
    said = [(name, line) for name, scores in fitted.items() for line in scores.warnings()]
    return [f"{name}: {line}" for name, line in said if name == "model" or line.startswith("NOT FINISHED")]


def _table(scored: dict, mixes: dict, rivals: dict, n_test: int) -> list[dict]:
    rows = [row for name, scores in scored.items() for row in _rows(name, scores)]
    rows += [row for name, scores in mixes.items() for row in _mix_rows(name, scores)]
    return rows + [_rival(name, counts, n_test) for name, counts in rivals.items()]


def _rows(name: str, scores: LayerScores) -> list[dict]:
    keep = ("layer", "f1", "low", "high", "best so far", "f1 so far", "l2", "converged", "n")
    return [{"run": name, "mix": None, **{key: row[key] for key in keep}} for row in scores.rows()]


def _mix_rows(name: str, scores: MixScores) -> list[dict]:
    low, high = scores.interval(lambda curves: curves, within=(0, 1))
    columns = zip(scores.f1, low, high, scores.weights, scores.converged)
    return [
        {
            **_blank(name, scores.n_test),
            "layer": layer,
            "f1": float(f1),
            "low": float(bottom),
            "high": float(top),
            "mix": float(mix),
            "l2": scores.l2,
            "converged": bool(done),
        }
        for layer, (f1, bottom, top, mix, done) in enumerate(columns)
    ]


def _blank(name: str, n: int) -> dict:
    keys = ("run", "mix", "layer", "f1", "low", "high", "best so far", "f1 so far", "l2", "converged", "n")
    return dict.fromkeys(keys) | {"run": name, "n": n}


def _rival(name: str, counts: Counts, n: int) -> dict:
    low, high = counts.interval()
    return _blank(name, n) | {"f1": counts.f1, "low": low, "high": high}


def summarise(scores: LayerScores) -> dict[str, float | int | None]:
    """The embeddings, the best of all layers, its gain with an interval, and the expected layer where that gain is sure, else None."""
    curve = scores.so_far
    low, high = curve.gain_interval()
    values = {
        "embeddings": curve.f1[0],
        "best layer": int(scores.best[-1]),
        "stays best": scores.share_of_choice(),
        "F1": curve.f1[-1],
        "gain": curve.gain,
        "low": low,
        "high": high,
        "expected layer": curve.expected_layer,
    }
    if curve.sure:
        values |= dict(zip(("expected low", "expected high"), curve.interval()))
    return {name: None if np.isnan(value) else round(float(value), 4) for name, value in values.items()}


def summarise_mix(scores: MixScores) -> dict[str, float | None]:
    """The same of a mix, with the numbers that say "where"; None where the gain is not sure."""
    low, high = scores.gain_interval()
    values = {
        "F1": scores.f1[-1],
        "gain": scores.gain,
        "low": low,
        "high": high,
        "expected layer": scores.expected_layer,
        "K(Delta)": scores.delta_bits,
        "centre of gravity": scores.centre_of_gravity,
        "K(s)": scores.mixing_bits,
        "l2": scores.l2,
        "even": scores.even,
    }
    return {name: None if np.isnan(value) else round(float(value), 4) for name, value in values.items()}


def _format_curve(rows, scored, rivals) -> str:
    depths = range(next(iter(scored.values())).n_layers + 1)
    lines = [["layer alone", *map(str, depths)]]
    lines += [
        [name, *(f"{100 * scores.f1[layer]:.1f}" for layer in depths)] for name, scores in scored.items()
    ]
    found = {row["run"]: row for row in rows if row["layer"] is None}
    f1 = interval(value="f1")
    beside = [f"{name}: {f1(found[name])}" for name in rivals]
    return f"F1, per cent\n{align(lines)}\n{'; '.join(beside)}"


def _cell(value) -> str:
    return "-" if value is None else f"{value:.2f}"


def _gain(s) -> str:
    return f"{100 * s['gain']:+.1f} [{100 * s['low']:+.1f}, {100 * s['high']:+.1f}]"


def _format_summary(summary) -> str:
    lines = [["run", "best layer", "stays best", "adds to the embeddings [95 %]", "expected layer [95 %]"]]
    for name, s in summary.items():
        where = _cell(s["expected layer"])
        if s["expected layer"] is not None:
            where += f" [{_cell(s['expected low'])}, {_cell(s['expected high'])}]"
        stays = "-" if s["stays best"] is None else f"{100 * s['stays best']:.0f} %"
        lines.append([name, str(int(s["best layer"])), stays, _gain(s), where])
    return f"{align(lines)}\nStays best: in so many samples of the documents that chose it.\n-: no depth is named where the gain is not sure (its interval does not lie above 0)."


def _format_mixes(mixes, summary) -> str:
    lines = [
        ["mix of all layers", "F1", "adds [95 %]", "expected layer", "K(Delta)", "centre of gravity", "K(s)"]
    ]
    for name, s in summary.items():
        cells = (_cell(s[key]) for key in ("expected layer", "K(Delta)", "centre of gravity", "K(s)"))
        lines.append([name, f"{100 * s['F1']:.1f}", _gain(s), *cells])
    chosen = "; ".join(f"{name}: l2 {s.l2:g}, even {s.even:g}, {s.chosen_on}" for name, s in mixes.items())
    return f"{align(lines)}\nPenalties: {chosen}."
