"""``bertlook claims`` on tiny models of several families: what is written, what is said, what goes wrong."""

import json
import shutil
from functools import wraps

import pytest
from made import read_rows
from tiny import save_tiny_model

from bertlook_bench import line as cli
from bertlook_course.claims import FAILS, HOLDS, OPEN, ledger
from bertlook_course.claims import verdicts as claims
from bertlook_course.claims.evidence import _kept
from bertlook_course.claims.lessons import lesson03
from bertlook_course.storage import cache as store
from bertlook_course.storage import shipped_evidence
from bertlook_course.storage.shipped_evidence import evidence_folder

PAIRS = "the cat sat, on the mat.\nthe dog chased it.\n\n" * 3 + "a dog sat.\nit was really tired.\n\n" * 3
TEXTS = "the cat sat on the mat.\nthe dog chased the cat.\nit was unreal, really.\nthe dog was tired.\n"


@pytest.fixture(autouse=True)
def fewer_replicates(monkeypatch):
    """What is tested here is not how narrow an interval is, nor how many inputs it takes."""
    monkeypatch.setattr(claims, "REPLICATES", 40)
    for minimum in ("FEWEST_REPORTING", "FEWEST_CHOOSING"):
        monkeypatch.setattr(claims, minimum, 2)


@pytest.fixture
def files(tmp_path):
    (tmp_path / "pairs.txt").write_text(PAIRS)
    (tmp_path / "texts.txt").write_text(TEXTS)
    return ["--pairs", str(tmp_path / "pairs.txt"), "--texts", str(tmp_path / "texts.txt")]


def run(model, out, *options):
    _kept.clear()
    return cli.main(["claims", "--model", str(model), "--out", str(out), *options])


def written(out):
    record = json.loads((out / "claims.json").read_text(encoding="utf-8"))
    return record, {row["key"]: row for row in record["claims"]}


@pytest.mark.parametrize(
    "family, changes",
    [
        ("bert", {}),
        ("bert", {"num_hidden_layers": 2, "num_attention_heads": 1}),
        ("roberta", {}),
        ("distilbert", {}),
        ("electra", {}),
    ],
)
def test_every_claim_of_lessons_01_and_03_gets_a_verdict_on_any_family(
    family, changes, tmp_path, files, capsys
):
    model = save_tiny_model(tmp_path / family, family, **changes)
    for lesson in ("01", "03"):
        assert run(model, tmp_path / "out", "--lesson", lesson, "--limit", "6", *files) == 0
        record, rows = written(tmp_path / "out")
        assert list(rows) == [claim.key for claim in ledger(lesson)]
        assert {row["verdict"] for row in rows.values()} <= {HOLDS, FAILS, OPEN}
        broken = [k for k, row in rows.items() if "failed: " in row["why"] or "statistic fails" in row["why"]]
        assert broken == []
        for row in rows.values():
            assert row["why"] and (row["value"] is not None or row["verdict"] == OPEN)
        if lesson == "01":
            assert rows["01-softmax"]["verdict"] == HOLDS  # arithmetic
            assert rows["01-sigmoid"]["verdict"] == FAILS
        assert record["complete"] and record["pairs"] == "pairs.txt" and record["treebank"] == "shipped"
    assert "claims ->" in capsys.readouterr().out


def test_csv_json_page_and_screen_say_the_same(tmp_path, files, capsys):
    model = save_tiny_model(tmp_path / "m")
    assert run(model, tmp_path / "out", "--lesson", "3", *files) == 0
    record, rows = written(tmp_path / "out")
    table = {row["key"]: row for row in read_rows(tmp_path / "out" / "claims.csv")}
    assert table.keys() == rows.keys() and record["lesson"] == "03"
    page = (tmp_path / "out" / "claims.html").read_text(encoding="utf-8")
    shown = capsys.readouterr()
    for key, row in rows.items():
        assert table[key]["verdict"] == row["verdict"] and table[key]["why"] == row["why"]
        assert table[key]["value"] == ("" if row["value"] is None else str(row["value"]))
        assert key in page and f"  {key}: " in shown.out
    assert "100%" in shown.err  # the bar
    assert str(tmp_path) not in (tmp_path / "out" / "claims.json").read_text().replace(str(model), "")


