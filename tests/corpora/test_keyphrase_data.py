"""The texts with key phrases: every line of the shipped file, the reader, and what it says about broken files."""

import json
import math
import re
import unicodedata
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from made import write_lines
from transformers import AutoTokenizer

from bertlook_course.corpora import KeyphraseDocument, halves, load_keyphrases, read_keyphrases

DATA = Path(__file__).resolve().parents[2] / "data"
README = (DATA / "keyphrases" / "README.md").read_text(encoding="utf-8")
LINES = (DATA / "keyphrases" / "texts.jsonl").read_text(encoding="utf-8").splitlines()
ROWS = [json.loads(line) for line in LINES]
DOCUMENTS = load_keyphrases()

# A phrase is no noun phrase if it begins or ends with one of these.
NOT_AT_THE_ENDS = {
    "a", "an", "the", "this", "that", "these", "those", "his", "her", "its", "their", "our", "your", "my", "of", "in", "on", "at",
    "to", "for", "by", "with", "from", "and", "or", "but", "as", "is", "are", "was", "were", "be", "been", "it", "he", "she", "they",
    "we", "you", "who", "which", "not", "no", "very", "so", "one",
}  # fmt: skip


@pytest.fixture(scope="module")
def tokenizer():
    return AutoTokenizer.from_pretrained(DATA / "model", local_files_only=True)


# ---- the shipped texts ----------------------------------------------------------------------------------------


def test_there_are_enough_texts_and_each_has_its_own_id_title_and_words():
    assert len(DOCUMENTS) == len(LINES) >= 160
    for field in ("id", "title", "text"):
        values = Counter(row[field].lower() for row in ROWS)
        assert [value for value, times in values.items() if times > 1] == []
    assert [row["id"] for row in ROWS if not re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)+", row["id"])] == []
    assert {tuple(row) for row in ROWS} == {("id", "title", "text", "keyphrases", "split")}


def test_no_sentence_stands_in_two_texts():
    sentences = [s for row in ROWS for s in re.split(r"(?<=[.?!]) +", row["text"])]
    assert [s for s, times in Counter(sentences).items() if times > 1] == []


def test_the_halves_are_every_other_line():
    assert [row["split"] for row in ROWS] == ["train" if i % 2 == 0 else "test" for i in range(len(ROWS))]
    train, test = halves(DOCUMENTS)
    assert (train, test) == (load_keyphrases("train"), load_keyphrases("test"))
    assert abs(len(train) - len(test)) <= 1
    subjects = [Counter(document.id.split("-")[0] for document in half) for half in (train, test)]
    assert all(abs(subjects[0][name] - subjects[1][name]) <= 1 for name in {**subjects[0], **subjects[1]})


def failing(holds):
    """The ids of the texts for which it does not hold, so that a message names them all."""
    return [document.id for document in DOCUMENTS if not holds(document)]


def test_a_text_has_60_to_110_words_and_ends_as_a_text_does():
    assert failing(lambda d: 60 <= len(d.text.split()) <= 110) == []
    assert failing(lambda d: d.text[-1] in '.?"' and d.text.count('"') % 2 == 0) == []
    assert failing(lambda d: d.text == " ".join(d.text.split()) and not d.title.endswith(".")) == []


def test_a_text_fits_the_specimen(tokenizer):
    pieces = {d.id: tokenizer(d.text)["input_ids"] for d in DOCUMENTS}
    assert failing(lambda d: len(pieces[d.id]) <= 128 and tokenizer.unk_token_id not in pieces[d.id]) == []


def test_every_phrase_occurs_letter_for_letter_as_whole_words():
    def holds(document):
        found = [re.search(rf"(?<!\w){re.escape(p)}(?!\w)", document.text) for p in document.keyphrases]
        return 3 <= len(found) <= 7 and all(found) and document.missing == ()

    assert failing(holds) == []


def test_a_phrase_is_short_and_begins_and_ends_with_a_word_of_content():
    def holds(document):
        for phrase in document.keyphrases:
            words = phrase.lower().split()
            if not (1 <= len(words) <= 4 and re.fullmatch(r"[\w' -]+", phrase)):
                return False
            if NOT_AT_THE_ENDS.intersection((words[0], words[-1])):
                return False
        return True

    assert failing(holds) == []


