"""``bertlook record`` and ``bertlook show``, and the commands that take ``recorded:FILE`` for a model."""

import json
import re

import numpy as np
import pytest
import tiny
from made import conllu
from made import read_rows as rows

from bertlook_bench import line as cli
from bertlook_course import load_treebank
from bertlook_course.analyses.syntax import predicted_governors
from bertlook_teach import HeadExplorer, extract_attention, load_encoder, load_recording
from bertlook_teach.disk import data_path
from bertlook_teach.measures import profile_heads

MARKUP = "the <script>alert(1)</script> cat"
TEXTS = f"the cat sat on the mat.\n{MARKUP}\na dog chased it.\nthe cat sat on the mat.\n"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("recorded")
    tiny.save_tiny_model(folder / "model")
    tiny.save_tiny_model(folder / "bytes", "roberta")
    (folder / "texts.txt").write_text(TEXTS, encoding="utf-8")
    (folder / "other.txt").write_text("the dog sat.\n", encoding="utf-8")
    (folder / "trees.conllu").write_text(2 * conllu("ca n't", (0, 1)), encoding="utf-8")
    assert record(folder, folder / "tiny.bertlook", "--with-vectors") == 0
    return folder


def record(folder, out, *more):
    return run(
        "record", "--model", folder / "model", "--texts", folder / "texts.txt", "--out", out, "--quiet", *more
    )


def run(*args):
    return cli.main([str(a) for a in args])


# --- record ---------------------------------------------------------------------------------------------------


def test_a_text_that_comes_twice_is_recorded_once_and_that_is_said(folder, tmp_path, capsys):
    assert record(folder, tmp_path / "a.bertlook", "--label", "Tiny") == 0
    said = capsys.readouterr()
    assert (
        "1 texts came more than once, as the model reads them" in said.err
        and "3 inputs, 3 layers x 2 heads" in said.out
    )
    recording = load_recording(tmp_path / "a.bertlook")
    assert recording.badge == "Tiny (model), recorded" and recording.texts_with_vectors == ()
    encoder = load_encoder(folder / "model")
    assert recording.model_fingerprint == encoder.fingerprint


def test_with_vectors_and_a_limit(folder, tmp_path):
    assert record(folder, tmp_path / "a.bertlook", "--with-vectors", "--limit", "1") == 0
    recording = load_recording(tmp_path / "a.bertlook")
    assert recording.texts_with_vectors == recording.texts == ("the cat sat on the mat.",)


# --- show -----------------------------------------------------------------------------------------------------


def test_the_inputs_are_listed(folder, capsys):
    assert run("show", folder / "tiny.bertlook") == 0
    said = capsys.readouterr().out
    assert "recorded, not computed here" in said and "   3  a dog chased it." in said


def test_a_page_holds_the_attention_and_runs_nothing_of_the_tokens(folder, tmp_path, capsys):
    page = tmp_path / "page.html"
    assert run("show", folder / "tiny.bertlook", "--input", 2, "--head", "3-2", "--out", page) == 0
    source = page.read_text(encoding="utf-8")
    assert "<script>alert" not in source and "&lt;script&gt;alert" in source
    assert ", recorded)</title>" in source
    state = json.loads(
        re.search(r'<script id="bertlook-saved" type="application/json">(.*?)</script>', source).group(1)
    )
    view = next(one["state"] for one in state["views"] if one["module"] == "head_view")
    assert (view["layer"], view["head"]) == (2, 1) and view["shape"][:2] == [3, 2]


def test_the_explorer_takes_a_recording_as_it_takes_an_encoder():
    recording = load_recording("bert-base-uncased")
    explorer = HeadExplorer(recording, "the cat sat on the mat")
    assert explorer.attention.recorded == "BERT-base, recorded" and explorer.head_view.shape == [12, 12, 8]
    explorer.text_box.text.value = "another sentence"
    assert "is not among the 12 inputs recorded of bert-base-uncased" in explorer.text_box.message.value
    assert explorer.attention.text == "the cat sat on the mat"
    explorer.text_box.text.value = "Time flies like an arrow"
    assert explorer.attention.text == "time flies like an arrow" and not explorer.text_box.message.value


