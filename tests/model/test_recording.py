"""Recorded attention: the shipped recordings of BERT-base, the file format, and every way in which a file can be wrong."""

import io
import json
import zipfile
from dataclasses import replace

import numpy as np
import pytest
from tiny import save_tiny_model

from bertlook_course.analyses.anatomy import neuron_view
from bertlook_course.storage import matching_of, write_recording
from bertlook_teach import (
    Attention,
    extract_attention,
    iter_attention,
    load_encoder,
    load_recording,
    parse_head_label,
)
from bertlook_teach.disk import data_path
from bertlook_teach.measures import profile_heads
from bertlook_teach.model import (
    NOT_RECORDED,
    SHIPPED_RECORDINGS,
    NotComputed,
    NotRecorded,
    check_reading,
    input_key,
    random_twin,
)

CAT = "the cat sat on the mat"
NEIGHBOURS = {"bert-base-uncased": ((2, 0), (3, 5)), "bert-base-cased": ((2, 3), (3, 11))}  # next, previous


@pytest.fixture(scope="module", params=SHIPPED_RECORDINGS)
def shipped(request):
    return load_recording(request.param)


@pytest.fixture(scope="module")
def uncased():
    return load_recording("bert-base-uncased")


# --- what ships is what it says -----------------------------------------------------------------------------


def test_there_are_fourteen_inputs_of_twelve_times_twelve_heads():
    both = [load_recording(name) for name in SHIPPED_RECORDINGS]
    assert [len(one) for one in both] == [12, 2]
    assert {(one.n_layers, one.n_heads) for one in both} == {(12, 12)}
    assert {one[text].weights.dtype for one in both for text in one} == {np.dtype(np.float32)}


def test_every_row_sums_to_one(shipped):
    for attention in shipped.values():
        assert attention.weights.sum(-1) == pytest.approx(1, abs=1e-6)


def test_the_heads_that_look_at_a_neighbour_are_the_published_ones(shipped):
    """The check that tells the published model from any other: no head of 144 looks more at the next, and none at the previous token."""
    following, previous = NEIGHBOURS[shipped.name]

    def from_words(attention, offset):
        words = [i for i in range(attention.n_tokens) if not attention.special[i] and i + offset > 0]
        return np.mean([attention.weights[:, :, i, i + offset] for i in words], axis=0)

    to_next = np.array([from_words(attention, +1) for attention in shipped.values()])
    to_previous = np.array([from_words(attention, -1) for attention in shipped.values()])
    assert to_next[(slice(None), *following)].min() > 0.97  # in every single input
    assert to_next.mean(0)[following] == to_next.mean(0).max()
    assert to_previous.mean(0)[previous] == to_previous.mean(0).max() > 0.7


def test_queries_and_keys_give_the_weights(uncased):
    assert len(uncased.texts_with_vectors) == 3
    for text in uncased.texts_with_vectors:
        attention = uncased[text]
        scores = attention.queries @ attention.keys.swapaxes(-1, -2) / 8
        weights = np.exp(scores - scores.max(-1, keepdims=True))
        assert np.abs(weights / weights.sum(-1, keepdims=True) - attention.weights).max() < 1e-4


def test_every_input_says_where_it_was_found(shipped):
    for text in shipped:
        source = shipped.source(text)
        assert source["repository"].count("/") == 1 and len(source["commit"]) == 40 and source["path"]
        assert source["copies"] >= source["repositories"] >= 1


def test_the_readme_has_the_table_of_sources():
    readme = data_path("bert_base", "README.md").read_text(encoding="utf-8")
    listed = [line.split(" | ")[:-1] for line in readme.splitlines() if line.startswith("| bert-base-")]
    expected = []
    for recording in map(load_recording, SHIPPED_RECORDINGS):
        for text in recording:
            source = recording.source(text)
            shown = text if isinstance(text, str) else " / ".join(text)
            vectors = "yes" if text in recording.texts_with_vectors else ""
            where = [source["repository"], f"`{source['path']}`", f"`{source['commit'][:12]}`"]
            expected.append([f"| {recording.name}", shown, str(recording[text].n_tokens), vectors, *where])
    assert listed == expected
    assert "Apache License 2.0" in readme


