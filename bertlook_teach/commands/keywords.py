"""``bertlook keywords``: which heads give key words more, what all heads say together, beside rules, a random twin and fine-tuning."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from collections import Counter
from pathlib import Path

from ..analyses.ablation import random_removal, removal_curve, remove_one, worst_first
from ..analyses.keywords import RULES, KeywordData, auc_by_text, judge, read_keywords, slides_score
from ..analyses.keywords import comparison as keyword_comparison
from ..analyses.keywords import key_tagger as key_tagging
from ..corpora import iter_keyphrases, load_keyphrases
from ..disk import align, claim_folder, save_rows, with_interval
from ..stats import rank_correlation
from . import common

TUNED = "fine-tuned tagger"

RULE_ROWS = (*RULES, keyword_comparison.RULES_TOGETHER)


def add_arguments(parser: ArgumentParser) -> None:
    """The options of ``bertlook keywords``."""
    common.describe(
        parser,
        "Do heads look at the words that a text is about? Scores each word by the attention it receives, head by head, fits regressions "
        "and a mix of all heads on one half of the texts, and reports AUC within a text, F1 and cross-entropy on the other half, with "
        "place, length, wordpieces, tf-idf, RAKE and the random twin beside them. Writes keywords.csv (one row for each score), heads.csv (one for "
        "each head), removal.csv (heads taken away step by step), each with a .json.",
        "keywords --data my.jsonl --tune --out result",
    )
    common.add_model(parser)
    common.add_data(parser, "JSON lines with id, text and keyphrases; .gz too (default: the shipped texts)")
    common.add_limit(parser, "texts of the file")
    common.add_out(parser)
    add = parser.add_argument
    add("--tune", action="store_true", help="also fine-tune the model, and its twin, to tag key words")
    remove = "with --tune: also take away heads of the tuned model (one pass a head)"
    add("--remove-tuned", action="store_true", help=remove)
    epochs = key_tagging.EPOCHS
    add("--epochs", type=int, default=epochs, metavar="N", help=f"of the fine-tuning (default: {epochs})")
    orders = "random orders of taking heads away, beside the ranked ones (default: 5)"
    add("--random-orders", type=int, default=5, metavar="N", help=orders)
    add("--seed", type=int, default=0, help="of the fine-tuning and the random orders (default: 0)")
    common.add_no_twin(parser)
    common.add_device(parser, batch_size=8)


def run(args: Namespace) -> int:
    """``bertlook keywords``: returns the exit code."""
    from ..model import load_encoder

    common.at_least(args, limit=4, epochs=1, random_orders=2, batch_size=1)
    if args.remove_tuned and not args.tune:
        raise ValueError("--remove-tuned needs --tune: there is no tuned model to take heads from.")
    folder = claim_folder(args.out)
    documents, skipped = _documents(args)
    encoder = load_encoder(args.model, device=args.device)
    rows, heads, curves = [], [], []
    about = {}
    for model in common.with_twin(args, encoder):
        which = "model" if model is encoder else "random twin"
        data = _read(model, documents, args)
        found = keyword_comparison.compare(*data.halves())
        scores = [(name, found.score(name)) for name in found.answers]
        if model is encoder:
            about = _about(args, encoder, data, found, skipped)
        curves += _curves(which, "regression, AUC", *_regression_scores(found), data, args)
        if args.tune:
            tagger, score = _tune(model, found, args)
            scores.append((TUNED, score))
            if args.remove_tuned and model is encoder:
                pair = (tagger.f1_without(half) for half in (found.train, found.test))
                curves += _curves(which, "fine-tuned tagger, F1", *pair, data, args)
        for name, score in scores:
            if name not in RULE_ROWS:
                rows.append(_row(which, name, score))
            elif model is encoder:  # they ask no model
                rows.append(_row("no model", name, score))
        for column in ("mean", "max"):
            table = keyword_comparison.head_table(found.train, found.test, column)
            heads += [{"run": which} | row for row in table]
        about.setdefault("slides' score", {})[which] = _slides(data, found)
    print(
        f"{encoder.name}: {about['n_train']} texts to fit and choose on, {about['n_test']} to report on; {about['protocol']}."
    )
    print(_format(rows))
    print(_format_curves(curves))
    print(_said(about))
    for name, table in (("keywords", rows), ("heads", heads), ("removal", curves)):
        print(save_rows(folder, name, table, about))
    return 0


def _documents(args):
    skipped: list = []
    if args.data:
        stream = iter_keyphrases(args.data, on_empty="skip", skipped=skipped)
    else:
        stream = iter(load_keyphrases())
    return common.first(stream, args.limit), skipped


def _read(model, documents, args) -> KeywordData:
    progress = common.bar(args, model.name, total=len(documents))
    return read_keywords(model, documents, batch_size=args.batch_size, progress=progress)


def _tune(model, found, args):
    tagger = key_tagging.fine_tune_key_tagger(
        model, found.train, epochs=args.epochs, seed=args.seed, progress=not args.quiet
    )
    test = found.test
    return tagger, judge(TUNED, test, tagger.log_odds(test), tagger.cutoff, found.train.share_key)


def _regression_scores(found):
    return (keyword_comparison.without_heads(found.regression, half) for half in (found.train, found.test))


def _curves(which: str, what: str, on_train, on_test, data: KeywordData, args) -> list[dict]:
    """Ranked by what each head's absence costs on the texts to fit on, scored on the others."""
    heads = [divmod(i, data.n_heads) for i in range(data.n_layers * data.n_heads)]
    progress = common.bar(args, f"{which}, heads of the {what}", "it")
    ranked = worst_first(remove_one(on_train, heads), heads)
    found = [
        removal_curve(on_test, ranked),
        removal_curve(on_test, ranked[::-1], order="best first"),
        random_removal(on_test, heads, n_orders=args.random_orders, seed=args.seed, progress=progress),
    ]
    return [{"run": which, "score_of": what} | row for curve in found for row in curve.rows()]