def test_the_shipped_recording_has_a_page(tmp_path):
    assert run("show", "bert-base-uncased", "--input", 7, "--out", tmp_path / "page.html") == 0
    source = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert (
        "<title>the animal didn&#x27;t cross the street because it was too tired. (BERT-base, recorded)</title>"
        in source
    )


# --- recorded:FILE --------------------------------------------------------------------------------------------


def test_a_recording_is_measured_as_its_model_would_be(folder, tmp_path, capsys):
    model = f"recorded:{folder / 'tiny.bertlook'}"
    assert run("profile", "--model", model, "--out", tmp_path / "a", "--quiet") == 0
    assert "recorded: 3 texts" in capsys.readouterr().out
    encoder = load_encoder(folder / "model")
    texts = load_recording(folder / "tiny.bertlook").texts
    expected = profile_heads(encoder, texts).mean("entropy_clark")
    found = [float(row["entropy_clark"]) for row in rows(tmp_path / "a" / "profile.csv")]
    assert found == pytest.approx(expected.ravel().tolist(), abs=1e-3)
    about = json.loads((tmp_path / "a" / "profile.json").read_text(encoding="utf-8"))
    assert about["recorded"] == "recorded, not computed here"


def test_a_treebank_is_scored_as_far_as_it_was_recorded(folder, tmp_path, capsys):
    trees = [
        conllu("the cat sat on the mat .", (2, 3, 0, 6, 6, 3, 3), "det nsubj root case det obl punct"),
        conllu("a dog chased it .", (2, 3, 0, 3, 3), "det nsubj root obj punct"),
        conllu("the cat sat", (2, 3, 0), "det nsubj root"),
    ]
    data = tmp_path / "t.conllu"
    data.write_text("".join(trees), encoding="utf-8")
    tables = []
    for model in (f"recorded:{folder / 'tiny.bertlook'}", folder / "model"):
        read = data
        if model == folder / "model":  # without the third sentence, which was not recorded
            read = tmp_path / "two.conllu"
            read.write_text("".join(trees[:2]), encoding="utf-8")
        more = ["--min-cases", "2", "--permutations", "0", "--no-twin", "--quiet", "--out", tmp_path / "out"]
        assert run("syntax", "--model", model, "--data", read, *more) == 0
        said = capsys.readouterr().out
        tables.append((tmp_path / "out" / "syntax.csv").read_text(encoding="utf-8"))
        assert ("1 of 3 sentences left out: not among the recorded inputs." in said) == (read == data)
    assert tables[0] == tables[1]


def test_a_pattern_is_scored_on_what_was_recorded(folder, tmp_path, capsys):
    more = ["--model", f"recorded:{folder / 'tiny.bertlook'}", "--out", tmp_path, "--quiet"]
    assert run("pattern", "key.next()", *more) == 0
    assert "no random twin beside it" in capsys.readouterr().err
    about = json.loads((tmp_path / "pattern.json").read_text(encoding="utf-8"))
    assert about["about"]["files"].endswith(", recorded")


def test_two_recordings_of_the_same_texts_are_compared_as_their_models_would_be(folder, tmp_path, capsys):
    tiny.save_tiny_model(tmp_path / "after", seed=8)
    names = [f"recorded:{folder / 'tiny.bertlook'}", f"recorded:{tmp_path / 'after.bertlook'}"]
    more = ["--texts", folder / "texts.txt", "--quiet"]
    assert run("record", "--model", tmp_path / "after", *more, "--out", tmp_path / "after.bertlook") == 0
    assert run("compare", *names, "--out", tmp_path / "recorded", "--quiet") == 0
    assert "no random twin beside it" in capsys.readouterr().err
    (tmp_path / "once.txt").write_text("\n".join(TEXTS.splitlines()[:3]) + "\n", encoding="utf-8")
    more = ["--texts", tmp_path / "once.txt", "--no-twin", "--quiet", "--out", tmp_path / "computed"]
    assert run("compare", folder / "model", tmp_path / "after", *more) == 0
    found, expected = (rows(tmp_path / name / "compare.csv") for name in ("recorded", "computed"))
    for one, other in zip(found, expected, strict=True):
        assert float(one["cosine"]) == pytest.approx(float(other["cosine"]), abs=1e-4)
        assert float(one["js"]) == pytest.approx(float(other["js"]), abs=1e-4)