def test_a_phrase_inside_a_longer_one_also_stands_alone():
    """ "sleep" beside "deep sleep" is marked only if the text speaks of sleep as such."""

    def holds(document):
        for i, spans in enumerate(document.spans):
            longer = [span for j, places in enumerate(document.spans) if j != i for span in places]
            if all(any(a <= start and end <= b for a, b in longer) for start, end in spans):
                return False
        return True

    assert failing(holds) == []


def test_the_texts_are_in_plain_letters():
    def plain(character):
        accented = unicodedata.category(character) in ("Ll", "Lu") and "\u00c0" <= character <= "\u00ff"
        return " " <= character <= "~" or accented

    assert sorted({c for row in ROWS for c in row["text"] + row["title"] if not plain(c)}) == []


def test_the_phrases_are_spread_over_the_text():
    """A rule that knows only the place must not do the work: no quarter holds less than 15 % or more than 40 % of the phrases."""
    quarters = Counter(
        int(4 * d.spans[i][0][0] / len(d.text)) for d in DOCUMENTS for i in range(len(d.spans))
    )
    shares = [quarters[q] / sum(quarters.values()) for q in range(4)]
    assert min(shares) > 0.15 and max(shares) < 0.40, shares
    key = [k for d in DOCUMENTS for k in d.is_key()]
    assert 0.05 < np.mean(key) < 0.25


def test_the_readme_counts_what_the_file_holds():
    said = {
        name: int(n.replace(",", ""))
        for name, n in re.findall(r"^\| ([^|]+?) \| ([\d,]+) \|$", README, re.MULTILINE)
    }
    phrases = [p for d in DOCUMENTS for p in d.keyphrases]
    lengths = [len(d.text.split()) for d in DOCUMENTS]
    assert said == {
        "texts": len(DOCUMENTS),
        "texts to choose on (`train`)": len(load_keyphrases("train")),
        "texts to report on (`test`)": len(load_keyphrases("test")),
        "words": sum(lengths),
        "words in the shortest text": min(lengths),
        "words in the longest text": max(lengths),
        "key phrases": len(phrases),
        "key phrases of one word": sum(len(p.split()) == 1 for p in phrases),
        **{f"texts on {subject}": n for subject, n in Counter(d.id.split("-")[0] for d in DOCUMENTS).items()},
    }


def auc(scores, labels):
    """Share of pairs (a key word, another word) in which the key word scores higher; ties count half."""
    scores, labels = np.asarray(scores, float), np.asarray(labels)
    difference = scores[labels][:, None] - scores[~labels][None]
    return np.mean((difference > 0) + 0.5 * (difference == 0))


def test_the_readme_says_what_simple_rules_reach():
    said = re.findall(r"^\| (.+?) \| (\.\d+) \| (\.\d+) \|$", README, re.MULTILINE)
    train, test = halves(DOCUMENTS)
    having = Counter(word for d in train for word in {w.lower() for w in d.words})

    def tf_idf(document):
        words = [word.lower() for word in document.words]
        weight = {w: math.log((len(train) + 1) / (having[w] + 1)) if w[0].isalnum() else 0 for w in words}
        return [words.count(w) * weight[w] for w in words]

    rules = [
        lambda d: -np.arange(len(d.words)),
        lambda d: [len(word) for word in d.words],
        tf_idf,
    ]
    assert len(said) == 3
    for rule, (_, *numbers) in zip(rules, said):
        found = [np.mean([auc(rule(d), d.is_key()) for d in half]) for half in (train, test)]
        assert [float(number) for number in numbers] == pytest.approx(found, abs=0.006)


# ---- the reader -----------------------------------------------------------------------------------------------

GOOD = {
    "id": 7,
    "text": "The salt marsh shelters fish. A salt  marsh also floods.",
    "keyphrases": ["salt marsh", "sea wall"],
}