def test_the_examples_of_the_readme_are_in_the_numbers(uncased):
    readme = data_path("bert_base", "README.md").read_text(encoding="utf-8")
    shown = readme.split("## What they show")[1].split("## Where")[0]
    rows = [
        [cell.strip() for cell in line.strip("|").split("|")] for line in shown.splitlines() if "-" in line
    ]
    rows = [row for row in rows if row[0][0].isdigit()]
    assert len(rows) == 9
    text = ""
    for label, query, key, weight, given in rows:
        text = text if given == "the same" else given
        attention = uncased[tuple(text.split(" / ")) if " / " in text else text]
        i, j = (places(attention.tokens, words) for words in (query, key))
        row = attention.head(*parse_head_label(label))[i]
        assert f"{row[j]:.2f}"[1:] == weight.split(",")[0], (label, query, row[j])
        most = attention.tokens[row.argmax()]
        assert most == ("[SEP]" if "more to [SEP]" in weight else attention.tokens[j])


def places(tokens, words):
    """Where "the (second)" stands; a word alone is the first of its kind."""
    word, _, which = words.partition(" ")
    return [i for i, token in enumerate(tokens) if token == word][which == "(second)"]


def test_everything_together_is_small():
    files = [path for path in data_path("bert_base").rglob("*") if path.is_file()]
    assert sum(path.stat().st_size for path in files) < 2_000_000


# --- a model of recordings ----------------------------------------------------------------------------------


def test_it_says_that_it_is_recorded(uncased):
    assert uncased.badge == "BERT-base, recorded" and uncased.note == "recorded, not computed here"
    assert uncased.note in repr(uncased)
    attention = uncased[CAT]
    assert attention.recorded == attention.to_words().recorded == uncased.badge
    assert uncased.badge in repr(attention)
    assert attention.model == "bert-base-uncased"


def test_what_is_computed_here_has_no_badge(tiny):
    attention = extract_attention(tiny, "the cat")
    assert attention.recorded == "" and "recorded" not in repr(attention)


def test_it_answers_the_call_of_an_encoder(uncased):
    attention = extract_attention(uncased, "The  cat sat on the MAT")  # BERT's tokenizer sees neither
    assert np.array_equal(attention.weights, uncased[CAT].weights)
    pair = extract_attention(uncased, CAT, "the cat lay on the rug")
    assert pair.n_tokens == 15 and pair.segment_ids == (0,) * 8 + (1,) * 7
    both = list(iter_attention(uncased, [CAT, (CAT, "the cat lay on the rug")]))
    assert [one.n_tokens for one in both] == [8, 15]


def test_an_input_in_words_may_join_what_the_tokenizer_parts(uncased):
    words = ["the", "animal", "didn't", "cross", "the", "street", "because", "it", "was", "too", "tired."]
    attention = extract_attention(uncased, words=words)
    assert attention.words == tuple(words)
    assert [attention.tokens[i] for i, w in enumerate(attention.word_ids) if w == 2] == ["didn", "'", "t"]
    assert attention.to_words().n_tokens == len(words) + 2
    assert check_reading(uncased, words) == (16, "")
    assert check_reading(uncased, ["another"]).obstacle == NOT_RECORDED