def test_recordings_of_different_shape_or_tokens_are_not_compared(folder, tmp_path, capsys):
    name = f"recorded:{folder / 'tiny.bertlook'}"
    assert run("compare", name, "recorded:bert-base-uncased", "--out", tmp_path, "--quiet") == 1
    said = capsys.readouterr().err
    assert "(12 x 12 heads): heads are compared one by one" in said
    more = ["--texts", folder / "texts.txt", "--out", tmp_path, "--quiet"]
    assert run("compare", name, "recorded:bert-base-uncased", *more) == 1
    assert "heads are compared one by one" in capsys.readouterr().err
    both = ["recorded:bert-base-cased", "recorded:bert-base-uncased"]
    for names in (both, both[::-1]):
        assert run("compare", *names, "--out", tmp_path, "--quiet") == 1
        assert "maps of different tokens cannot be compared" in capsys.readouterr().err


# --- a treebank -----------------------------------------------------------------------------------------------
def test_a_recorded_treebank_is_scored_exactly_as_the_model_scores_it(tmp_path, capsys):
    """The shipped one, with contractions, and the specimen: its words are recorded as the treebank cuts them."""
    out = tmp_path / "trees.bertlook"
    shipped = ["--data", data_path("treebank", "treebank.conllu"), "--limit", "80", "--quiet"]
    assert run("record", *shipped, "--out", out) == 0
    words = {word for attention in load_recording(out).values() for word in attention.words}
    assert {"n't", "'s"} <= words
    tables = []
    for model in ("specimen", f"recorded:{out}"):
        more = ["--model", model, "--permutations", "0", "--no-twin", "--out", tmp_path / "table"]
        assert run("syntax", *shipped, *more) == 0
        said = capsys.readouterr().out
        assert "left out" not in said
        tables.append((tmp_path / "table" / "syntax.csv").read_text(encoding="utf-8"))
    assert tables[0] == tables[1]


def test_an_answer_of_a_recording_is_another_only_where_16_bits_cannot_tell_two_words_apart(tmp_path):
    """Why a p value moves in its second digit while accuracies stay: 2 answers of 1,000 hang on less than a part of 65,535 a wordpiece."""
    trees = load_treebank()[:60]
    path = tmp_path / "trees.bertlook"
    data = ["--data", data_path("treebank", "treebank.conllu"), "--limit", "60", "--quiet"]
    assert run("record", "--model", "specimen-random", *data, "--out", path) == 0
    encoder, recording = load_encoder("specimen-random"), load_recording(path)
    n, others, widest = 0, 0, 0.0
    for tree in trees:
        here, there = (
            extract_attention(one, words=tree.words).to_words("mean") for one in (encoder, recording)
        )
        real = ~np.asarray(here.special)
        weights = here.weights[..., real, :][..., real]
        one, other = predicted_governors(here), predicted_governors(there)
        n += one.size
        for direction, layer, head, word in np.argwhere(one != other):
            maps = weights[layer, head] if direction == 0 else weights[layer, head].T
            a, b = (maps[word, found[direction, layer, head, word]] for found in (one, other))
            others, widest = others + 1, max(widest, abs(float(a - b)))
    assert 0 < others < 0.004 * n
    assert widest < 3 / 65535


