"""Measure a model on text it never saw: the numbers in the cards of the shipped models, and in data/model/film.csv.

    python training/specimen_report.py MODEL --data FILE.conllu [...]   the card's tables, beside the random twin
    python training/specimen_report.py MODEL --film RUN --out film.csv      every film point of a training run
    python training/specimen_report.py MODEL --film-baselines --data FILE.conllu [...] --out film_baselines.csv

MODEL is "specimen", "minilm" (which has no held-out scores: --no-heldout) or a folder. Relations are scored as Clark et al. (2019, section 4.2) do, with two changes: the
best head, its direction and the best offset are all chosen on one half of the documents and scored on the other
(both ways, added up), and offsets run from -4 to +4 (`bertlook_course.analyses.syntax.relations`). Scores are in UD.
"""

import argparse
import csv
import json
import sys
from collections import Counter
from dataclasses import replace
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # so that a plain checkout works too

import numpy as np
import pretrain_data as data
import pretrain_model as models

from bertlook_course.analyses.syntax import ALL, WITHOUT_PUNCT, collect_answers, gold_cases, score_relations
from bertlook_course.corpora import load_pairs, load_treebank, read_conllu
from bertlook_teach.measures import surface
from bertlook_teach.model import head_label, iter_attention, load_encoder, random_twin

DIRECTIONS = ("dependent-to-governor", "governor-to-dependent")
FILM_RELATIONS = ("case", "det", "nsubj", "obj", "amod", "aux", "nmod:poss", "mark")
FILM_LENGTH = 32  # wordpieces
FILM_MEASURES = ("next", "previous", "cls", "sep", "punct", "entropy")


# --- where heads look --------------------------------------------------------------------------------------------


def surface_table(encoder, pairs):
    """Per-head means over two-paragraph inputs (each input weighs the same): dict of arrays (layer, head)."""
    sums, n = dict.fromkeys(FILM_MEASURES, 0.0), 0
    for attention in iter_attention(encoder, pairs, batch_size=16, truncate=True):
        for name, values in _surface_of(attention).items():
            sums[name] += values
        n += 1
    return {name: np.asarray(total / n, dtype=float) for name, total in sums.items()}


def _surface_of(attention):
    """The same of one input, in the order of `FILM_MEASURES`."""
    return {
        "next": surface.offset_attention(attention, 1),
        "previous": surface.offset_attention(attention, -1),
        **{target: surface.special_token_attention(attention, target) for target in ("cls", "sep", "punct")},
        "entropy": surface.attention_entropy(attention, normalized=True),
    }


# --- relations ---------------------------------------------------------------------------------------------------


def relation_table(answers, min_cases=100):
    """One row a relation: best head and best offset, chosen on one half of the documents and scored on the other, both ways."""
    table = score_relations(answers, subtypes="keep", min_cases=min_cases, permutations=0)
    return [
        {
            "relation": row.relation,
            "cases": row.n,
            "heads": row.head,
            "accuracy": row.accuracy,
            "offset": row.offset,  # both, where the halves chose two: the accuracy is that of both together
            "offset_accuracy": row.baseline,
        }
        for row in table.rows
        if row.relation not in (ALL, WITHOUT_PUNCT)
    ]


def relation_accuracies(answers, relations):
    """Relation -> accuracy of every head on all cases, (direction, layer, head); relations that never occur are left out."""
    gold = gold_cases(answers.sentences)
    cases = gold.cases(count_root=False)
    return {
        name: (answers.distances[cases[name]] == gold.distances[cases[name]][:, None, None, None]).mean(0)
        for name in relations
        if name in cases
    }


# --- masked words and next sentences -------------------------------------------------------------------------------