@pytest.mark.parametrize(
    ("one", "other", "alike"),
    [
        ("It was 20 °C.", "it was 20 °c .", True),
        ("It was 20 °C.", "It was 20°C.", False),  # °C is then cut from a longer word
        ("It costs € 5.", "It costs €5.", False),
        ("nice 😀 day", "nice😀 day", False),
        ("a+b", "a + b", True),
        ("don't", "don ' t", True),
        ("well-known “book”", "well - known “ book ”", True),
        ("東京 x", "東 京 x", True),
        ("the [MASK] book", "the [MASK]  book", True),
    ],
)
def test_inputs_are_the_same_if_the_tokenizer_sees_the_same(one, other, alike):
    """The second way: the tokenizer itself, before and after it looks into its vocabulary."""
    assert (input_key(one, "lowered words") == input_key(other, "lowered words")) is alike
    tokenizer = load_encoder("specimen").tokenizer
    assert alike <= (tokenizer.tokenize(one) == tokenizer.tokenize(other))
    if "[MASK]" not in one:
        rules = tokenizer.backend_tokenizer
        cut = [
            [word for word, _ in rules.pre_tokenizer.pre_tokenize_str(rules.normalizer.normalize_str(text))]
            for text in (one, other)
        ]
        assert (cut[0] == cut[1]) is alike


def test_what_the_model_was_told_of_a_pair_is_not_guessed(uncased):
    pair = next(text for text in uncased if isinstance(text, tuple))
    assert (
        uncased.recall(CAT, segments="zeros").tokens == uncased[CAT].tokens
    )  # one text: the same either way
    with pytest.raises(NotRecorded, match="recorded with segments='unknown', not 'zeros'"):
        uncased.recall(pair, segments="zeros")


@pytest.mark.parametrize("item", ["hello", (CAT, "hello"), "the author talked to sara about mask book", ""])
def test_another_sentence_is_refused_with_what_there_is_and_what_to_do(uncased, item):
    with pytest.raises(NotRecorded) as error:
        uncased.recall(item)
    for part in ("'time flies like an arrow'", "load_encoder('bert-base-uncased')", "network"):
        assert part in str(error.value)
    assert item not in uncased


def test_the_number_of_the_item_is_said(uncased):
    with pytest.raises(ValueError, match="item 1 of the corpus: 'hello' is not among"):
        list(iter_attention(uncased, [CAT, "hello"]))


def test_vectors_come_when_asked_for_and_only_where_recorded(uncased):
    arrow = "time flies like an arrow"
    assert extract_attention(uncased, arrow).queries is None
    view = neuron_view(extract_attention(uncased, arrow, vectors=True), 2, 0, 1)
    assert view.head_size == 64
    with pytest.raises(NotRecorded, match="were not recorded. They were for: 'time flies like an arrow'"):
        extract_attention(uncased, CAT, vectors=True)


def test_segments_that_were_not_recorded_are_refused(tiny, tmp_path):
    pair = extract_attention(tiny, "the cat", "it sat")
    recording = write_recording(tmp_path / "a.bertlook", [pair])
    assert np.array_equal(
        extract_attention(recording, "the cat", "it sat").weights, recording[pair.text, "it sat"].weights
    )
    with pytest.raises(NotRecorded, match="segments='standard', not 'zeros'"):
        extract_attention(recording, "the cat", "it sat", segments="zeros")


def test_every_measure_takes_it(uncased):
    profile = profile_heads(uncased, uncased.texts)
    assert profile.n == 12 and profile.about["fingerprint"] == uncased.fingerprint
    assert profile.mean("next")[2, 0] == profile.mean("next").max()


def test_a_recording_is_a_key_like_an_encoder(uncased):
    assert {uncased: 1}[uncased] == 1 and uncased != load_recording("bert-base-uncased")
    assert uncased.fingerprint == load_recording("bert-base-uncased").fingerprint


def test_what_needs_the_model_itself_says_that_it_is_recorded(uncased):
    with pytest.raises(NotComputed, match="recorded, not computed here, so it has no tokenizer: .*12 inputs"):
        uncased.tokenizer  # noqa: B018
    with pytest.raises(ValueError, match="so it has no model"):
        random_twin(uncased)
    assert not hasattr(uncased, "attend") and not hasattr(uncased, "anything")


# --- the file -----------------------------------------------------------------------------------------------