def test_the_random_twin_of_a_recorded_treebank_stands_beside_it(tmp_path, capsys):
    shipped = ["--data", data_path("treebank", "treebank.conllu"), "--limit", "30", "--quiet"]
    for name, more in (("model", []), ("twin", ["--random-twin"])):
        assert run("record", *shipped, *more, "--out", tmp_path / f"{name}.bertlook") == 0
    recorded, twin = (f"recorded:{tmp_path / name}.bertlook" for name in ("model", "twin"))
    more = [*shipped, "--permutations", "0", "--min-cases", "60"]
    assert run("syntax", *more, "--model", recorded, "--twin", twin, "--out", tmp_path / "a") == 0
    assert run("syntax", *more, "--model", "specimen", "--out", tmp_path / "b") == 0
    found, expected = (rows(tmp_path / name / "syntax.csv") for name in "ab")
    for one, other in zip(found, expected, strict=True):
        assert float(one["twin"]) == pytest.approx(float(other["twin"]), abs=0.02)  # of its 16 bits
    capsys.readouterr()
    assert run("syntax", *more, "--model", recorded, "--twin", recorded, "--out", tmp_path / "a") == 1
    assert "was not recorded as a random twin" in capsys.readouterr().err
    assert run("syntax", *more, "--model", recorded, "--out", tmp_path / "a") == 0
    assert "`bertlook record --random-twin` records one; name it with --twin" in capsys.readouterr().err
    both = ["--twin", twin, "--no-twin"]
    assert run("syntax", *more, "--model", recorded, *both, "--out", tmp_path / "a") == 1
    assert "give only one of them" in capsys.readouterr().err
    assert run("compare", "specimen", "specimen", "--twin", twin, "--out", tmp_path / "a") == 1
    assert "--twin goes with --model recorded:NAME" in capsys.readouterr().err


def test_what_the_model_cannot_read_whole_is_left_out_and_counted(folder, tmp_path, capsys):
    trees = [conllu("cat " * n, (0, *[1] * (n - 1))) for n in (3, 60)]
    (tmp_path / "t.conllu").write_text("".join(trees), encoding="utf-8")
    more = ["--data", tmp_path / "t.conllu", "--out", tmp_path / "a.bertlook", "--quiet"]
    assert run("record", "--model", folder / "model", *more) == 0
    assert (
        "1 of 2 sentences left out: longer than the model reads (32 wordpieces)." in capsys.readouterr().out
    )
    assert load_recording(tmp_path / "a.bertlook").texts == ("cat cat cat",)


# --- claims ---------------------------------------------------------------------------------------------------
def test_claims_are_decided_on_a_recording_and_its_recorded_twin(folder, tmp_path, capsys):
    assert record(folder, tmp_path / "twin.bertlook", "--random-twin") == 0
    model, twin = (f"recorded:{name}" for name in (folder / "tiny.bertlook", tmp_path / "twin.bertlook"))
    more = ["--lesson", "03", "--quiet", "--out", tmp_path / "claims"]
    assert run("claims", "--model", model, "--twin", twin, *more) == 0
    said = capsys.readouterr().out
    assert "recorded, not computed here: 3 single texts, 0 pairs" in said
    about = json.loads((tmp_path / "claims" / "claims.json").read_text(encoding="utf-8"))
    assert about["recorded"] == "recorded, not computed here" and about["texts"] == "3 recorded"
    assert {row["verdict"] for row in about["claims"]} == {"cannot be decided here"}  # of so few inputs
    assert "recorded, not computed here" in (tmp_path / "claims" / "claims.html").read_text(encoding="utf-8")


# --- in the words of the command line -------------------------------------------------------------------------
def test_a_message_names_the_option_and_counts_lines_from_one(folder, tmp_path, capsys):
    (tmp_path / "long.txt").write_text(f"a cat sat.\n{'cat ' * 40}\n", encoding="utf-8")
    more = ["--texts", tmp_path / "long.txt", "--out", tmp_path / "a.bertlook", "--quiet"]
    assert run("record", "--model", folder / "model", *more) == 1
    said = capsys.readouterr().err
    assert "text 2 of the corpus: the text is 42 wordpieces long" in said
    assert "read only its beginning, with --truncate." in said and "truncate=" not in said


def test_inputs_that_were_cut_are_named(folder, tmp_path, capsys):
    (tmp_path / "long.txt").write_text(f"a cat sat.\n{'cat ' * 40}\n", encoding="utf-8")
    out = tmp_path / "a.bertlook"
    more = ["--texts", tmp_path / "long.txt", "--out", out, "--quiet", "--truncate"]
    assert run("record", "--model", folder / "model", *more) == 0
    assert "1 inputs were cut to the 32 wordpieces the model reads." in capsys.readouterr().err
    assert run("show", out) == 0
    first, second = capsys.readouterr().out.splitlines()[1:]
    assert first.endswith("a cat sat.") and second.endswith("...  (cut to 32 wordpieces)")
    assert len(second) < 140
    assert run("show", out, "--input", 2, "--out", tmp_path / "page.html") == 0
    assert "input 2 of 2; the model read its first 32 wordpieces, the rest was cut" in capsys.readouterr().out