def heldout_table(folder, documents, *, length=128, seed=0):
    """Masked-LM and next-sentence scores on documents (lists of sentences), with the unigram baseline.

    The baseline knows the word frequencies of these very texts, so it is the strongest unigram guess there is:
    its accuracy is the share of the commonest wordpiece, its perplexity exp(entropy of the unigram distribution).
    """
    import torch
    from transformers import BertForPreTraining, BertTokenizer

    tokenizer = BertTokenizer.from_pretrained(folder)
    model = BertForPreTraining.from_pretrained(folder, dtype=torch.float32).eval()
    encoded = [
        tokenizer(d, add_special_tokens=False, verbose=False)["input_ids"] for d in documents if len(d) > 1
    ]
    corpus = data.Corpus(
        np.array([i for d in encoded for s in d for i in s], np.uint16),
        np.concatenate([[0], np.cumsum([len(s) for d in encoded for s in d])]),
        np.concatenate([[0], np.cumsum([len(d) for d in encoded])]),
        np.arange(len(encoded)),
        np.arange(0),
    )
    rng = np.random.default_rng(seed)
    instances = [
        i for d in corpus.train for i in data.document_instances(corpus, d, corpus.train, length, rng)
    ]
    instances.sort(key=lambda i: len(i[0]))
    loss, right, golds, order_right = 0.0, 0, Counter(), 0
    for i in range(0, len(instances), 32):
        batch = data.pad_batch(instances[i : i + 32])
        masked, targets = data.mask_tokens(batch[0], vocab_size=model.config.vocab_size, rng=rng)
        with torch.no_grad():
            words, gold, order, is_random = models.forward(
                model, batch, masked, targets, torch.device("cpu"), "float32"
            )
        loss += models.losses(words, gold, order, is_random)[0].item() * len(gold)
        right += int((words.argmax(-1) == gold).sum())
        golds.update(gold.tolist())
        order_right += int((order.argmax(-1) == is_random).sum())
    n = sum(golds.values())
    share = np.array(list(golds.values())) / n
    n_random = sum(is_random for *_, is_random in instances)
    return {
        "masked": n,
        "mlm_loss": loss / n,
        "mlm_perplexity": float(np.exp(loss / n)),
        "mlm_accuracy": right / n,
        "unigram_perplexity": float(np.exp(-(share * np.log(share)).sum())),
        "unigram_accuracy": float(share.max()),
        "pairs": len(instances),
        "nsp_accuracy": order_right / len(instances),
        "nsp_majority": max(n_random, len(instances) - n_random) / len(instances),
    }


def treebank_documents(sentences):
    """Sentences' texts grouped by document."""
    documents = {}
    for sentence in sentences:
        documents.setdefault(sentence.doc_id, []).append(sentence.text)
    return list(documents.values())


# --- the report ----------------------------------------------------------------------------------------------------


def summary(encoder, pairs, sentences, own):
    """Everything the card's tables need, as plain numbers; ``own`` is the project's treebank."""
    maps = surface_table(encoder, pairs)
    marked = (maps["cls"] + maps["sep"] + maps["punct"]).mean(1)
    rows = relation_table(collect_answers(encoder, sentences)) if sentences else []
    counted = [r for r in rows if r["relation"] != "punct"]
    return {
        "shape": [encoder.n_layers, encoder.n_heads],
        "next_heads": {head_label(*i): round(float(maps["next"][i]), 5) for i in _over(maps["next"], 0.5)},
        "previous_heads": {
            head_label(*i): round(float(maps["previous"][i]), 5) for i in _over(maps["previous"], 0.5)
        },
        "marked_share_by_layer": [round(float(x), 5) for x in marked],
        "cls_by_layer": [round(float(x), 5) for x in maps["cls"].mean(1)],
        "sep_by_layer": [round(float(x), 5) for x in maps["sep"].mean(1)],
        "punct_by_layer": [round(float(x), 5) for x in maps["punct"].mean(1)],
        "layers_over_half": int((marked > 0.5).sum()),
        "broad_heads": len(_over(maps["entropy"], 0.8)),
        "relations": rows,
        "own_relations": relation_table(collect_answers(encoder, own)),
        "relations_10_above": sum(r["accuracy"] - r["offset_accuracy"] >= 0.1 for r in counted),
    }


