"""Write data/bert_base/measured: what the course's measures give on recorded attention of BERT-base. Only numbers leave the source folder.

    python tools/measure_bert_base.py FOLDER

FOLDER holds ``sst2_recorded.npz`` and ``.json``: attention of a BERT-base that was fine-tuned on SST-2, on 200 of its sentences, with
automatic dependency trees. The sentences are other people's prose and are not shipped, nor is any of their attention. Beside every
number stands a randomly initialised BERT-base that reads the same wordpieces. The shipped recordings of `bert-base-uncased` are measured too,
against the values that Clark et al. (2019) published for each head.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # so that a plain checkout works too

from bertlook_teach import __version__
from bertlook_teach.analyses.syntax import collect_answers, flat_row, score_relations
from bertlook_teach.claims import FEWEST_REPORTING, attention_evidence, decide, ledger
from bertlook_teach.claims.lessons.lesson09 import closer, nearest_minus_chance
from bertlook_teach.commands.claims import record as verdict_row
from bertlook_teach.corpora import TreebankSentence
from bertlook_teach.disk import data_path, write_csv, write_json
from bertlook_teach.measures import (
    CLASSES,
    PATTERNS,
    THRESHOLDS,
    behaviour_labels,
    class_fractions,
    group_test,
    head_distances,
    measure_patterns,
    profile_heads,
    published_fractions,
    stack_scores,
    surface_measures,
    token_masks,
)
from bertlook_teach.model import (
    Attention,
    Recording,
    head_label,
    iter_attention,
    load_recording,
    write_recording,
)
from bertlook_teach.published import published_heads, published_layers, published_map, published_sst2_entropy
from bertlook_teach.stats import fair_choice, mean_interval, rank_correlation, sample_interval
from tools.make_bert_base import words_of

NAME = "BERT-base fine-tuned on SST-2 (recorded)"
TWIN = "BERT-base, random weights, on the same wordpieces"
SOURCE = "numbers released with Dodrio (poloclub/dodrio, commit 8abef9d, MIT License)"
STEP = 10_000  # four decimals were saved
SEED = 0  # of the random twin's weights
DRAWS = 1000
CLARK = ("cls", "sep", "punct", "sep_to_sep", "other_to_sep", "entropy_clark")  # published for every head
SINGLE = "single sentences of SST-2, not pairs of paragraphs"


# --- the sentences ----------------------------------------------------------------------------------------------
def word_ids_of(tokens: Sequence[str], words: Sequence[str]) -> list[int | None] | None:
    """The word of each wordpiece; None if the words do not end where wordpieces end."""
    ids, word, left = [], -1, ""
    for token in tokens:
        if token in ("[CLS]", "[SEP]"):
            ids.append(None)
            continue
        piece = token.removeprefix("##")
        if not left:
            word += 1
            if word == len(words):
                return None
            left = words[word].lower()
        if not left.startswith(piece):
            return None
        left = left.removeprefix(piece)
        ids.append(word)
    return ids if not left and word == len(words) - 1 else None


def sentences_of(folder: Path) -> tuple[list[Attention], list[TreebankSentence]]:
    """Attention of every sentence, and the trees of those whose words fit the wordpieces."""
    attentions, trees = [], []
    listed = json.loads((folder / "sst2_recorded.json").read_text(encoding="utf-8"))
    with np.load(folder / "sst2_recorded.npz", allow_pickle=False) as arrays:
        for about in listed:
            weights = arrays[about["id"]].astype(np.float32) / STEP
            tokens, words = about["tokens"], about["words"]
            word_ids = word_ids_of(tokens, words)
            if word_ids is not None:
                trees.append(tree_of(about))
            else:  # every wordpiece that begins a word is one
                words, word_ids = words_of(tokens)
            attentions.append(
                Attention(
                    weights=weights / weights.sum(-1, keepdims=True),
                    tokens=tuple(tokens),
                    word_ids=tuple(word_ids),
                    segment_ids=(0,) * len(tokens),
                    special=tuple(word is None for word in word_ids),
                    words=tuple(words),
                    text=" ".join(words),
                    model=NAME,
                )
            )
    return attentions, trees


def tree_of(about: dict) -> TreebankSentence:
    """Universal Dependencies as the source has them; parts of speech and lemmas are not there."""
    arcs, nothing = about["dependencies"], ("_",) * len(about["words"])
    return TreebankSentence(
        words=tuple(about["words"]),
        governors=tuple(-1 if arc["parent"] is None else arc["parent"] for arc in arcs),
        relations=tuple(arc["relation"] for arc in arcs),
        upos=nothing,
        xpos=nothing,
        lemmas=nothing,
        misc=({},) * len(about["words"]),
        sent_id=about["id"],
    )


def twin_attentions(attentions: Sequence[Attention]) -> Iterator[Attention]:
    """The same wordpieces read by a BERT-base of random weights.

    Its embeddings are drawn alike for every wordpiece, so which row of the vocabulary a wordpiece gets does not matter, as long as equal ones get
    the same: they are numbered by the alphabet.
    """
    from dataclasses import replace

    import torch
    from transformers import BertConfig, BertModel

    torch.manual_seed(SEED)
    model = BertModel(BertConfig(attn_implementation="eager"), add_pooling_layer=False).eval()
    pieces = sorted({token for attention in attentions for token in attention.tokens})
    number = {piece: i + 1 for i, piece in enumerate(pieces)}  # 0 is padding
    for attention in attentions:
        ids = torch.tensor([[number[token] for token in attention.tokens]])
        with torch.inference_mode():
            maps = model(ids, output_attentions=True).attentions
        yield replace(attention, weights=torch.stack(maps)[:, 0].numpy(), model=TWIN)


def recorded(attentions: Sequence[Attention], folder: Path, label: str) -> Recording:
    path = folder / f"{label}.bertlook"
    write_recording(path, attentions, label=label, about=SOURCE, matching="lowered words")
    return load_recording(path)


# --- what is measured -------------------------------------------------------------------------------------------
def surface(recording: Recording, twin: Recording) -> dict[str, list[dict]]:
    """Surface measures by head and by layer with intervals, beside the published curves and the twin."""
    profile = profile_heads(recording, recording.texts, name="200 sentences")
    control = profile_heads(twin, twin.texts, name="200 sentences")
    labels = behaviour_labels({name: profile.mean(name) for name in THRESHOLDS})
    kept = [name for name in profile.measures if not name.startswith("offset")]
    heads = [
        {"head": row["label"], "behaviour": str(labels[row["layer"], row["head"]]), "n": row["n"]}
        | {
            key: round(value, 4)
            for key, value in row.items()
            if key.rpartition("_")[0] or key in profile.sums
        }
        for row in profile.rows()
    ]
    layers, before = [], published_sst2_entropy()
    for measure in kept:
        value, low, high = profile.layer_mean(measure)
        random, random_low, random_high = control.layer_mean(measure)
        try:
            published = published_layers(measure)
        except KeyError:
            published = [None] * len(value)
        for layer in range(len(value)):
            row = {"measure": measure, "layer": layer + 1, "value": value[layer], "low": low[layer]}
            row |= {"high": high[layer], "twin": random[layer], "twin_low": random_low[layer]}
            layers.append(
                row
                | {"twin_high": random_high[layer], "n": profile.n, "clark2019": published[layer]}
                # The model before it was tuned, on 2,000 sentences of the same corpus, as others released it.
                | {"published_model_on_sst2": before.mean[layer] if measure == "entropy" else None}
            )
    return {"surface_heads": heads, "surface_layers": layers}


def correlations(recording: Recording, twin: Recording) -> list[dict]:
    """How the means of each head go with the published ones: Pearson and Spearman over 144 heads.

    Intervals are over inputs; where fewer than `FEWEST_REPORTING` were read there is none, as no claim is decided on them.
    """
    rows = []
    shipped = load_recording("bert-base-uncased")
    for model, texts in ((shipped, shipped.texts), (recording, recording.texts), (twin, twin.texts)):
        measures = {name: surface_measures()[name] for name in CLARK}
        values = {name: [] for name in CLARK}
        for attention in iter_attention(model, texts):
            there = token_masks(attention)
            for name, measure in measures.items():
                if name != "punct" or there["punct"].any():
                    values[name].append(np.ravel(measure(attention)))
        for name in CLARK:
            published = published_heads(name).ravel()
            found = np.array(values[name])
            if len(found) < 4:
                continue
            row = {"model": model.name, "measure": name, "n": len(found)}
            for kind, statistic in (("pearson", pearson), ("spearman", rank_correlation)):
                row |= {kind: float(statistic(found.mean(0), published))} | dict.fromkeys(
                    (f"{kind}_low", f"{kind}_high")
                )
                if len(found) < FEWEST_REPORTING:
                    continue
                generator = np.random.default_rng(0)
                drawn = [
                    statistic(found[generator.integers(0, len(found), len(found))].mean(0), published)
                    for _ in range(DRAWS)
                ]
                row[f"{kind}_low"], row[f"{kind}_high"] = sample_interval(drawn, row[kind], len(found))
            rows.append(row)
    return rows


def pearson(x, y) -> float:
    return float(np.corrcoef(x, y)[0, 1])


def special_tokens(attentions: Sequence[Attention]) -> list[dict]:
    """By layer: how far apart the rows of [CLS] and the last [SEP] are, 0 (the same) to 1 (no key in common), and how much they get together.

    Where both rows and both columns are the same the model has given the two tokens one vector, and a share of [SEP] alone says little. The
    published model on the shipped inputs stands beside it.
    """
    rows = []
    shipped = load_recording("bert-base-uncased")
    for name, of in ((shipped.name, list(shipped.values())), (NAME, attentions)):
        apart, columns, together = [], [], []
        for attention in of:
            weights = attention.weights.astype(float)
            apart.append(np.abs(weights[:, :, 0] - weights[:, :, -1]).sum(-1).mean(-1) / 2)
            columns.append([pearson(one[..., 0].ravel(), one[..., -1].ravel()) for one in weights])
            together.append(weights[..., np.array(attention.special)].sum(-1).mean(axis=(1, 2)))
        for layer in range(len(apart[0])):
            row = {"model": name, "layer": layer + 1, "n": len(apart)}
            for what, values in (("rows_apart", apart), ("columns_correlate", columns), ("share", together)):
                found = np.array(values)[:, layer]
                low, high = mean_interval(found)
                row |= {what: found.mean(), f"{what}_low": low, f"{what}_high": high}
            rows.append(row)
    return rows


def relations(recording: Recording, twin: Recording, trees: Sequence[TreebankSentence]) -> list[dict]:
    """Heads for relations, chosen on one half and scored on the other, beside the best offset and the twin."""
    answers, control = (collect_answers(model, trees) for model in (recording, twin))
    table = score_relations(answers, scheme="ud", twin=control, min_cases=20)
    print(f"relations: {table.about['n_sentences']} sentences, {table.about['n_words']} words")
    return [flat_row(row) for row in table.rows]


def families(recording: Recording, twin: Recording) -> dict[str, list[dict]]:
    """Divergences between all pairs of heads; are heads of a layer, or of a behaviour, closer to one another?"""
    rows, matrix = [], None
    above = np.triu_indices(144, 1)
    printed = published_map().distances[above]
    for model in (recording, twin):
        found = head_distances(iter_attention(model, model.texts))
        profile = profile_heads(model, model.texts)
        labels = behaviour_labels({name: profile.mean(name) for name in THRESHOLDS}).ravel()
        groups = {"layer": found.layers, "behaviour": labels}
        for by, of in groups.items():
            try:
                test = group_test(found.per_token, of)
            except ValueError as reason:
                rows.append({"model": model.name, "what": f"same {by}", "why_not": str(reason)})
                continue
            share, low, high = found.interval(lambda d, of=of: closer(d, of), replicates=DRAWS)
            row = {"model": model.name, "what": f"same {by}", "within": test.within, "between": test.between}
            row |= {"closer": share, "low": low, "high": high, "p": test.p, "shuffles": test.permutations}
            rows.append(
                row | {"pairs_within": test.n_within, "pairs_between": test.n_between, "n": found.n_texts}
            )
        nearest, low, high = found.interval(lambda d: nearest_minus_chance(d, 12, 12), replicates=DRAWS)
        row = {"model": model.name, "what": "nearest head in the same layer, minus chance"}
        rows.append(row | {"closer": nearest, "low": low, "high": high, "n": found.n_texts})
        alike, low, high = found.interval(lambda d: rank_correlation(d[above], printed), replicates=200)
        row = {"model": model.name, "what": "rank correlation with the distances on the map of Clark et al."}
        rows.append(row | {"closer": alike, "low": low, "high": high, "n": found.n_texts})
        if model is recording:
            matrix = [
                {"head": name}
                | {other: f"{d:.4f}" if j > i else "" for j, (other, d) in enumerate(zip(found.labels, line))}
                for i, (name, line) in enumerate(zip(found.labels, found.per_token))
            ]
    return {"families": rows, "distances": matrix}


def map_classes(recording: Recording, twin: Recording) -> list[dict]:
    """Shares of Kovaleva et al.'s classes of map by our rule; theirs were counted by a trained network."""
    found, control = (
        class_fractions(stack_scores(iter_attention(model, model.texts))) for model in (recording, twin)
    )
    printed = published_fractions()["SST-2"]
    return [
        {"class": name, "share": found.mean[i], "low": found.low[i], "high": found.high[i]}
        | {"twin": control.mean[i], "twin_low": control.low[i], "twin_high": control.high[i], "n": found.n}
        | {"kovaleva2019_sst2_by_a_network": float(printed[i])}
        for i, name in enumerate(CLASSES)
    ]