@pytest.mark.parametrize("name", ["texts.jsonl", "texts.jsonl.gz"])
def test_a_line_becomes_a_document_and_a_phrase_that_does_not_occur_is_kept_and_named(tmp_path, name):
    extra = {"in_text": [True, True], "truncated": True}  # what the file says of in_text is not believed
    [document] = read_keyphrases(write_lines(tmp_path / name, {**GOOD, **extra}, ""))
    assert (document.id, document.title, document.split, document.truncated) == ("7", "", "", True)
    assert document.keyphrases == ("salt marsh", "sea wall")
    assert document.in_text == (True, False)
    assert document.missing == ("sea wall",)
    assert [document.text[a:b] for a, b in document.spans[0]] == ["salt marsh", "salt  marsh"]


def test_a_phrase_is_found_as_whole_words_in_any_case():
    text = "US firms did business. Was it for us? The C++ code, and bus-stops."
    document = KeyphraseDocument("1", text, ("us", "C++", "bus", "usine"))
    assert [len(places) for places in document.spans] == [2, 1, 1, 0]


NFC, NFD = "caf\u00e9", "cafe\u0301"


@pytest.mark.parametrize(
    "text, phrase, found",
    [
        (f"{NFD} x", NFC, [NFD]),
        (f"A {NFC}, x", NFD, [NFC]),
        (f"{NFD} {NFC} {NFD.upper()}", NFC, [NFD, NFC, NFD.upper()]),
        (f"{NFC} {NFD}", "cafe", []),
        ("e\u0301\u0323t", "e\u0323\u0301t", ["e\u0301\u0323t"]),
        ("\ud558\ub2e4 \ud55c", "\ud558", []),
        ("\u1112\u1161\u11ab x", "\ud55c", ["\u1112\u1161\u11ab"]),
        ("我们研究神经网络", "神经网络", ["神经网络"]),
        ("我们研究神经网络。神经网络很大", "神经网络", ["神经网络"] * 2),
        ("用BERT模型", "bert", ["BERT"]),
        ("用BERTs模型", "bert", []),
        ("ニューラルネットは速い", "ニューラルネット", ["ニューラルネット"]),
        ("ガス", "カ", []),
        ("เราศึกษาโครงข่ายประสาท", "โครงข่าย", ["โครงข่าย"]),
        ("กี่", "ก", []),
        ("विद्यालय", "विद्या", []),
        ("aa a a", "a a", ["a a"]),
        ("x a a a a", "a a", ["a a"] * 2),
    ],
)
def test_a_phrase_is_found_however_it_is_spelled_and_in_scripts_without_spaces(text, phrase, found):
    document = KeyphraseDocument("1", text, (phrase,))
    assert [document.text[a:b] for a, b in document.spans[0]] == found
    assert [w for w, key in zip(document.words, document.is_key()) if key] or not found


@pytest.mark.parametrize(
    "text, words",
    [
        (f"Un {NFD}\u0301!", ["Un", f"{NFD}\u0301", "!"]),
        ("我们用BERT，", ["我", "们", "用", "BERT", "，"]),
        ("กี่ a_b  c-d.\n", ["กี่", "a_b", "c", "-", "d", "."]),
        ("विद्या है", ["विद्या", "है"]),
        (" \u0301x", ["\u0301x"]),
    ],
)
def test_a_letter_keeps_its_marks_and_each_sign_without_spaces_is_a_word(text, words):
    assert list(KeyphraseDocument("1", text, ()).words) == words


def test_the_words_of_the_shipped_texts_are_letters_in_a_row_or_marks():
    for document in DOCUMENTS:
        assert document.words == tuple(re.findall(r"\w+|[^\w\s]", document.text))


