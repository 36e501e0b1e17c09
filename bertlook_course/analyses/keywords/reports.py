"""Which heads give key words more, what all heads say together, beside rules, the random twin and fine-tuning."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from ...corpora import KeyphraseDocument
from ...metrics import rank_correlation
from ...storage import IN_PLACE, Report, Work, about, align, at_least, attributes, interval, tabulate
from ..ablation import random_removal, removal_curve, remove_one, worst_first
from .comparison import RULES_TOGETHER, compare, head_table, without_heads
from .key_tagger import EPOCHS, fine_tune_key_tagger
from .models import judge
from .rules import RULES
from .scores import KeywordData, auc_by_text, read_keywords, slides_score

TUNED = "fine-tuned tagger"

RULE_ROWS = (*RULES, RULES_TOGETHER)


@at_least(epochs=1, random_orders=2, batch_size=1)
def report(
    encoder,
    documents: Sequence[KeyphraseDocument],
    *,
    twin=None,
    tune: bool = False,
    remove_tuned: bool = False,
    epochs: int = EPOCHS,
    random_orders: int = 5,
    seed: int = 0,
    batch_size: int = 8,
    work: Work = IN_PLACE,
) -> Report:
    """Do heads look at the words that a text is about?

    Scores each word by the attention it receives, head by head, fits regressions and a mix of all heads on
    one half of the texts, and reports AUC within a text, F1 and cross-entropy on the other half, with
    place, length, wordpieces, tf-idf, RAKE and the random twin beside them.

    Parameters
    ----------
    encoder, twin : encoder
    documents : list of KeyphraseDocument
    tune : bool
        Also fine-tune the model, and its twin, to tag key words.
    remove_tuned : bool
        With --tune: also remove heads of the tuned model (one pass for each head).
    epochs : int
        Epochs of the fine-tuning.
    random_orders : int
        Random orders in which heads are removed, beside the ranked ones.
    seed : int
        Seed of the fine-tuning and the random orders.
    batch_size, work
        As of every report; see `bertlook_course.storage.Report`.

    Returns
    -------
    Report
        With three tables: ``keywords``, a row for each score; ``heads``, one for each head; ``removal``, heads taken away step by step.

    Raises
    ------
    ValueError
        If heads of the tuned model are to be taken away and none is tuned.
    """
    if remove_tuned and not tune:
        raise ValueError("remove_tuned needs tune=True: there is no tuned model to take heads from.")
    rows, heads, curves, said, correlations = [], [], [], {}, {}
    for model in [encoder] if twin is None else [encoder, twin]:
        which = "model" if model is encoder else "random twin"
        progress = work.bar(model.name, total=len(documents))
        data = read_keywords(model, documents, batch_size=batch_size, progress=progress)
        found = compare(*data.halves())
        halves = (found.train, found.test)
        scores = [(name, found.score(name)) for name in found.answers]
        orders = {"n_orders": random_orders, "seed": seed, "work": work}
        removed = (without_heads(found.regression, half) for half in halves)
        curves += _curves(which, "regression, AUC", *removed, data, **orders)
        if tune:
            options = {"epochs": epochs, "seed": seed, "progress": work.shows}
            tagger = fine_tune_key_tagger(model, found.train, **options)
            log_odds, share = tagger.log_odds(found.test), found.train.share_key
            scores.append((TUNED, judge(TUNED, found.test, log_odds, tagger.cutoff, share)))
            if remove_tuned and model is encoder:
                removed = (tagger.f1_without(half) for half in halves)
                curves += _curves(which, "fine-tuned tagger, F1", *removed, data, **orders)
        for name, score in scores:
            if name not in RULE_ROWS:
                rows.append(_row(which, name, score))
            elif model is encoder:  # they ask no model
                rows.append(_row("no model", name, score))
        for column in ("mean", "max"):
            heads += [{"run": which} | row for row in head_table(*halves, column)]
        said = said or _said_of(data, found)
        correlations[which] = _slides(found)
    said["slides' score"] = correlations
    text = [
        f"{encoder.name}: {said['n_train']} texts to fit and choose on, {said['n_test']} to report on; {said['protocol']}.",
        _format_scores(rows),
        _format_curves(curves),
        *_lines(said),
    ]
    return Report(
        "\n".join(text), {"keywords": rows, "heads": heads, "removal": curves}, about(encoder, said)
    )


def _curves(
    which: str, what: str, on_train, on_test, data: KeywordData, *, n_orders: int, seed: int, work: Work
) -> list[dict]:
    """Ranked by what each head's absence costs on the texts to fit on, scored on the others."""
    heads = [divmod(i, data.n_heads) for i in range(data.n_layers * data.n_heads)]
    progress = work.bar(f"{which}, heads of the {what}", "it")
    ranked = worst_first(remove_one(on_train, heads), heads)
    found = [
        removal_curve(on_test, ranked),
        removal_curve(on_test, ranked[::-1], order="best first"),
        random_removal(on_test, heads, n_orders=n_orders, seed=seed, progress=progress),
    ]
    return [{"run": which, "score_of": what} | row for curve in found for row in curve.rows()]