def card_tables(report):
    """The tables of MODEL_CARD.md, in Markdown, from a report."""
    model, twin, held = report["specimen"], report["random twin"], report.get("held out")
    n_layers = model["shape"][0]

    def series(name, of):
        return " ".join(f"{x:.2f}" for x in of[name])

    def heads(table):
        return f"{len(table)}: " + ", ".join(f"{k} ({v:.2f})" for k, v in table.items()) if table else "0"

    rows = [
        ("heads with > .5 on the next token", lambda m: heads(m["next_heads"])),
        ("heads with > .5 on the previous token", lambda m: heads(m["previous_heads"])),
        ("[CLS] + [SEP] + . and , by layer", lambda m: series("marked_share_by_layer", m)),
        ("- [CLS] by layer", lambda m: series("cls_by_layer", m)),
        ("- [SEP] by layer", lambda m: series("sep_by_layer", m)),
        ("- . and , by layer", lambda m: series("punct_by_layer", m)),
        ("layers in which these take more than half", lambda m: f"{m['layers_over_half']} of {n_layers}"),
        ("broad heads (normalised entropy > .8)", lambda m: str(m["broad_heads"])),
        ("relations 10 points above the best offset", lambda m: str(m["relations_10_above"])),
    ]
    lines = [f"| measure | {report.get('model', 'specimen')} | random twin |", "|---|---|---|"]
    lines += [f"| {name} | {value(model)} | {value(twin)} |" for name, value in rows]
    for key, common in (("relations", 800), ("own_relations", 100)):
        if model[key]:
            lines += ["", *relation_lines(model[key], twin[key], common)]
    if held:
        lines += [
            "",
            "| held-out text | model | baseline |",
            "|---|---|---|",
            f"| masked-LM accuracy ({held['masked']:,} masked wordpieces) | {held['mlm_accuracy']:.3f} | {held['unigram_accuracy']:.3f} (unigram) |",
            f"| masked-LM perplexity a wordpiece | {held['mlm_perplexity']:.1f} | {held['unigram_perplexity']:.1f} (unigram) |",
            f"| next-sentence accuracy ({held['pairs']:,} pairs) | {held['nsp_accuracy']:.3f} | {held['nsp_majority']:.3f} (commoner answer) |",
        ]
    return "\n".join(lines) + "\n"


def relation_lines(rows, twin_rows, common):
    """A table of relations: those with ``common`` cases or more, and those 10 points above their offset, in bold."""
    control = {r["relation"]: r["accuracy"] for r in twin_rows}
    lines = [
        "| relation (UD) | cases | head | accuracy | best offset | its accuracy | random twin |",
        "|---|---|---|---|---|---|---|",
    ]
    for r in rows:
        gain = r["accuracy"] - r["offset_accuracy"]
        if r["cases"] >= common or gain >= 0.1:
            mark = " **" if gain >= 0.1 else " "
            lines.append(
                f"|{mark}`{r['relation']}`{mark.strip()} | {r['cases']} | {r['heads']} | {r['accuracy']:.3f} | {r['offset']} | "
                f"{r['offset_accuracy']:.3f} | {control.get(r['relation'], float('nan')):.3f} |"
            )
    return lines


def _over(values, threshold):
    return [tuple(map(int, i)) for i in np.argwhere(values > threshold)]


def short_pairs(tokenizer, pairs, length=FILM_LENGTH):
    """Both texts of each pair cut after so many words, the same for both, that the pair has at most ``length`` wordpieces."""
    short = []
    for pair in pairs:
        words = [text.split() for text in pair]
        for n in range(length, 0, -1):
            cut = tuple(" ".join(of_text[:n]) for of_text in words)
            if len(tokenizer(*cut)["input_ids"]) <= length:
                short.append(cut)
                break
    return short