@pytest.fixture
def recorded(tiny, tmp_path):
    """A recording of two inputs by a tiny model: the attention, and the file."""
    attentions = list(iter_attention(tiny, ["the cat sat", ("the dog", "it was tired.")], vectors=True))
    path = tmp_path / "tiny.bertlook"
    write_recording(
        path, attentions, model_fingerprint=tiny.fingerprint, matching=matching_of(tiny), label="Tiny"
    )
    return attentions, path


def test_the_badge_of_an_older_file_names_the_model_too(uncased):
    badges = {
        label: replace(uncased, name="specimen", label=label).badge
        for label in ("BERT-base", " ", "specimen")
    }
    assert badges == {"BERT-base": "BERT-base (specimen), recorded"} | dict.fromkeys(
        (" ", "specimen"), "specimen, recorded"
    )


def test_what_was_written_is_read(recorded):
    attentions, path = recorded
    recording = load_recording(path)
    assert recording.badge == f"Tiny ({recording.name}), recorded"
    for before, after in zip(attentions, recording.values()):
        assert np.abs(after.weights - before.weights).max() < 1 / 65535
        for name in ("queries", "keys", "values"):
            gap = np.abs(getattr(after, name) - getattr(before, name)).max()
            assert gap < np.abs(getattr(before, name)).max() / 30000
        same = "tokens word_ids segment_ids special words text text_pair segments"
        for name in same.split():
            assert getattr(after, name) == getattr(before, name)
    saved = path.with_suffix(".npz")
    recording["the cat sat"].save(saved)
    assert Attention.load(saved).recorded == recording.badge


def test_writing_twice_gives_the_same_recording(recorded, tmp_path):
    attentions, path = recorded
    again = write_recording(tmp_path / "again.bertlook", attentions, model_fingerprint="x", label="Tiny")
    assert again.fingerprint != load_recording(path).fingerprint  # of other weights, it says
    assert write_recording(tmp_path / "b.bertlook", attentions).fingerprint != again.fingerprint


def test_byte_level_tokenizers_want_the_exact_text(tmp_path):
    roberta = load_encoder(save_tiny_model(tmp_path / "roberta", "roberta"))
    assert matching_of(roberta) == "exact"
    attentions = [extract_attention(roberta, "the cat"), extract_attention(roberta, words=["a", "dog"])]
    recording = write_recording(tmp_path / "a.bertlook", attentions)
    assert extract_attention(recording, "the cat").n_tokens == attentions[0].n_tokens
    with pytest.raises(NotRecorded):
        extract_attention(recording, "the  cat")


def members_of(path):
    with np.load(path, allow_pickle=False) as file:
        return {name: file[name] for name in file.files}


def tampered(path, change):
    """The file with its header and arrays changed."""
    members = members_of(path)
    about = json.loads(members.pop("about").tobytes())
    change(about, members)
    members["about"] = np.frombuffer(json.dumps(about).encode(), np.uint8)
    with path.open("wb") as file:
        np.savez(file, **members)
    return path


def scaled(about, members):
    members["w000"][1, 1, 2] //= 2


def swapped(about, members):
    members["w000"] = members["w000"][:, ::-1].copy()


def one_head_less(about, members):
    members["w001"] = members["w001"][:1]
    for name in "q001 q001_step k001 k001_step v001 v001_step".split():
        del members[name]


def header(**changes):
    """What the header says of the file."""
    return lambda about, members: about.update(changes)


def of_input(number, **changes):
    """What the header says of one input."""
    return lambda about, members: about["inputs"][number].update(changes)


def element(number, name, place, value):
    """One element of a list that an input has."""
    return lambda about, members: about["inputs"][number][name].__setitem__(place, value)