def give_collector(monkeypatch, lesson, name, collector):
    monkeypatch.setitem(lesson.EVIDENCE, name, collector)


def test_quiet_leaves_one_line(tmp_path, files, capsys):
    model = save_tiny_model(tmp_path / "m")
    capsys.readouterr()  # what saving it printed
    assert run(model, tmp_path / "out", "--lesson", "01", "--quiet", *files) == 0
    shown = capsys.readouterr()
    assert shown.err == "" and len(shown.out.splitlines()) == 1
    # The record keeps the statistic, how the page shows it, and the twin's number where the page says that it is no control.
    _, rows = written(tmp_path / "out")
    row = rows["01-softmax"]
    assert (row["needs"], row["threshold"], row["sign"], row["control"]) == ("< .001", -0.001, -1, False)
    assert (row["refuted_if"], rows["01-next"]["refuted_if"][:9]) == (
        "the softmax of the scaled scores gives other weights",
        "it is .50",
    )
    assert row["twin"] is not None and (rows["01-next"]["needs"], rows["01-next"]["sign"]) == ("> .50", 1)


def test_a_random_twin_is_tried_against_another_random_twin(tmp_path, files):
    assert run("specimen-random", tmp_path / "out", "--lesson", "03", "--limit", "6", "--quiet", *files) == 0
    _, rows = written(tmp_path / "out")
    assert {rows[key]["verdict"] for key in ("03-next", "03-sep")} == {FAILS}
    assert rows["03-self"]["why"] == "a random twin reaches it too"
    assert rows["03-next"]["value"] != rows["03-next"]["twin"]  # not the same weights twice


def test_recomputing_says_what_comes_out_otherwise(tmp_path, files, capsys, monkeypatch):
    monkeypatch.setattr(shipped_evidence, "evidence_folder", evidence_folder)
    monkeypatch.setenv("BERTLOOK_EVIDENCE", str(tmp_path / "evidence"))
    model = save_tiny_model(tmp_path / "model")
    [name] = lesson03.EVIDENCE
    collect = lesson03.EVIDENCE[name]

    @wraps(collect)
    def doubled(encoder, resources):
        for row in collect(encoder, resources):
            yield {quantity: 2 * value for quantity, value in row.items()}

    def shipped_and_recomputed(collector):
        give_collector(monkeypatch, lesson03, name, collector)
        with store.shipping():
            run(model, tmp_path / "out", "--lesson", "03", "--limit", "6", *files)
        give_collector(monkeypatch, lesson03, name, collect)
        capsys.readouterr()
        assert run(model, tmp_path / "out", "--lesson", "03", "--limit", "6", "--recompute", *files) == 0
        shutil.rmtree(tmp_path / "evidence")
        return capsys.readouterr().out

    assert "have shipped evidence, 0 of these come out otherwise" in shipped_and_recomputed(collect)
    said = shipped_and_recomputed(doubled)
    assert "shipped evidence says Verdict(03-" in said and ", 0 of these" not in said


def test_the_limit_is_kept(tmp_path, files):
    model = save_tiny_model(tmp_path / "m")
    assert run(model, tmp_path / "out", "--lesson", "03", "--limit", "5", "--quiet", *files) == 0
    record, rows = written(tmp_path / "out")
    assert record["limit"] == 5 and (rows["03-sep"]["n"], rows["03-sep"]["n_choice"]) == (2, 3)
    assert run(model, tmp_path / "out", "--lesson", "03", "--limit", "1", "--quiet", *files) == 0
    _, rows = written(tmp_path / "out")
    assert {row["verdict"] for row in rows.values()} == {OPEN}
    assert "needs two" in rows["03-next"]["why"] or "no input" in rows["03-next"]["why"]


