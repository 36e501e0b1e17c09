"""``bertlook negation``: do heads find the cue of a negation, before and after tuning on scopes, beside tuning on something else?"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from . import __version__
from .profile import writable_folder
from .report import align, save_rows

__all__ = ["add_arguments", "run"]

PARTS_OF_SPEECH = "parts of speech"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of ``bertlook negation``."""
    parser.description = (
        "Scores every head of a model for looking from a negated word to its cue, tunes the model on negation scopes and on control "
        "tasks with several seeds, and scores it again, beside rules, another word as the cue, and the random twin. Writes "
        "negation.csv, negation.json and negation-heads.csv; with --keep also the tuned checkpoints, for bertlook compare."
    )
    add = parser.add_argument
    add("--model", default="specimen", help="specimen, a hub name or a folder (default: specimen)")
    add(
        "--sentences",
        metavar="FILE",
        help="JSONL with words, negations and split (default: the shipped sentences)",
    )
    add("--out", metavar="DIR", required=True, help="folder for the result")
    add("--seeds", type=int, default=3, metavar="N", help="how often to tune on each task (default: 3)")
    add("--epochs", type=int, default=3, metavar="N", help="(default: 3)")
    add(
        "--learning-rate",
        type=float,
        metavar="X",
        help="(default: 5e-5 for BERT-base, more for narrower models)",
    )
    add("--batch-size", type=int, default=16, metavar="N")
    add(
        "--parts-of-speech",
        action="store_true",
        help="a second control: parts of speech of the shipped treebank",
    )
    add("--no-twin", action="store_true", help="leave out the random twin")
    add("--keep", action="store_true", help="save the tuned checkpoints, as negation-0, control-0, ...")
    add("--device", default="auto", help="auto, cpu, cuda, mps (default: auto)")
    add("--quiet", action="store_true", help="no progress bar")


def run(args: argparse.Namespace) -> int:
    """``bertlook negation``: returns the exit code."""
    from . import negation, scope_tuning
    from .encoder import load_encoder, random_twin

    if args.seeds < 1:
        raise ValueError(f"--seeds is 1 or more; got {args.seeds}.")
    halves = _halves(args.sentences)
    folder = writable_folder(args.out)
    encoder = load_encoder(args.model, device=args.device)
    models = {encoder.name: encoder}
    if not args.no_twin:
        models[f"{encoder.name}, random twin"] = random_twin(encoder)
    rows = list(_rules(halves, encoder))
    heads, summaries = [], {}
    for name, model in models.items():
        scored = _scored(name, model, halves)
        rows.append(scored["row"])
        rows.append(_row(f"{name}, another word as the cue", negation.random_cue(model, halves["test"])))
        tables = {"before": scored["scores"]}
        runs: dict[str, list] = {}
        for task in _tasks(args):
            for seed in range(args.seeds):
                tagger = _tune(args, model, task, seed, halves["train"])
                if args.keep and model is encoder:
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
    about = {
        "model": encoder.name,
        "fingerprint": encoder.fingerprint,
        "n_train": len(halves["train"]),
        "n_test": rows[0]["n"],
        "epochs": args.epochs,
        "seeds": args.seeds,
        "protocol": "tuned and heads chosen on the train half, scored on the test half; 95 % bootstrap over sentences, which does not "
        "contain the difference between seeds",
        "contrasts": {name: {task: _plain(c) for task, c in found.items()} for name, found in summaries.items()},
        "version": __version__,
    }  # fmt: skip
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
    from .negation_data import load_negation, read_negation

    sentences = read_negation(Path(path)) if path else load_negation()
    halves = {split: [s for s in sentences if s.split == split] for split in ("train", "test")}
    if not all(halves.values()):
        raise ValueError(
            f"both halves are needed, split 'train' and 'test'; got {len(halves['train'])} and {len(halves['test'])} sentences."
        )
    return halves


def _tasks(args: argparse.Namespace) -> tuple[str, ...]:
    return ("negation", "control", *((PARTS_OF_SPEECH,) if args.parts_of_speech else ()))


def _tune(args: argparse.Namespace, model, task: str, seed: int, sentences):
    from .corpora import load_treebank
    from .scope_tuning import part_of_speech_task, tune
    from .tagging import fine_tune_tagger

    options = {
        "seed": seed,
        "epochs": args.epochs,
        "learning_rate": args.learning_rate,
        "batch_size": args.batch_size,
        "progress": not args.quiet,
    }
    if not args.quiet:
        print(f"{model.name}: {task}, seed {seed}", file=sys.stderr)
    if task == PARTS_OF_SPEECH:
        words, labels = part_of_speech_task(load_treebank(), len(sentences))
        return fine_tune_tagger(model, words, labels, name=f"{task}, seed {seed}", truncate=True, **options)
    return tune(model, task, sentences=sentences, **options)


def _rules(halves: dict[str, list], encoder):
    """Rules that have read nothing; the offset chosen on train."""
    from . import negation

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
    from . import negation

    scores = negation.score_heads(model, halves["test"])
    best = negation.best_head(negation.score_heads(model, halves["train"]), scores)
    row = _row(name, scores, seed) | {
        "best": best.label, "best_f1": best.f1, "best_low": best.low, "best_high": best.high,
        "best_precision": best.precision, "best_recall": best.recall,
    }  # fmt: skip
    return {"row": row, "scores": scores}


def _row(name: str, scores, seed: int | None = None) -> dict:
    import numpy as np

    value, low, high = scores.mean_interval() if scores.f1.ndim else scores.interval()
    empty = dict.fromkeys(
        ("best", "best_f1", "best_low", "best_high", "best_precision", "best_recall", "tagging", "tagging_low", "tagging_high")
    )  # fmt: skip
    return {
        "answers": name, "seed": seed, "precision": float(np.mean(scores.precision)), "recall": float(np.mean(scores.recall)),
        "f1": value, "low": low, "high": high, "n": scores.n, **empty,
    }  # fmt: skip


def _heads(name: str, tables: dict) -> list[dict]:
    from .labels import head_label

    shape = next(iter(tables.values())).f1.shape
    return [
        {"model": name, "head": head_label(layer, head)}
        | {f"f1 {key}": float(scores.f1[layer, head]) for key, scores in tables.items()}
        for layer in range(shape[0])
        for head in range(shape[1])
    ]


def _plain(c) -> dict:
    return {
        "before": c.before, "negation": list(c.negation), "control": list(c.control), "difference": c.difference,
        "p": c.p, "least p": c.least_p, "wilcoxon over heads": list(c.wilcoxon),
    }  # fmt: skip


def _format(rows: list[dict]) -> str:
    lines = [
        [
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
    ]
    for row in rows:
        best, tagging = "", ""
        if row["best"]:
            best = f"{row['best_f1']:.3f} [{row['best_low']:.3f}, {row['best_high']:.3f}]"
        if row["tagging"] is not None:
            tagging = f"{row['tagging']:.3f} [{row['tagging_low']:.3f}, {row['tagging_high']:.3f}]"
        lines.append(
            [
                row["answers"],
                "" if row["seed"] is None else str(row["seed"]),
                f"{row['f1']:.3f} [{row['low']:.3f}, {row['high']:.3f}]",
                f"{row['precision']:.3f}",
                f"{row['recall']:.3f}",
                row["best"] or "",
                best,
                tagging,
                str(row["n"]),
            ]
        )
    return align(lines)