def patterns(recording: Recording, twin: Recording) -> list[dict]:
    """Vig's patterns against their null models: the head with most excess, chosen on one half and reported on the other, both ways."""
    rows = []
    for key, pattern in PATTERNS.items():
        row = {"pattern": key, "says": pattern.says, "null": pattern.null_says}
        for prefix, model in (("", recording), ("twin_", twin)):
            scores = [
                measure_patterns(attention).get(key) for attention in iter_attention(model, model.texts)
            ]
            scores = [score for score in scores if score is not None]
            if len(scores) < 4:
                row["n"] = len(scores)
                continue
            excess, value = (np.array([getattr(s, name) for s in scores]) for name in ("excess", "value"))
            choice = fair_choice(excess, both_ways=True)
            half = np.arange(len(excess)) % 2
            reported = np.where(half == 1, *(value[(slice(None), *chosen)] for chosen in choice.chosen))
            low, high = mean_interval(choice.reported)
            names = " / ".join(dict.fromkeys(head_label(*chosen) for chosen in choice.chosen))
            row |= {f"{prefix}head": names, f"{prefix}value": reported.mean()}
            row |= {f"{prefix}excess": choice.reported.mean(), f"{prefix}low": low, f"{prefix}high": high}
            row |= {"n": len(excess)}
        rows.append(row)
    columns = list(dict.fromkeys(key for row in rows for key in row))
    return [{column: row.get(column) for column in columns} for row in rows]