WRONG = {
    "rows": (scaled, r"input 1: row 3 of head 2-2, that of .*, sums to 0\.5000, and attention sums to 1"),
    "no tokens": (lambda about, _: about["inputs"][1].pop("tokens"), "input 2: its tokens are missing"),
    "empty tokens": (of_input(1, tokens=[]), "input 2: its tokens are missing"),
    "fewer tokens": (lambda about, _: about["inputs"][0]["tokens"].pop(), "4 tokens for weights between 5"),
    "token kind": (element(0, "tokens", 0, 7), "tokens is not a list of"),
    "no words": (lambda about, _: about["inputs"][0].pop("words"), "input 1: words missing"),
    "word": (element(0, "word_ids", 1, 9), "a word that is not in its 3"),
    "segment": (element(1, "segment_ids", 0, 2), "segment ids are 0 and 1"),
    "rule": (of_input(1, segments="all"), "segments must be one of standard"),
    "cut": (of_input(1, truncated="no"), "truncated is true or false"),
    "text": (of_input(0, text=3), "text and text_pair must be texts"),
    "version": (header(version=2), "version 2 of the format.*reads version 1"),
    "format": (header(format="zip"), "not a recording of this course"),
    "name": (lambda about, _: about.pop("model"), "does not say its 'model'"),
    "blank name": (header(model=" "), "does not say its 'model'"),
    "name that does not print": (header(model="a\u202e"), "do not print"),
    "another name": (header(label="BERT"), "its checksum does not fit"),
    "matching": (header(matching="most"), "matching must be one of"),
    "no inputs": (header(inputs=[]), "lists no inputs"),
    "steps": (lambda _, members: members["q000_step"].__setitem__((0, 0), np.inf), "the step of its queries"),
    "no step": (lambda _, members: members.pop("q000_step"), "the step of its queries is missing"),
    "nothing": (
        lambda _, m: m.update(w000=m["w000"][:, :0]),
        "its weights are missing or not uint16 of shape",
    ),
    "no weights": (lambda _, members: members.pop("w000"), "input 1: its weights are missing"),
    "too many": (lambda _, members: members.update(w007=members["w000"]), "holds w007, which"),
    "vectors": (lambda _, m: m.update(k000=m["k000"][:, :, 1:]), "its keys are not int16 of shape"),
    "heads": (one_head_less, "different numbers of layers and heads"),
    "another head": (swapped, "changed after it was written: its checksum does not fit"),
}


def test_of_two_files_of_one_name_no_more_is_said_than_is_known(recorded, tmp_path):
    attentions, _ = recorded
    write_recording(tmp_path / "a.bertlook", attentions[:1], model_fingerprint="aaaa")
    write_recording(tmp_path / "b.bertlook", attentions[1:])
    (tmp_path / "tiny.bertlook").unlink()
    with pytest.raises(ValueError, match=r"both called .* b\.bertlook does not say which weights gave it"):
        load_recording(tmp_path)


def test_files_that_call_one_model_differently_give_it_its_own_name(recorded, tmp_path):
    attentions, path = recorded
    path.unlink()
    for name, label, one in (("a", "Mine", attentions[0]), ("b", "Yours", attentions[1])):
        write_recording(tmp_path / f"{name}.bertlook", [one], label=label, about=f"{name}.")
    both = load_recording(tmp_path)
    assert both.badge == f"{both.name}, recorded" and both.about == "a.; b."


def test_a_folder_is_named_without_the_way_to_it(tiny, tmp_path):
    one = replace(extract_attention(tiny, "the cat"), model="/home/ada/secret/mine")
    assert write_recording(tmp_path / "a.bertlook", [one], label="Ada's").badge == "Ada's (mine), recorded"
    hub = write_recording(tmp_path / "b.bertlook", [replace(one, model="someone/bert")])
    assert hub.name == "someone/bert"


@pytest.mark.parametrize("label", ["BERT base", "bert-BASE", "BERT_Base (Cased)", "Bert\u2010base"])
def test_no_spelling_of_another_models_name_is_a_label(recorded, tmp_path, label):
    with pytest.raises(ValueError, match="is the name of another model"):
        write_recording(tmp_path / "a.bertlook", recorded[0], label=label)


@pytest.mark.parametrize("label", ["a\u202eb", "a\nb", "a\x00"])
def test_a_label_prints(recorded, tmp_path, label):
    with pytest.raises(ValueError, match="do not print"):
        write_recording(tmp_path / "a.bertlook", recorded[0], label=label)