def test_words_and_key_words_go_together():
    document = KeyphraseDocument("1", "Old tide mills, driven by the tide.", ("tide mills", "tide"))
    assert document.words == ("Old", "tide", "mills", ",", "driven", "by", "the", "tide", ".")
    assert document.is_key() == (False, True, True, False, False, False, False, True, False)


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("{", "expected an object with id, text and keyphrases"),
        ([1], "expected an object"),
        ({"id": "a", "text": "b"}, "it has no keyphrases"),
        ({**GOOD, "id": None}, "id must name the document; got None"),
        ({**GOOD, "text": " "}, "text must be a text that is not empty"),
        ({**GOOD, "keyphrases": "salt marsh"}, "keyphrases must be a list of texts"),
        (
            {**GOOD, "keyphrases": ["salt marsh", ""]},
            "keyphrases must be a list of texts, none of them empty",
        ),
        ({**GOOD, "keyphrases": ["salt marsh", "Salt Marsh"]}, "the phrase 'salt marsh' is listed twice"),
        ({**GOOD, "keyphrases": ["caf\u00e9", "Cafe\u0301"]}, "is listed twice"),
        ({**GOOD, "split": "dev"}, "split must be 'train' or 'test'; got 'dev'"),
        ({**GOOD, "id": "one"}, "the id 'one' was used in line 1"),
        ({**GOOD, "keyphrases": []}, "document '7' has no key phrase"),
        (
            {**GOOD, "keyphrases": ["sea wall"]},
            "none of the 1 key phrases of document '7' occurs in its text",
        ),
    ],
)
def test_a_broken_line_is_named_with_its_file_and_number(tmp_path, line, message):
    path = write_lines(tmp_path / "texts.jsonl", {**GOOD, "id": "one"}, line)
    with pytest.raises(ValueError, match=re.escape(f"{path}, line 2: ") + f".*{message}"):
        read_keyphrases(path)


def test_documents_without_a_phrase_in_the_text_are_left_out_and_counted(tmp_path):
    path = write_lines(
        tmp_path / "texts.jsonl",
        GOOD,
        {**GOOD, "id": 8, "keyphrases": []},
        {**GOOD, "id": 9, "keyphrases": ["sea wall"]},
    )
    skipped = []
    assert [d.id for d in read_keyphrases(path, on_empty="skip", skipped=skipped)] == ["7"]
    assert [entry.line for entry in skipped] == [2, 3]
    with pytest.warns(
        UserWarning, match=r"2 documents were left out, the first: .*line 2: document '8' has no key phrase"
    ):
        read_keyphrases(path, on_empty="skip")


def test_a_file_without_documents_says_so(tmp_path):
    with pytest.raises(
        ValueError, match="holds no document with a key phrase in its text: expected one JSON"
    ):
        read_keyphrases(write_lines(tmp_path / "texts.jsonl", ""))
    with pytest.raises(ValueError, match="1 were left out, the first"):
        read_keyphrases(
            write_lines(tmp_path / "texts.jsonl", {**GOOD, "keyphrases": []}), on_empty="skip", skipped=[]
        )
    with pytest.raises(FileNotFoundError, match="there is no file"):
        read_keyphrases(tmp_path / "nowhere.jsonl")
    with pytest.raises(ValueError, match="on_empty must be 'stop' or 'skip'; got 'drop'"):
        read_keyphrases(write_lines(tmp_path / "texts.jsonl", GOOD), on_empty="drop")
    with pytest.raises(ValueError, match="split must be 'train', 'test' or None; got 'dev'"):
        load_keyphrases("dev")


def test_documents_without_a_split_are_divided_by_their_id_alone():
    documents = [KeyphraseDocument(str(i), "a b", ("a",)) for i in range(40)]
    train, test = halves(documents)
    assert len(train) + len(test) == 40 and min(len(train), len(test)) > 10
    again = halves(reversed(documents[:7] + documents[9:]))
    assert {d.id for d in again[0]} == {d.id for d in train} - {"7", "8"}


def test_halves_that_cannot_be_made_are_refused():
    one = KeyphraseDocument("1", "a b", ("a",), split="train")
    with pytest.raises(ValueError, match="1 of 2 documents have a split"):
        halves([one, KeyphraseDocument("2", "a b", ("a",))])
    with pytest.raises(ValueError, match="both halves need documents; got 1 to choose on and 0 to report on"):
        halves([one])


def test_more_phrases_than_can_be_looked_for_are_refused(tmp_path):
    phrases = [f"w{i}" for i in range(30_000)]
    record = {"id": "1", "text": " ".join(phrases), "keyphrases": phrases}
    (tmp_path / "a.jsonl").write_text(json.dumps(record))
    with pytest.raises(ValueError, match="line 1: 30,000 key phrases of .* are too many to look for"):
        read_keyphrases(tmp_path / "a.jsonl")