@pytest.mark.parametrize("command", ["profile", "compare", "syntax", "pattern", "claims"])
def test_the_help_says_that_recordings_are_taken(command, capsys):
    with pytest.raises(SystemExit):
        run(command, "--help")
    assert "recorded:" in capsys.readouterr().out


def test_a_label_never_hides_the_model(folder, tmp_path, capsys):
    for taken in ("BERT-base", "bert-base ", "bert-base-cased", "specimen", "specimen-random"):
        assert record(folder, tmp_path / "no.bertlook", "--label", taken) != 0
        said = capsys.readouterr().err
        assert f"{taken.strip()!r} is the name of another model, and model gave these maps" in said
    assert not (tmp_path / "no.bertlook").exists()
    out = tmp_path / "my.bertlook"
    for label, badge in (
        ("my BERT", "my BERT (model), recorded"),
        ("  ", "model, recorded"),
        ("model", "model, recorded"),
    ):
        assert record(folder, out, "--label", label) == 0
        assert load_recording(out).badge == badge
        assert run("claims", "--lesson", "03", "--model", f"recorded:{out}") == 0
        assert f"{badge}, not computed here: 3 single texts, 0 pairs" in capsys.readouterr().out


def test_a_profile_of_examples_says_that_they_are_no_sample(tmp_path, capsys):
    assert run("profile", "--model", "recorded:bert-base-uncased", "--out", tmp_path, "--quiet") == 0
    assert (
        "BERT-base, recorded: 7 single texts and 5 pairs. Examples are not a sample"
        in capsys.readouterr().err
    )


# --- refusals -------------------------------------------------------------------------------------------------
RECORD = "record --model FOLDER/model --texts FOLDER/texts.txt --out OUT/x"
TINY = "--model recorded:FOLDER/tiny.bertlook"
BASE = "claims --lesson 03 --model recorded:bert-base-uncased"


@pytest.mark.parametrize(
    "words, message",
    [
        (f"{RECORD}.npz", r"--out names the file to write, \*.bertlook; got '.*x.npz'"),
        (f"{RECORD}.bertlook --limit 0", "--limit must be at least 1"),
        (f"{RECORD}.bertlook --model recorded:y", "here a model is needed that can be run"),
        ("record --model FOLDER/bytes --data FOLDER/trees.conllu --out OUT/x.bertlook", "sees where blanks are"),
        ("show FOLDER/tiny.bertlook --input 4", "--input 4: .* was recorded on 3 inputs"),
        ("show FOLDER/tiny.bertlook --input 0", "--input must be at least 1"),
        ("show FOLDER/tiny.bertlook --head 4-1 --out OUT/page.html", "no head 4-1: .* has 3 layers of 2 heads"),
        ("show FOLDER/tiny.bertlook --out OUT/page.txt", "a page is an .html file"),
        (f"profile {TINY} --texts FOLDER/other.txt --out OUT/a", "'the dog sat.' is not among the 3 inputs recorded"),
        (f"probe {TINY} --out OUT/a", "recorded attention, and here a model is needed that can be run"),
        (f"syntax {TINY} --data FOLDER/trees.conllu --no-twin --out OUT/a", "`bertlook record --data`"),
        ("claims --lesson 03 --model specimen --twin recorded:x", "--twin goes with --model recorded:NAME"),
        (f"{BASE} --twin specimen", "--twin names a recording"),
        (f"{BASE} --texts x", "leave out --texts and --pairs"),
        (f"{BASE} --recompute", "--recompute runs the model again"),
        (f"{BASE} --twin recorded:bert-base-cased", "bert-base-cased was not recorded as a random twin"),
        *((f"{command} --model recorded: --out OUT/a", "recorded: needs a name behind the colon: recorded:bert-base-uncased")
          for command in ("profile", "syntax", "claims")),
    ],
)  # fmt: skip
def test_what_cannot_be_done_with_recordings_is_refused(words, message, folder, tmp_path, capsys):
    words = words.replace("FOLDER", str(folder)).replace("OUT", str(tmp_path)).split()
    assert run(*words) == 1
    assert re.search(message, capsys.readouterr().err)