def test_what_is_no_text_is_not_in_a_recording(uncased):
    assert 5 not in uncased and None not in uncased and "The CAT sat on the mat" in uncased


@pytest.mark.parametrize("change, message", WRONG.values(), ids=WRONG)
def test_a_file_that_is_not_what_was_written_is_refused(recorded, change, message):
    with pytest.raises(ValueError, match=message):
        load_recording(tampered(recorded[1], change))


@pytest.mark.parametrize("share", [0, 0.1, 0.5, 0.99])
def test_a_truncated_file_is_refused(recorded, share):
    path = recorded[1]
    content = path.read_bytes()
    path.write_bytes(content[: int(share * len(content))])
    with pytest.raises(ValueError, match="cut short, damaged, or another kind of file"):
        load_recording(path)


def test_other_files_are_refused_and_nothing_in_them_is_run(tmp_path):
    path = tmp_path / "other.bertlook"
    with path.open("wb") as file:
        np.save(file, np.array([{"a": 1}], dtype=object), allow_pickle=True)
    with pytest.raises(ValueError, match="another kind of file"):
        load_recording(path)
    inside = io.BytesIO()
    np.save(inside, np.array([{"a": 1}], dtype=object), allow_pickle=True)
    with zipfile.ZipFile(path, "w") as file:
        file.writestr("about.npy", inside.getvalue())
    with pytest.raises(ValueError, match="another kind of file"):
        load_recording(path)
    with path.open("wb") as file:
        np.savez(file, weights=np.eye(2))
    with pytest.raises(ValueError, match="not a recording of this course"):
        load_recording(path)


@pytest.mark.parametrize("about", [b"not an array", b"[" * 200_000])
def test_a_foreign_archive_is_no_recording(tmp_path, about):
    path = tmp_path / "foreign.bertlook"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("about", about)
    with pytest.raises(ValueError, match="another kind of file"):
        load_recording(path)
    np.savez(tmp_path / "deep.npz", about=np.frombuffer(about, dtype=np.uint8))
    with pytest.raises(ValueError, match="is not a recording of this course"):
        load_recording((tmp_path / "deep.npz").rename(path))


def test_a_missing_file_or_an_empty_folder_says_what_to_give(tmp_path):
    with pytest.raises(FileNotFoundError, match="'bert-base-uncased' or 'bert-base-cased', a .bertlook file"):
        load_recording(tmp_path / "nothing.bertlook")
    with pytest.raises(FileNotFoundError, match="holds no \\*.bertlook file"):
        load_recording(tmp_path)


def test_two_models_are_never_mixed(recorded, tmp_path):
    attentions, _ = recorded
    folder = tmp_path / "both"
    folder.mkdir()
    write_recording(folder / "a.bertlook", attentions, model_fingerprint="aaaa")
    write_recording(folder / "b.bertlook", attentions[:1], model_fingerprint="bbbb")
    with pytest.raises(
        ValueError, match=r"(?s)different models, .*aaaa.*bbbb.*Both hold 'the cat sat'.*never mixed"
    ):
        load_recording(folder)
    with pytest.raises(ValueError, match="one recording is of one model; these are of .*other"):
        write_recording(
            tmp_path / "c.bertlook", [attentions[0], replace(attentions[1], model="other", text="x")]
        )


def test_the_files_of_one_model_are_one_recording(recorded, tmp_path):
    attentions, _ = recorded
    folder = tmp_path / "one"
    folder.mkdir()
    for name, attention in zip("ab", attentions):
        write_recording(folder / f"{name}.bertlook", [attention])
    assert load_recording(folder).texts == ("the cat sat", ("the dog", "it was tired."))
    write_recording(folder / "c.bertlook", attentions[:1])
    with pytest.raises(ValueError, match="c.bertlook and a.bertlook both hold 'the cat sat'"):
        load_recording(folder)


