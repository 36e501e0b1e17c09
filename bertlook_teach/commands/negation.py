"""``bertlook negation``: do heads find the cue of a negation, before and after tuning on scopes, beside tuning on something else?"""

from __future__ import annotations

import sys
from argparse import ArgumentParser, Namespace
from pathlib import Path

from ..disk import align, claim_folder, save_rows, with_interval
from . import common

PARTS_OF_SPEECH = "parts of speech"


def add_arguments(parser: ArgumentParser) -> None:
    """The options of ``bertlook negation``."""
    common.describe(
        parser,
        "Scores every head of a model for looking from a negated word to its cue, tunes the model on negation scopes and on control "
        "tasks with several seeds, and scores it again, beside rules, another word as the cue, and the random twin. Writes "
        "negation.csv, negation.json and negation-heads.csv; with --save-models also the tuned checkpoints, for bertlook compare.",
        "negation --seeds 5 --save-models --out result",
    )
    common.add_model(parser)
    common.add_data(parser, "JSONL with words, negations and split (default: the shipped sentences)")
    common.add_out(parser)
    common.add_training(parser, epochs=3)
    control = "a second control: parts of speech of the shipped treebank"
    parser.add_argument("--parts-of-speech", action="store_true", help=control)
    common.add_no_twin(parser)
    save = "save the tuned models, as negation-0, control-0, ..."
    parser.add_argument("--save-models", action="store_true", help=save)
    common.add_device(parser, batch_size=16)


def run(args: Namespace) -> int:
    """``bertlook negation``: returns the exit code."""
    from ..analyses.negation import cues as negation
    from ..analyses.negation import scope_tuning
    from ..model import load_encoder

    common.at_least(args, seeds=1)
    halves = _halves(args.data)
    folder = claim_folder(args.out)
    encoder = load_encoder(args.model, device=args.device)
    rows = list(_rules(halves, encoder))
    heads, summaries = [], {}
    for model in common.with_twin(args, encoder):
        name = encoder.name if model is encoder else f"{encoder.name}, random twin"
        scored = _scored(name, model, halves)
        rows.append(scored["row"])
        rows.append(_row(f"{name}, another word as the cue", negation.random_cue(model, halves["test"])))
        tables = {"before": scored["scores"]}
        runs: dict[str, list] = {}
        for task in _tasks(args):
            for seed in range(args.seeds):
                tagger = _tune(args, model, task, seed, halves["train"])
                if args.save_models and model is encoder:
                    tagger.save(folder / f"{task.replace(' ', '-')}-{seed}")
                after = _scored(f"{name}, tuned on {task}", tagger.encoder, halves, seed=seed)
                if task != PARTS_OF_SPEECH:
                    gold = scope_tuning.task_labels(task, halves["test"])
                    told = scope_tuning.tag_score(tagger.predict([s.words for s in halves["test"]]), gold)
                    after["row"] |= {"tagging": told.f1, "tagging_low": told.low, "tagging_high": told.high}
                rows.append(after["row"])
                runs.setdefault(task, []).append(after["scores"])
                tables[f"{task} {seed}"] = after["scores"]
        summaries[name] = {
            task: scope_tuning.contrast(scored["scores"], runs["negation"], runs[task])
            for task in runs
            if task != "negation"
        }
        heads += _heads(name, tables)
    items = {
        "n_train": len(halves["train"]),
        "n_test": rows[0]["n"],
        "epochs": args.epochs,
        "seeds": args.seeds,
        "protocol": "tuned and heads chosen on the train half, scored on the test half; 95 % bootstrap over sentences, which does not "
        "contain the difference between seeds",
        "contrasts": {
            name: {task: _plain(c) for task, c in found.items()} for name, found in summaries.items()
        },
    }
    about = common.about(encoder, items)
    print(_format(rows))
    for name, found in summaries.items():
        for task, c in found.items():
            print(
                f"{name}: mean F1 after negation minus after {task} {c.difference:+.3f} over {len(c.negation)} seeds, p = {c.p:.3f} "
                f"(at best {c.least_p:.3f})."
            )
    print(save_rows(folder, "negation", rows, about))
    print(save_rows(folder, "negation-heads", heads, about))
    return 0


def _halves(path: str | None) -> dict[str, list]:
    from ..corpora import load_negation, read_negation

    sentences = read_negation(Path(path)) if path else load_negation()
    halves = {split: [s for s in sentences if s.split == split] for split in ("train", "test")}
    if not all(halves.values()):
        raise ValueError(
            f"both halves are needed, split 'train' and 'test'; got {len(halves['train'])} and {len(halves['test'])} sentences."
        )
    return halves


def _tasks(args: Namespace) -> tuple[str, ...]:
    return ("negation", "control", *((PARTS_OF_SPEECH,) if args.parts_of_speech else ()))


def _tune(args: Namespace, model, task: str, seed: int, sentences):
    from ..analyses.finetuning import fine_tune_tagger
    from ..analyses.negation import part_of_speech_task, tune
    from ..corpora import load_treebank

    options = {"seed": seed, **common.training(args)}
    if not args.quiet:
        print(f"{model.name}: {task}, seed {seed}", file=sys.stderr)
    if task == PARTS_OF_SPEECH:
        words, labels = part_of_speech_task(load_treebank(), len(sentences))
        return fine_tune_tagger(model, words, labels, name=f"{task}, seed {seed}", truncate=True, **options)
    return tune(model, task, sentences=sentences, **options)


def _rules(halves: dict[str, list], encoder):
    """Rules that have read nothing; the offset chosen on train."""
    from ..analyses.negation import cues as negation

    test = halves["test"]
    best = max(
        negation.OFFSETS,
        key=lambda o: float(negation.score_rule(negation.offset_rule(o), halves["train"]).f1),
    )
    yield _row("a random word (expected)", negation.random_word(test))
    yield _row(f"the word at {best:+d}", negation.score_rule(negation.offset_rule(best), test))
    yield _row("the word of most pieces", negation.score_rule(negation.most_pieces(encoder), test))
    yield _row("the nearest listed cue", negation.score_rule(negation.listed_cue, test))


def _scored(name: str, model, halves: dict[str, list], seed: int | None = None) -> dict:
    from ..analyses.negation import cues as negation

    scores = negation.score_heads(model, halves["test"])
    best = negation.best_head(negation.score_heads(model, halves["train"]), scores)
    found = {
        f"best_{key}": value for key, value in common.columns(best, "f1 low high precision recall").items()
    }
    return {"row": _row(name, scores, seed) | {"best": best.label, **found}, "scores": scores}


def _row(name: str, scores, seed: int | None = None) -> dict:
    import numpy as np

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
    from ..model import head_label

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


def _format(rows: list[dict]) -> str:
    header = [
        "answers",
        "seed",
        "F1, mean over heads [95 %]",
        "precision",
        "recall",
        "best head",
        "F1 [95 %]",
        "tagging F1",
        "n",
    ]

    def cell(row, value, low, high) -> str:
        return (
            "" if row[value] is None else with_interval(row[value], row[low], row[high], digits=3, factor=1)
        )

    lines = [
        [
            row["answers"],
            row["seed"],
            cell(row, "f1", "low", "high"),
            f"{row['precision']:.3f}",
            f"{row['recall']:.3f}",
            row["best"],
            cell(row, "best_f1", "best_low", "best_high"),
            cell(row, "tagging", "tagging_low", "tagging_high"),
            row["n"],
        ]
        for row in rows
    ]
    return align([header, *lines])
