"""The tables of docs/results.md and of the model card: made from what was saved, and put in their place."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "tools"), str(ROOT / "training")]
import card_words
import put_tables
import quoted_results
import remake
import results_tables

from tools.page_tables import table_below, tables_of

CARD, PAGE = (path.read_text(encoding="utf-8") for path in (put_tables.CARD, put_tables.RESULTS))


@pytest.fixture
def pages(tmp_path, monkeypatch):
    """Copies of card and page that may be written."""
    for name, text in (("CARD", CARD), ("RESULTS", PAGE)):
        path = tmp_path / f"{name}.md"
        path.write_text(text, encoding="utf-8")
        monkeypatch.setattr(put_tables, name, path)
    return tmp_path


# --- put in their place ----------------------------------------------------------------------------------------------


def test_the_card_takes_its_tables_from_the_report_and_keeps_its_sentences():
    blocks = ["\n".join(CARD.split("\n")[table.first : table.last]) for table in tables_of(CARD)]
    reported = [b for b in blocks if b.startswith(("| measure", "| relation", "| held-out"))]
    assert len(reported) == 4
    changed = [re.sub(r"0\.\d", "0.7", block) for block in reported]
    want = CARD
    for old, new in zip(reported, changed, strict=True):
        want = want.replace(old, new)
    now = put_tables.with_card_tables(CARD, "\n\n".join(changed) + "\n")
    assert now == card_words.with_words(want) and now != CARD
    with pytest.raises(ValueError, match="the card has 2 tables of relation .*, the report 1"):
        put_tables.with_card_tables(CARD, "\n\n".join(changed[:2]))


def test_the_report_is_read_from_its_file(pages, monkeypatch, capsys):
    blocks = ["\n".join(CARD.split("\n")[table.first : table.last]) for table in tables_of(CARD)]
    reported = "\n\n".join(b for b in blocks if b.startswith(("| measure", "| relation", "| held-out")))
    monkeypatch.setattr(put_tables, "card_tables", lambda report: reported.replace("0.", report["digits"]))
    (pages / "report.json").write_text('{"digits": "0.9"}', encoding="utf-8")
    assert put_tables.main(["card", str(pages / "report.json")]) == 0
    assert "| 0.9" in put_tables.CARD.read_text(encoding="utf-8") != CARD
    assert put_tables.RESULTS.read_text(encoding="utf-8") == PAGE
    assert put_tables.main(["card", str(pages / "none.json")]) == 1 and "none.json" in capsys.readouterr().err
    with pytest.raises(SystemExit):
        put_tables.main(["results"])


def test_the_fingerprint_stands_in_the_card_and_on_the_page(pages):
    other = {}
    for path, text in ((put_tables.CARD, CARD), (put_tables.RESULTS, PAGE)):
        other = re.sub(r"(Fingerprint[^`]*`|ships has `)[0-9a-f]{16}`", r"\g<1>0123456789abcdef`", text)
        assert other.count("0123456789abcdef") == 1
        path.write_text(other, encoding="utf-8")
    assert put_tables.fingerprint_of(put_tables.CARD.read_text(encoding="utf-8")) == "0123456789abcdef"
    assert put_tables.main(["fingerprint"]) == 0
    assert [path.read_text(encoding="utf-8") for path in (put_tables.CARD, put_tables.RESULTS)] == [
        CARD,
        PAGE,
    ]
    with pytest.raises(ValueError, match="0 times"):
        put_tables.with_fingerprint("nothing\n", "0" * 16, "Fingerprint")


def test_every_heading_has_its_table():
    measured = {name for name, _ in remake.commands(remake.Place(Path("/kept")))}
    for heading, (sources, _, kind) in put_tables.RESULT_TABLES.items():
        assert set(sources) <= measured and callable(getattr(results_tables, f"{kind}_table"))
        new = put_tables.put_table(PAGE, "| a | b |\n|---|---|\n| 1 | 2 |", after=heading)
        assert new.count("| a | b |") == 1 and new != PAGE
        assert new.index("| a | b |") > new.index(heading)
    with pytest.raises(ValueError, match="0 times"):
        put_tables.put_table(PAGE, "| a |\n|---|\n| 1 |", after="### nowhere")
    with pytest.raises(ValueError, match="no table below"):
        put_tables.put_table("# a\n\n## b\n\n| x |\n|---|\n| 1 |\n", "| x |\n|---|\n| 2 |", after="# a")


def test_a_chapter_has_new_weights_when_all_its_tables_are_new():
    new = "f" * 16
    everything = set(put_tables.RESULT_TABLES)
    assert put_tables.with_weights(PAGE, set(), new) == PAGE
    some = put_tables.with_weights(PAGE, everything - {"### Pronoun pairs"}, new).split("\n")
    all_new = put_tables.with_weights(PAGE, everything, new).split("\n")
    for name, heading in quoted_results.QUOTED.items():
        renewed = heading in everything
        assert (quoted_results.weights_of(all_new, heading) == new) == renewed, name
        coreference = name in ("LitBank", "GUM", "pronoun pairs")
        assert (quoted_results.weights_of(some, heading) == new) == (renewed and not coreference), name


def test_a_page_with_saved_tables_takes_them_and_says_whose_they_are(tmp_path):
    kinds = ("all", "pronoun", "proper", "nominal")
    row = {"n": 14738, "accuracy": 0.6, "low": 0.58, "high": 0.62}
    rows = [
        {"model": model, "predictor": who, "kind": kind, "heads": heads, **row}
        for model, who, heads in (
            ("specimen", "nearest", []), ("specimen", "best head, mentions", ["4-2", "5-1"]), ("twin", "best head, mentions", ["1-1", "1-2"]))
        for kind in kinds
    ]  # fmt: skip
    saved = tmp_path / "litbank" / "coref.json"
    saved.parent.mkdir(parents=True)
    saved.write_text(
        json.dumps({"about": {"model": "specimen", "kind": "documents"}, "rows": rows}), encoding="utf-8"
    )
    page = put_tables.with_results(PAGE, tmp_path, "f" * 16)
    _, _, columns, body = table_below(page, "### LitBank, 100 novels, candidates: earlier mentions")
    lines = page.split("\n")
    assert columns[1] == "all (n = 14,738)" and body[1][:2] == [
        "best head of the specimen",
        "60.0 [58.0, 62.0]",
    ]
    below = [line for line in lines if line.startswith("Heads chosen for all:")]
    assert "4-2" in below[0] and "4-2" not in "".join(below[1:]), "the line below this table, and no other"
    assert quoted_results.weights_of(lines, "### Pronoun pairs") != "f" * 16, (
        "the chapter has other tables, and these are old"
    )


# --- made ------------------------------------------------------------------------------------------------------------


def test_pairs_of_pronouns_are_a_row_a_file():
    row = {"n": 720, "accuracy": 0.5, "low": 0.4, "high": 0.6}
    rows = [
        {"model": model, "predictor": who, "group": group, **row, "accuracy": value}
        for group in ("all", "female")
        for model, who, value in (("specimen", "nearer", 0.51), ("specimen", "first", 0.52), ("specimen", "second", 0.53),
                                  ("specimen", "best head", 0.54), ("twin", "best head", 0.55))
    ]  # fmt: skip
    made = results_tables.pairs_table(
        [{"about": {"model": "specimen", "data": "winogender.jsonl.gz"}, "rows": rows}]
    )
    _, _, columns, old = table_below(PAGE, "### Pronoun pairs")
    cells = [cell.strip() for cell in made.split("\n")[2].strip("|").split("|")]
    assert tables_of(made)[0].columns == columns
    assert cells[0] in {row[0] for row in old}
    assert [cell.split()[0] for cell in cells[1:]] == ["720", "51.0", "52.0", "54.0", "55.0"]


def page_columns(heading):
    return table_below(PAGE, heading).columns


def made_table(text):
    return tables_of(text)[0][2:]


def test_a_pattern_is_a_row_with_its_rule_its_twin_and_its_mass():
    row = {"n": 1894, "heads": "1-4", "value": 0.592, "low": 0.563, "high": 0.618, "rules": "+1", "rule": 0.559, "chance": 0.068,
           "gain": -0.033, "gain_low": -0.048, "gain_high": 0.015, "twin": 0.115, "twin_low": 0.094, "twin_high": 0.131}  # fmt: skip
    rows = [{"measure": "mass", **row, "heads": "1-6", "value": 0.6}, {"measure": "accuracy", **row}]
    columns, body = made_table(
        results_tables.patterns_table([{"about": {"pattern": "key.itself()"}, "rows": rows}])
    )
    assert columns == page_columns("## Patterns: one line each, scored for every head")
    assert body == [
        ["key.itself()", "1,894", "1-4", "59.2 [56.3, 61.8]", "55.9 (+1)", "-3.3 [-4.8, 1.5]", "6.8", "11.5 [9.4, 13.1]",
         "60.0 [56.3, 61.8] (1-6)"]
    ]  # fmt: skip


def test_heads_taken_away_are_a_row_an_order_without_the_twin():
    away = {0: 0.9, 4: 0.8, 11: 0.7, 18: 0.6, 25: 0.5, 36: 0.4}
    rows = [
        {"run": run, "score_of": "AUC", "order": order, "heads_off": n, "score": score + off, "low": score, "high": score}
        for run, off in (("model", 0), ("random twin", 0.05)) for order in ("worst first", "random") for n, score in away.items()
    ]  # fmt: skip
    columns, body = made_table(results_tables.removal_table({"rows": rows}))
    assert columns == page_columns("### Heads taken away")
    assert [cells[:2] for cells in body] == [["AUC", "worst first"], ["AUC", "random"]]
    assert [cell.split()[0] for cell in body[0][2:]] == ["90.0", "70.0", "60.0", "50.0", "40.0"]


def test_what_the_slides_score_ranks_is_a_row_a_set_of_texts():
    names = ("spread of the maxima", "head entropy", "share to [SEP]", "AUC, column max")
    score = {run: dict(zip(names, values, strict=True)) for run, values in (("model", (0.9, 0.1, -0.7, 0.5)), ("random twin", (0.2, 0, 0, -0.1)))}  # fmt: skip
    columns, body = made_table(
        results_tables.entropies_table([{"about": {"data": "inspec.jsonl", "slides' score": score}}])
    )
    assert columns == page_columns("### What the lists of “lowest entropies” rank")
    assert body == [["Inspec, first 400 abstracts", "+0.90", "+0.10", "-0.70", "+0.50", "+0.20", "-0.10"]]


def test_the_random_twin_stands_beside_the_model_in_the_table_of_keywords():
    names = ("auc", "auc_low", "auc_high", "f1", "f1_low", "f1_high", "loss")
    rows = [
        {"run": run, "score": score, "as": f"{score}{head}"} | dict(zip(names, values, strict=True))
        for run, score, head, values in (
            ("no model", "tf-idf", "", [0.7, 0.6, 0.8, 0.4, 0.3, 0.5, 0.25]),
            ("model", "best head", ": 1-5", [0.8, 0.7, 0.9, 0.5, 0.4, 0.6, 0.2]),
            ("random twin", "best head", ": 3-2", [0.6, 0.5, 0.7, 0.3, 0.2, 0.4, 0.3]),
        )
    ]
    assert results_tables.keywords_table({"rows": rows}).splitlines()[2:] == [
        "| tf-idf | 70.0 [60.0, 80.0] | 40.0 [30.0, 50.0] | 0.250 | - | - | - |",
        "| best head: 1-5 | 80.0 [70.0, 90.0] | 50.0 [40.0, 60.0] | 0.200 | 60.0 [50.0, 70.0] | 30.0 [20.0, 40.0] | 0.300 |",
    ]


def _task(task, answers, n_train=1000):
    """What `bertlook finetune` saves: (answers, seed, value), each with an interval of five points to both sides."""
    rows = [
        {"answers": who, "seed": seed, "metric": "accuracy", "value": value, "low": value - 0.05, "high": value + 0.05, "n": 200}
        for who, seed, value in answers
    ]  # fmt: skip
    return {"about": {"task": task, "n_train": n_train}, "rows": rows}


def test_tasks_have_an_interval_for_one_seed_and_a_range_for_several():
    rules = (("majority", None, 0.5), ("bag of words", None, 0.6))
    one = _task("mrpc", (*rules, ("specimen", 0, 0.7), ("specimen, random twin", 0, 0.65)), 3668)
    three = _task("agreement", (*rules, *((who, seed, value + seed / 10) for who, value in (("specimen", 0.6), ("twin", 0.5)) for seed in (0, 1, 2))))  # fmt: skip
    _, body = made_table(results_tables.tasks_table([one, three]))
    assert body[0] == ["MRPC", "accuracy", "3,668", "200", "50.0 [45.0, 55.0]", "60.0 [55.0, 65.0]", "70.0 [65.0, 75.0]", "65.0 [60.0, 70.0]"]  # fmt: skip
    assert body[1][0] == "agreement (ours)"
    assert body[1][-2:] == ["70.0, seeds 60.0 to 80.0", "60.0, seeds 50.0 to 70.0"]


def test_one_head_off_and_many():
    rows = [{"head": f"1-{h}", "score_change": (h - 3) / 100, "score_low": (h - 4) / 100, "score_high": (h - 2) / 100} for h in (1, 2, 3, 4)]  # fmt: skip
    about = {"model": "kept/results/task-agreement/seed-2", "n": 480, "heads below .05 uncorrected": 2, "heads below .05 corrected": 1}  # fmt: skip
    mrpc = {"about": {**about, "model": "kept/results/task-mrpc/seed-0"}, "rows": rows}
    body = results_tables.one_head_table([mrpc, {"about": about, "rows": rows}]).split("\n")[2:]
    assert body[0] == "| MRPC | 480 | 4 | 2 | 1 | 1-1: -2.0 [-3.0, -1.0] | 1-4: +1.0 [+0.0, +2.0] |"
    assert body[1].startswith("| agreement (ours), seed 2 | 480 |")
    curve = [
        {"order": order, "heads_off": n, "score": 1 - n / 8 - less, "low": 0.5, "high": 1.0}
        for order, less in (("worst first", 0), ("best first", 0.1), ("random", 0.05))
        for n in (0, 1, 2, 4)
    ]
    body = results_tables.together_table({"rows": curve}).split("\n")[2:]
    assert [line.split(" | ")[0] for line in body] == ["| 0 of 4", "| 1 of 4", "| 2 of 4", "| 4 of 4"]
    assert "87.5 [50.0, 100.0] | 77.5 [50.0, 100.0] | 82.5" in body[1]
    other = [{**row, "score": row["score"] / 2} for row in curve]
    head, _, *body = results_tables.seeds_table([{"rows": curve}, {"rows": other}], shares=(0.25, 0.5)).split(
        "\n"
    )
    assert (
        head
        == "| heads off | most important first, seed 0 | most important first, seed 1 | least important first, seed 0 | least important first, seed 1 |"
    )
    starts = [[cell.split(" [")[0] for cell in line.strip("| ").split(" | ")] for line in body]
    assert starts == [["1 of 4", "77.5", "38.8", "87.5", "43.8"], ["2 of 4", "65.0", "32.5", "75.0", "37.5"]]


def test_the_negation_chapter_from_what_the_commands_saved():
    def row(answers, f1, best=None, best_f1=None, seed=None):
        ends = {"low": f1 - 0.02, "high": f1 + 0.02}
        more = {f"best_{end}": best_f1 and best_f1 + by for end, by in (("low", -0.1), ("high", 0.1))}
        return {"answers": answers, "seed": seed, "f1": f1, **ends, "best": best, "best_f1": best_f1, **more}

    rows = [
        row("the word at -1", 0.28), row("the word at +2", 0.2), row("specimen", 0.11, "1-3", 0.34), row("specimen, another word as the cue", 0.14),
        *(row("specimen, tuned on control", f1, best, 0.3 + f1, seed) for seed, (f1, best) in enumerate(((0.1, "2-4"), (0.2, "2-4"), (0.3, "5-1")))),
        row("specimen, random twin", 0.3, "3-2", 0.35),
        *(row("specimen, random twin, tuned on negation", f1, "6-1", 0.4, seed) for seed, f1 in enumerate((0.3, 0.32))),
    ]  # fmt: skip
    contrast = {"difference": 0.064, "p": 0.0625, "least p": 0.0625, "negation": [1, 2, 3, 4, 5]}
    contrasts = {"specimen": {"control": contrast}, "specimen, random twin": {"control": {**contrast, "difference": -0.02, "p": 1.0}}}  # fmt: skip
    saved = {"about": {"model": "specimen", "contrasts": contrasts}, "rows": rows}
    body = results_tables.negation_table(saved).split("\n")[2:]
    assert body == [
        "| the word before | 28.0 [26.0, 30.0] |  |  |",
        "| the word at +2 | 20.0 [18.0, 22.0] |  |  |",
        "| specimen | 11.0 [9.0, 13.0] | 1-3 | 34.0 [24.0, 44.0] |",
        "| the same, another word as the cue | 14.0 [12.0, 16.0] |  |  |",
        "| tuned on the control, 3 seeds | 20.0, from 10.0 to 30.0 | 2-4 (twice), 5-1 | 40.0 to 60.0 |",
        "| random twin | 30.0 [28.0, 32.0] | 3-2 | 35.0 [25.0, 45.0] |",
        "| twin tuned on negation, 2 seeds | 31.0, from 30.0 to 32.0 | 6-1 (twice) | 40.0 to 40.0 |",
    ]
    lines = results_tables.differences_table(saved).split("\n")
    assert lines[0].endswith("p over 5 seeds (at best .0625) |")
    assert lines[2:] == ["| control | +6.4 | .0625 |", "| control, random twin | -2.0 | 1.0000 |"]


def test_what_else_changed_is_a_mean_over_seeds():
    def compared(after, js, kept):
        rows = [{"layer": layer, "js": js * layer, "cosine": 0.9, "floor": 0.5} for layer in (1, 2)]
        twin = {"mean divergence, nats": 0.253, "heads paired with themselves": 2}
        about = {
            "after": after,
            f"against {after}": {"heads paired with themselves": kept},
            "against twin": twin,
        }
        return {"about": about, "rows": rows}

    saved = [compared("out/negation-0", 0.1, 36), compared("out/negation-1", 0.3, 30), compared("out/parts-of-speech-0", 0.02, 4)]  # fmt: skip
    body = results_tables.changes_table(saved).split("\n")[2:]
    assert body[0] == "| negation | .200 .400 | .90 .90 | .50 .50 | 36 30 |"
    assert body[1] == "| parts of speech | .020 .040 | .90 .90 | .50 .50 | 4 |"
    assert body[2:] == ["| nothing: the random twin | mean .253 |  |  | 2 |"]
