"""Do heads find the cue of a negation, before and after tuning on scopes, beside tuning on something else?"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from bertlook_teach.model import head_label

from ...corpora import NegationSentence, load_treebank
from ...storage import IN_PLACE, Report, Work, about, at_least, attributes, interval, tabulate
from ..finetuning import fine_tune_tagger
from .cues import (
    OFFSETS,
    best_head,
    listed_cue,
    most_pieces,
    offset_rule,
    random_cue,
    random_word,
    score_heads,
    score_rule,
)
from .scope_tuning import contrast, part_of_speech_task, tag_score, task_labels, tune

PARTS_OF_SPEECH = "parts of speech"


@at_least(seeds=1)
def report(
    encoder,
    sentences: Sequence[NegationSentence],
    *,
    twin=None,
    seeds: int = 3,
    epochs: int = 3,
    learning_rate: float | None = None,
    parts_of_speech: bool = False,
    save_models: bool = False,
    batch_size: int = 16,
    work: Work = IN_PLACE,
) -> Report:
    """Score every head of a model on looking from a negated word to its cue, before and after tuning.

    The model is tuned on negation scopes and on control tasks with several seeds, beside rules, another
    word as the cue, and the random twin.

    Parameters
    ----------
    encoder, twin : encoder
    sentences : list of NegationSentence
        Those of the split "train" are tuned and chosen on, those of "test" are scored.
    twin : encoder, optional
        The random twin of ``encoder``, tuned in the same way.
    seeds : int
        Train N times, with another seed each time.
    epochs : int
        At most N epochs.
    learning_rate : float, optional
        Step size of the training (default: 5e-5 for BERT-base, more for narrower models).
    parts_of_speech : bool
        Also tune on a second control: parts of speech of the shipped treebank.
    save_models : bool
        Save the tuned models, as negation-0, control-0, ...
    batch_size : int
    work : Work
        ``work.out`` is where tuned models are saved.

    Returns
    -------
    Report
        With two tables: ``negation``, a row for each way to answer, and ``negation-heads``, one for each head.

    Raises
    ------
    ValueError
        If there are no sentences of one of the splits, or models are to be saved and there is no folder for them.
    """
    halves = {split: [s for s in sentences if s.split == split] for split in ("train", "test")}
    if not all(halves.values()):
        raise ValueError(
            f"both halves are needed, split 'train' and 'test'; got {len(halves['train'])} and {len(halves['test'])} sentences."
        )
    if save_models and work.out is None:
        raise ValueError("save_models needs a folder; give work=Work(FOLDER).")
    test = halves["test"]
    options = {"epochs": epochs, "learning_rate": learning_rate, "batch_size": batch_size}
    tasks = ("negation", "control", *((PARTS_OF_SPEECH,) if parts_of_speech else ()))
    rows, heads, contrasts = list(_rules(halves, encoder)), [], {}
    for model in [encoder] if twin is None else [encoder, twin]:
        name = encoder.name if model is encoder else f"{encoder.name}, random twin"
        row, before = _scored(name, model, halves)
        rows += [row, _row(f"{name}, another word as the cue", random_cue(model, test))]
        runs: dict[str, list] = {task: [] for task in tasks}
        for task in tasks:
            for seed in range(seeds):
                work.say(f"{model.name}: {task}, seed {seed}")
                tagger = _tuned(model, task, halves["train"], seed=seed, progress=work.shows, **options)
                if save_models and model is encoder:
                    tagger.save(work.out / f"{task.replace(' ', '-')}-{seed}")
                row, after = _scored(f"{name}, tuned on {task}", tagger.encoder, halves, seed=seed)
                if task != PARTS_OF_SPEECH:
                    scored = tag_score(tagger.predict([s.words for s in test]), task_labels(task, test))
                    row |= {"tagging": scored.f1, "tagging_low": scored.low, "tagging_high": scored.high}
                rows.append(row)
                runs[task].append(after)
        contrasts[name] = {task: contrast(before, runs["negation"], runs[task]) for task in tasks[1:]}
        every = {f"{task} {seed}": scores for task in tasks for seed, scores in enumerate(runs[task])}
        heads += _heads(name, {"before": before, **every})
    said = {
        "n_train": len(halves["train"]),
        "n_test": rows[0]["n"],
        "epochs": epochs,
        "seeds": seeds,
        "protocol": "tuned and heads chosen on the train half, scored on the test half; 95 % bootstrap over sentences, which does not "
        "contain the difference between seeds",
        "contrasts": {
            name: {task: _plain(c) for task, c in found.items()} for name, found in contrasts.items()
        },
    }
    tables = {"negation": rows, "negation-heads": heads}
    return Report("\n".join([_format(rows), *_format_contrasts(contrasts)]), tables, about(encoder, said))


def _tuned(model, task: str, sentences: Sequence[NegationSentence], **options):
    if task != PARTS_OF_SPEECH:
        return tune(model, task, sentences=sentences, **options)
    words, labels = part_of_speech_task(load_treebank(), len(sentences))
    name = f"{task}, seed {options['seed']}"
    return fine_tune_tagger(model, words, labels, name=name, truncate=True, **options)


def _rules(halves: dict[str, list], encoder):
    """Rules that have read nothing; the offset chosen on train."""
    test = halves["test"]
    best = max(OFFSETS, key=lambda o: float(score_rule(offset_rule(o), halves["train"]).f1))
    yield _row("a random word (expected)", random_word(test))
    yield _row(f"the word at {best:+d}", score_rule(offset_rule(best), test))
    yield _row("the word of most pieces", score_rule(most_pieces(encoder), test))
    yield _row("the nearest listed cue", score_rule(listed_cue, test))


def _scored(name: str, model, halves: dict[str, list], seed: int | None = None) -> tuple[dict, object]:
    """The row of a model, with its best head, and the scores of its heads."""
    scores = score_heads(model, halves["test"])
    best = best_head(score_heads(model, halves["train"]), scores)
    found = {f"best_{key}": value for key, value in attributes(best, "f1 low high precision recall").items()}
    return _row(name, scores, seed) | {"best": best.label, **found}, scores


def _row(name: str, scores, seed: int | None = None) -> dict:
    value, low, high = scores.mean_interval() if scores.f1.ndim else scores.interval()
    later = "best best_f1 best_low best_high best_precision best_recall tagging tagging_low tagging_high"
    return {
        "answers": name,
        "seed": seed,
        **{key: float(np.mean(getattr(scores, key))) for key in ("precision", "recall")},
        "f1": value,
        "low": low,
        "high": high,
        "n": scores.n,
        **dict.fromkeys(later.split()),
    }


def _heads(name: str, tables: dict) -> list[dict]:
    shape = next(iter(tables.values())).f1.shape
    return [
        {"model": name, "head": head_label(layer, head)}
        | {f"f1 {key}": float(scores.f1[layer, head]) for key, scores in tables.items()}
        for layer in range(shape[0])
        for head in range(shape[1])
    ]


def _plain(c) -> dict:
    return {
        "before": c.before,
        "negation": list(c.negation),
        "control": list(c.control),
        "difference": c.difference,
        "p": c.p,
        "least p": c.least_p,
        "wilcoxon over heads": list(c.wilcoxon),
    }


def _format(rows: Sequence[dict]) -> str:
    in_parts = {"digits": 3, "factor": 1}
    best_f1 = interval("best", **in_parts)
    cells = {
        "answers": "answers",
        "seed": "seed",
        "F1, mean over heads [95 %]": interval(value="f1", **in_parts),
        "precision": "{precision:.3f}",
        "recall": "{recall:.3f}",
        "best head": "best",
        "F1 [95 %]": lambda row: best_f1(row | {"best": row["best_f1"]}),
        "tagging F1": interval("tagging", **in_parts),
        "n": "n",
    }
    return tabulate(rows, cells)


def _format_contrasts(contrasts: dict) -> list[str]:
    return [
        f"{name}: mean F1 after negation minus after {task} {c.difference:+.3f} over {len(c.negation)} seeds, p = {c.p:.3f} "
        f"(at best {c.least_p:.3f})."
        for name, found in contrasts.items()
        for task, c in found.items()
    ]