def _row(which: str, name: str, score) -> dict:
    measures = "auc auc_low auc_high f1 f1_low f1_high loss prior n_words n_texts"
    return {"run": which, "score": name, "as": score.name, **attributes(score, measures)}


def _slides(found) -> dict[str, float | None]:
    """Rank correlations over heads of the slides' score with what it was taken for, on the texts that report."""
    test = found.test
    score, spread = (values.mean(axis=0) for values in slides_score(test))
    others = {
        "spread of the maxima": spread,
        "head entropy": test.entropy.mean(axis=0),
        "share to [SEP]": test.sep.mean(axis=0),
        "AUC, column max": auc_by_text(test, test.scores["max"]).mean(axis=0),
    }
    return {name: _rho(score, other) for name, other in others.items()}


def _rho(one, other) -> float | None:
    try:
        return round(rank_correlation(one.ravel(), other.ravel()), 3)
    except ValueError:  # all heads alike
        return None


def _said_of(data: KeywordData, found) -> dict:
    return {
        "n_train": found.train.n_texts,
        "n_test": found.test.n_texts,
        "n_words": len(data.words),
        "share of key words": round(data.share_key, 4),
        "texts left out": dict(Counter(reason for _, reason in data.skipped)),
        "texts cut": data.n_cut,
        "phrases not in what was read": data.n_missing,
        "protocol": "AUC within a text, mean over texts; F1 over all words, cut-off chosen on the other half; 95 % bootstrap over texts",
    }


def _format_curves(curves) -> str:
    orders = list(dict.fromkeys((row["run"], row["score_of"], row["order"]) for row in curves))
    found = [[row for row in curves if (row["run"], row["score_of"], row["order"]) == key] for key in orders]
    shown = range(0, len(found[0]), 3)
    lines = [["heads away", *(f"{found[0][i]['share_off']:.0%}" for i in shown)]]
    for key, rows in zip(orders, found):
        lines.append([", ".join(key), *(f"{100 * rows[i]['score']:.1f}" for i in shown)])
    return align(lines)


def _lines(said: dict) -> list[str]:
    lines = [
        f"rank correlation over heads of the slides' score ({which}): "
        + ", ".join(
            f"{name} {'-' if value is None else format(value, '+.2f')}" for name, value in found.items()
        )
        for which, found in said["slides' score"].items()
    ]
    if said["texts cut"]:
        lines.append(
            f"{said['texts cut']} texts are longer than the model reads, and were read from their beginning"
        )
    if n := sum(said["texts left out"].values()):
        lines.append(f"{n} texts were left out: nothing can be decided on them ({said['texts left out']})")
    return lines


def _format_scores(rows: Sequence[dict]) -> str:
    return tabulate(
        rows,
        {
            "run": "run",
            "score": "as",
            "AUC [95 %]": interval("auc"),
            "F1 [95 %]": interval("f1"),
            "nats a word": "{loss:.4f}",
            "prior": "{prior:.4f}",
        },
    )