def film(run, pairs, sentences, out):
    """Measure every film point of a run, in order; points already in ``out`` are kept, so it can be called again.

    Inputs have at most ``FILM_LENGTH`` wordpieces, what the first phase was trained on: beyond its length a phase's
    positions are untrained, and a longer input would show the phases' lengths instead of the heads.
    """
    columns = ["tokens", "layer", "head", *FILM_MEASURES]
    columns += (
        [f"{relation} {direction}" for relation in FILM_RELATIONS for direction in DIRECTIONS]
        if sentences
        else []
    )
    done = set()
    if out.exists():
        with open(out, newline="", encoding="utf-8") as file:
            done = {row["tokens"] for row in csv.DictReader(file)}
    points = sorted(p for p in (run / "film").iterdir() if (p / "model.safetensors").exists())
    with open(out, "a", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        if not done:
            writer.writerow(columns)
        for point in points:
            tokens = str(int(point.name))
            if tokens in done:
                continue
            encoder = load_encoder(str(point), device="cpu")
            maps = surface_table(encoder, short_pairs(encoder.tokenizer, pairs))
            short = [s for s in sentences if len(encoder.tokenizer(s.text)["input_ids"]) <= FILM_LENGTH]
            scores = relation_accuracies(collect_answers(encoder, short), FILM_RELATIONS) if short else {}
            for layer, head in np.ndindex(encoder.n_layers, encoder.n_heads):
                row = [tokens, layer, head] + [f"{maps[m][layer, head]:.4f}" for m in FILM_MEASURES]
                for relation in FILM_RELATIONS if sentences else ():
                    for direction in range(len(DIRECTIONS)):
                        found = scores.get(relation)
                        row.append("" if found is None else f"{found[direction, layer, head]:.4f}")
                writer.writerow(row)
            file.flush()
            print(f"{int(tokens):,} tokens measured", file=sys.stderr, flush=True)


def film_baselines(encoder, pairs, sentences, out):
    """What each measure of the film is worth without a head, on the film's own inputs, as a table (measure, baseline, value, n).

    For shares and entropy that is attention spread evenly; for a relation the best fixed offset from -4 to +4, chosen on these very
    cases, the same in both directions.
    """
    short = short_pairs(encoder.tokenizer, pairs)
    even = 0.0
    for attention in iter_attention(encoder, short, batch_size=16, truncate=True):
        flat = replace(attention, weights=np.full_like(attention.weights, 1 / len(attention.tokens)))
        even += np.array([row[0, 0] for row in _surface_of(flat).values()])
    rows = [
        [m, "attention spread evenly", f"{x / len(short):.4f}", len(short)]
        for m, x in zip(FILM_MEASURES, even)
    ]
    kept = [s for s in sentences if len(encoder.tokenizer(s.text)["input_ids"]) <= FILM_LENGTH]
    gold = gold_cases(kept)
    cases = gold.cases(count_root=False)
    for relation in FILM_RELATIONS:
        distances = gold.distances[cases[relation]]
        share, offset = max((float((distances == o).mean()), o) for o in range(-4, 5) if o)
        for direction, turn in zip(DIRECTIONS, (1, -1)):
            name = f"best fixed offset, {turn * offset:+d}"
            rows.append([f"{relation} {direction}", name, f"{share:.4f}", len(distances)])
    with open(out, "w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerows([["measure", "baseline", "value", "n"], *rows])


def main(arguments=None):
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add = parser.add_argument
    add("model", help='"specimen", or a folder in transformers\' format')
    add(
        "--data",
        type=Path,
        action="extend",
        nargs="+",
        default=[],
        metavar="FILE",
        help="CoNLL-U (.gz too)",
    )
    add("--limit", type=int, metavar="N", help="use the first N sentences of each treebank, N pairs at most")
    add("--no-heldout", action="store_true", help="leave out masked-LM and next-sentence scores")
    add("--film", type=Path, metavar="RUN", help="measure the film points of this run folder instead")
    add(
        "--film-baselines",
        action="store_true",
        help="measure the film's baselines instead, for MODEL's tokenizer",
    )
    add("--card", action="store_true", help="print the tables of the model card instead of JSON")
    add("--out", type=Path, help="where to write (JSON, or the film's CSV)")
    options = parser.parse_args(arguments)
    pairs = load_pairs()[: options.limit]
    sentences = [s for path in options.data for s in read_conllu(path)[: options.limit]]
    own = load_treebank()[: options.limit]
    if options.film:
        if not options.out:
            parser.error("--film needs --out FILE.csv")
        film(options.film, pairs, sentences, options.out)
        return
    encoder = load_encoder(options.model, device="cpu")
    if options.film_baselines:
        if not (options.out and sentences):
            parser.error("--film-baselines needs --data FILE.conllu [...] and --out FILE.csv")
        film_baselines(encoder, pairs, sentences, options.out)
        return
    report = {
        "model": options.model,
        "treebanks": [p.name for p in options.data],
        "sentences": len(sentences),
    }
    report["specimen"] = summary(encoder, pairs, sentences, own)
    report["random twin"] = summary(random_twin(encoder), pairs, sentences, own)
    if sentences and not options.no_heldout:
        folder = (
            options.model
            if options.model != "specimen"
            else Path(__file__).resolve().parents[1] / "data" / "model"
        )
        report["held out"] = heldout_table(folder, treebank_documents(sentences))
    text = json.dumps(report, indent=1)
    if options.out:
        options.out.write_text(text + "\n", encoding="utf-8")
    print(card_tables(report) if options.card else text)


if __name__ == "__main__":
    main()