def _row(which: str, name: str, score) -> dict:
    measures = "auc auc_low auc_high f1 f1_low f1_high loss prior n_words n_texts"
    return {"run": which, "score": name, "as": score.name, **common.columns(score, measures)}


def _slides(data: KeywordData, found) -> dict[str, float | None]:
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


def _about(args, encoder, data: KeywordData, found, skipped) -> dict:
    left_out = Counter(reason for _, reason in data.skipped)
    items = {
        "data": Path(args.data).name if args.data else "the shipped texts",
        "n_train": found.train.n_texts,
        "n_test": found.test.n_texts,
        "n_words": len(data.words),
        "share of key words": round(data.share_key, 4),
        "texts without a phrase in the file": len(skipped),
        "texts left out": dict(left_out),
        "texts cut": data.n_cut,
        "phrases not in what was read": data.n_missing,
        "protocol": "AUC within a text, mean over texts; F1 over all words, cut-off chosen on the other half; 95 % bootstrap over texts",
    }
    return common.about(encoder, items)


def _format(rows) -> str:
    lines = [["run", "score", "AUC [95 %]", "F1 [95 %]", "nats a word", "prior"]]
    for row in rows:
        auc, f1 = (with_interval(row[m], row[f"{m}_low"], row[f"{m}_high"]) for m in ("auc", "f1"))
        lines.append([row["run"], row["as"], auc, f1, f"{row['loss']:.4f}", f"{row['prior']:.4f}"])
    return align(lines)


def _format_curves(curves) -> str:
    orders = list(dict.fromkeys((row["run"], row["score_of"], row["order"]) for row in curves))
    found = [[row for row in curves if (row["run"], row["score_of"], row["order"]) == key] for key in orders]
    shown = range(0, len(found[0]), 3)
    lines = [["heads away", *(f"{found[0][i]['share_off']:.0%}" for i in shown)]]
    for key, rows in zip(orders, found):
        lines.append([", ".join(key), *(f"{100 * rows[i]['score']:.1f}" for i in shown)])
    return align(lines)


def _said(about) -> str:
    parts = [
        f"rank correlation over heads of the slides' score ({which}): "
        + ", ".join(
            f"{name} {'-' if value is None else format(value, '+.2f')}" for name, value in found.items()
        )
        for which, found in about["slides' score"].items()
    ]
    if about["texts cut"]:
        parts.append(
            f"{about['texts cut']} texts are longer than the model reads, and were read from their beginning"
        )
    if n := about["texts without a phrase in the file"] + sum(about["texts left out"].values()):
        parts.append(
            f"{n} texts were left out: nothing can be decided on them ({about['texts left out'] or 'no phrase in the text'})"
        )
    return "\n".join(parts)