def test_what_is_not_attention_is_not_written(recorded, tmp_path):
    attention, path = recorded[0][0], tmp_path / "x.bertlook"
    bad = attention.weights.copy()
    bad[1, 0, 2] *= 0.9
    for wrong, message in (
        ([replace(attention, weights=bad)], r"input 1: row 3 of head 2-1 sums to 0\.9000"),
        ([replace(attention, weights=bad * np.nan)], "row 1 of head 1-1 sums to nan"),
        ([attention.to_words()], "input 1 is between words"),
        ([attention, attention], "'the cat sat' comes twice"),
        ([replace(attention, queries=attention.queries * np.inf)], "its queries hold NaN or infinity"),
        ([], "there was no input"),
    ):
        with pytest.raises(ValueError, match=message):
            write_recording(path, wrong)
    with pytest.raises(ValueError, match=r"named \*.bertlook; got 'x.npz'"):
        write_recording(tmp_path / "x.npz", [attention])
    with pytest.raises(ValueError, match="matching must be one of"):
        write_recording(path, [attention], matching="any")
    assert not path.exists()


def test_a_pair_in_the_other_order_is_named():
    recording = load_recording("bert-base-uncased")
    with pytest.raises(
        NotRecorded, match="other order: .'the cat sat on the mat', 'the cat lay on the rug'."
    ):
        recording["The cat lay on the rug", "the cat sat on the mat"]
    with pytest.raises(NotRecorded, match="is not among the 12 inputs"):
        recording["the cat sat on the mat", "the cat sat on the mat"]


# --- which text is it -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text", ["ΟΔΟΣ cat", "οδος cat", "a\x1cb cat", "a\u200bb cat", "İstanbul", "CAFÉ", "20 °C"]
)
def test_texts_match_as_the_tokenizer_reads_them(specimen, text):
    """Two texts are one recorded input exactly where the tokenizer gives both the same pieces."""
    matching, others = (
        matching_of(specimen),
        ["οδος cat", "οδοσ cat", "ab cat", "a b cat", "istanbul", "cafe", "20°C"],
    )
    for other in others:
        alike = specimen.tokenizer(text)["input_ids"] == specimen.tokenizer(other)["input_ids"]
        assert (input_key(text, matching) == input_key(other, matching)) == alike, (text, other)


def test_a_cut_input_is_given_only_where_cutting_is_allowed(tmp_path, specimen):
    long = "the cat sat on the mat " * 40
    write_recording(
        tmp_path / "a.bertlook", [extract_attention(specimen, long, truncate=True)], matching="words"
    )
    recording = load_recording(tmp_path / "a.bertlook")
    with pytest.raises(
        NotRecorded, match="was cut to 128 wordpieces when it was recorded. Pass truncate=True"
    ):
        extract_attention(recording, long)
    with pytest.raises(ValueError, match="item 0 of the corpus: .* truncate=True"):
        list(iter_attention(recording, [long]))
    assert extract_attention(recording, long, truncate=True).truncated


def test_a_twin_says_whose_it_is_and_other_files_have_no_word_of_it(tmp_path, specimen):
    attentions = [extract_attention(specimen, "the cat sat")]
    twin = write_recording(tmp_path / "twin.bertlook", attentions, model_fingerprint="x", twin_of="y")
    model = write_recording(tmp_path / "model.bertlook", attentions, model_fingerprint="x")
    assert (
        load_recording(tmp_path / "twin.bertlook").twin_of == "y"
        and load_recording(tmp_path / "model.bertlook").twin_of == ""
    )
    assert twin.fingerprint != model.fingerprint
    with pytest.raises(ValueError, match="different models"):
        load_recording(tmp_path)


def test_one_model_by_two_names_is_one_model(tmp_path, specimen):
    for number, text in enumerate(("the cat", "the dog")):
        attention = replace(extract_attention(specimen, text), model=f"name {number}")
        write_recording(tmp_path / f"{number}.bertlook", [attention], matching="words", model_fingerprint="x")
    assert len(load_recording(tmp_path)) == 2