def test_texts_without_a_full_stop_leave_its_claims_open(tmp_path):
    (tmp_path / "pairs.txt").write_text("the cat sat\nthe dog sat\n\n" * 6)
    model, pairs = save_tiny_model(tmp_path / "m"), ("--quiet", "--pairs", str(tmp_path / "pairs.txt"))
    assert run(model, tmp_path / "o", "--lesson", "13", "--limit", "6", *pairs) == 0
    _, rows = written(tmp_path / "o")
    assert (rows["13-three-phases"]["verdict"], rows["13-three-phases"]["why"]) == (
        OPEN,
        "no input yields 'punct'",
    )


@pytest.mark.parametrize(
    "options, message",
    [
        (["--lesson", "77"], "no lesson '77' with claims; there is: 01, "),
        (["--lesson", "three"], "no lesson 'three' with claims"),
        (["--pairs", "nowhere.txt"], "there is no file nowhere.txt"),
        (["--texts", "nowhere.txt"], "there is no file nowhere.txt"),
        (["--data", "nowhere.conllu"], "there is no file nowhere.conllu"),
    ],
)
def test_what_is_wrong_is_said_before_anything_is_computed(options, message, tmp_path, capsys, monkeypatch):
    monkeypatch.setattr("bertlook_teach.model.encoder.load_encoder", lambda *_, **__: pytest.fail("loaded"))
    assert run("specimen", tmp_path / "out", *options) == 1
    assert message in capsys.readouterr().err


def test_a_file_that_is_no_treebank_is_named_with_its_line(tmp_path, capsys):
    (tmp_path / "bad.conllu").write_text("1\tthe\n")
    assert run("specimen", tmp_path / "out", "--data", str(tmp_path / "bad.conllu")) == 1
    assert "line 1: CoNLL-U has 10 columns" in capsys.readouterr().err


def test_a_file_in_the_way_of_the_folder_is_refused(tmp_path, capsys):
    (tmp_path / "out").write_text("")
    assert run("specimen", tmp_path / "out") == 1
    assert "choose a folder of your own" in capsys.readouterr().err


def test_ctrl_c_keeps_what_is_decided(tmp_path, files, capsys, monkeypatch):
    from bertlook_course.claims.lessons import lesson01

    def interrupted(encoder, resources):
        raise KeyboardInterrupt
        yield

    give_collector(monkeypatch, lesson01, "surface", interrupted)
    model = save_tiny_model(tmp_path / "m")
    assert run(model, tmp_path / "out", "--lesson", "01", "--quiet", *files) == 130
    record, rows = written(tmp_path / "out")
    assert not record["complete"] and "01-softmax" in rows and "01-next" not in rows
    assert "interrupted: " in capsys.readouterr().out
    give_collector(monkeypatch, lesson01, "scores", interrupted)
    assert run(model, tmp_path / "other", "--lesson", "01", "--quiet", *files) == 130
    assert "nothing written" in capsys.readouterr().err and not (tmp_path / "other" / "claims.json").exists()


def test_a_collector_that_breaks_is_named_and_the_others_go_on(tmp_path, files, capsys, monkeypatch):
    from bertlook_course.claims.lessons import lesson01

    def broken(encoder, resources):
        raise RuntimeError("out of memory")
        yield

    give_collector(monkeypatch, lesson01, "surface", broken)
    model = save_tiny_model(tmp_path / "m")
    assert run(model, tmp_path / "out", "--lesson", "01", "--quiet", *files) == 0
    _, rows = written(tmp_path / "out")
    assert rows["01-next"]["why"] == "collecting 'surface' failed: RuntimeError: out of memory"
    assert rows["01-softmax"]["verdict"] == HOLDS
    assert "1 claims could not be computed" in capsys.readouterr().err


def test_without_a_folder_the_verdicts_are_on_the_screen_alone(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert cli.main(["claims", "--model", "specimen-random", "--lesson", "01", "--limit", "2"]) == 0
    printed = capsys.readouterr().out
    assert "01-softmax: Weights are a softmax" in printed and "measured: " in printed
    assert printed.endswith("claims\n") and not list(tmp_path.iterdir())
    assert cli.main(["claims", "--lesson", "01", "--quiet"]) == 1
    assert "would show nothing" in capsys.readouterr().err