# --- the ledger -------------------------------------------------------------------------------------------------
def verdicts(recording: Recording, twin: Recording, trees: Sequence[TreebankSentence]) -> list[dict]:
    """Every claim of the ledger that gets a number from attention alone; the others ask for vectors, pairs of texts or parts of speech."""
    evidence = attention_evidence(trees)
    claims = [claim for claim in ledger() if claim.statistic is not None and claim.evidence in evidence]
    found = decide(claims, recording, twin=twin, evidence=evidence, strict=False)
    keep = (
        "key",
        "lesson",
        "value",
        "low",
        "high",
        "twin",
        "twin_low",
        "twin_high",
        "n",
        "verdict",
        "why",
        "threshold",
    )
    return [{name: row[name] for name in keep} for row in map(verdict_row, found) if row["value"] is not None]


def plain(rows: Sequence[dict]) -> list[dict]:
    """Every row with every column, numbers to four digits."""
    columns = list(dict.fromkeys(key for row in rows for key in row))
    return [
        {
            c: round(float(row[c]), 4) if isinstance(row.get(c), float | np.floating) else row.get(c)
            for c in columns
        }
        for row in rows
    ]


def main(argv=None) -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path)
    parser.add_argument("--out", type=Path, default=data_path("bert_base") / "measured")
    parser.add_argument("--limit", type=int, help="only the first N sentences, for a trial")
    parser.add_argument("--only", nargs="+", metavar="TABLE", help="write only these, and leave the others")
    args = parser.parse_args(argv)
    attentions, trees = sentences_of(args.folder)
    attentions, trees = attentions[: args.limit], trees[: args.limit]

    @cache
    def both() -> tuple[Recording, Recording]:
        with tempfile.TemporaryDirectory() as scratch:
            twin = recorded(list(twin_attentions(attentions)), Path(scratch), "twin")
            return recorded(attentions, Path(scratch), "sentences"), twin

    makers = {
        "surface": lambda: surface(*both()),
        "correlations": lambda: correlations(*both()),
        "special_tokens": lambda: special_tokens(attentions),
        "relations": lambda: relations(*both(), trees),
        "families": lambda: families(*both()),
        "map_classes": lambda: map_classes(*both()),
        "patterns": lambda: patterns(*both()),
        "verdicts": lambda: verdicts(*both(), trees),
    }
    if unknown := set(args.only or ()) - set(makers):
        raise SystemExit(f"--only takes {', '.join(makers)}; got {', '.join(sorted(unknown))}.")
    tables = {}
    for name in args.only or makers:
        made = makers[name]()
        tables |= made if isinstance(made, dict) else {name: made}
    args.out.mkdir(parents=True, exist_ok=True)
    for name, rows in tables.items():
        path = write_csv(args.out / f"{name}.csv", plain(rows))
        print(f"{path.name}: {len(rows)} rows, {path.stat().st_size:,} bytes")
    about = {
        "model": NAME,
        "source": SOURCE,
        "twin": f"{TWIN}, seed {SEED}",
        "sentences": len(attentions),
        "wordpieces": sum(len(attention.tokens) for attention in attentions),
        "sentences with a tree": len(trees),
        "inputs": SINGLE,
        "published inputs": len(load_recording("bert-base-uncased")),
        "interval": "95 % bootstrap over sentences",
        "version": __version__,
    }
    write_json(args.out / "about.json", about)
    print(json.dumps(about, indent=1))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
