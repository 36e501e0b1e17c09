"""The texts that ship with the course: their format, their lengths, and the counts their README gives."""

import re
import unicodedata
from collections import Counter, namedtuple
from pathlib import Path

import pytest
from transformers import AutoTokenizer

from bertlook_course import corpora

DATA = Path(__file__).resolve().parents[2] / "data"
PARAGRAPHS = (DATA / "texts" / "paragraphs.txt").read_text(encoding="utf-8")
SENTENCES = (DATA / "texts" / "sentences.txt").read_text(encoding="utf-8")
README = (DATA / "texts" / "README.md").read_text(encoding="utf-8")

Text = namedtuple("Text", "id topic first second")
Example = namedtuple("Example", "shows sentence")


def read_blocks(source):
    """Split the content of paragraphs.txt into texts; a block of any other form is an error."""
    texts = []
    for block in source.strip("\n").split("\n\n"):
        lines = block.split("\n")
        comments, paragraphs = lines[:2], lines[2:]
        if [line.partition(" = ")[0] for line in comments] != ["# id", "# topic"]:
            raise ValueError(f"a text must begin with '# id = ' and '# topic = ', not {comments}")
        if len(paragraphs) != 2 or any(line.startswith("#") or not line.strip() for line in paragraphs):
            raise ValueError(f"{comments[0]}: expected two paragraphs after the comments, got {paragraphs}")
        texts.append(Text(*(line.partition(" = ")[2] for line in comments), *paragraphs))
    return texts


def read_examples(source):
    """Pair every sentence of sentences.txt with the comment line before it."""
    lines = source.strip("\n").split("\n")
    shows, sentences = lines[0::2], lines[1::2]
    for comment, sentence in zip(shows, sentences, strict=True):
        if not comment.startswith("# shows = ") or sentence.startswith("#") or not sentence.strip():
            raise ValueError(f"expected '# shows = ...' and then a sentence, got {comment!r}, {sentence!r}")
    return [
        Example(comment.partition(" = ")[2], line) for comment, line in zip(shows, sentences, strict=True)
    ]


def split_sentences(paragraph):
    """Sentences of a paragraph; the full stop of a title ("Mrs. Novak") does not end one."""
    return re.split(r'(?<!\bMr\.)(?<!\bMrs\.)(?<=[.?!"]) +(?=["A-Z])', paragraph)


def odd_characters(text):
    """Characters other than printable ASCII, line ends and Latin letters with an accent."""

    def is_plain(character):
        accented = unicodedata.category(character) in ("Ll", "Lu") and "\u00c0" <= character <= "\u00ff"
        return character == "\n" or " " <= character <= "~" or accented

    return sorted({character for character in text if not is_plain(character)})


def readme_counts(readme):
    """The README's table of counts, as a dictionary from what is counted to the number."""
    return {
        name: int(number) for name, number in re.findall(r"^\| ([^|]+) \| (\d+) \|$", readme, re.MULTILINE)
    }


TEXTS = read_blocks(PARAGRAPHS)
EXAMPLES = read_examples(SENTENCES)
by_id = pytest.mark.parametrize("text", TEXTS, ids=lambda text: text.id)
by_sentence = pytest.mark.parametrize("example", EXAMPLES, ids=lambda example: example.sentence)


@pytest.fixture(scope="module")
def tokenizer():
    return AutoTokenizer.from_pretrained(DATA / "model", local_files_only=True)


# The pairs of paragraphs


def test_there_are_enough_texts_on_enough_topics():
    per_topic = Counter(text.topic for text in TEXTS)
    assert len(TEXTS) >= 72
    assert len(per_topic) >= 12
    assert max(per_topic.values()) <= 8, per_topic


def test_every_text_has_its_own_id():
    ids = [text.id for text in TEXTS]
    assert [name for name, times in Counter(ids).items() if times > 1] == []
    assert [name for name in ids if not re.fullmatch(r"[a-z]+(-[a-z]+)*", name)] == []


@by_id
def test_a_pair_fits_the_specimen(text, tokenizer):
    pieces = tokenizer(text.first, text.second)["input_ids"]
    assert pieces[0] == tokenizer.cls_token_id
    assert pieces.count(tokenizer.sep_token_id) == 2  # [CLS] A [SEP] B [SEP] is what is counted
    assert tokenizer.unk_token_id not in pieces
    assert 75 <= len(pieces) <= 118


@by_id
def test_a_pair_has_commas_and_full_stops_as_tokens(text, tokenizer):
    """The measures of attention to punctuation need both in every text."""
    for mark in ".,":
        assert mark in tokenizer.tokenize(text.first + " " + text.second), mark


@by_id
def test_each_paragraph_is_more_than_one_short_line(text):
    for paragraph in (text.first, text.second):
        assert 20 <= len(paragraph.split()) <= 75
        assert paragraph[-1] in '.?"', "a paragraph ends with a mark, not in the middle of a sentence"
        assert paragraph.count('"') % 2 == 0, "quotation marks come in pairs"


def test_no_sentence_occurs_twice():
    sentences = [s for text in TEXTS for p in (text.first, text.second) for s in split_sentences(p)]
    sentences += [example.sentence for example in EXAMPLES]
    assert [s for s, times in Counter(map(str.lower, sentences)).items() if times > 1] == []


@pytest.mark.parametrize("source", [PARAGRAPHS, SENTENCES], ids=["paragraphs.txt", "sentences.txt"])
def test_characters_are_plain_and_spaces_single(source):
    assert odd_characters(source) == []
    assert re.findall(r".*(?:  | $|^ ).*", source, re.MULTILINE) == []
    assert source.endswith("\n") and not source.endswith("\n\n")


# The sentences for slides


def test_there_are_sixty_different_sentences():
    assert len({example.sentence for example in EXAMPLES}) == len(EXAMPLES) == 60


@by_sentence
def test_a_sentence_fits_on_a_slide_and_its_words_stay_whole(example, tokenizer):
    assert 6 <= len(example.sentence.split()) <= 14
    assert len(tokenizer(example.sentence)["input_ids"]) <= 18
    assert [piece for piece in tokenizer.tokenize(example.sentence) if piece.startswith("##")] == []
    assert tokenizer.unk_token not in tokenizer.tokenize(example.sentence)


# The README


def test_the_readme_counts_are_true(tokenizer):
    lengths = [len(tokenizer(text.first, text.second)["input_ids"]) for text in TEXTS]
    assert readme_counts(README) == {
        "texts in `paragraphs.txt`": len(TEXTS),
        "topics": len({text.topic for text in TEXTS}),
        "most texts on one topic": max(Counter(text.topic for text in TEXTS).values()),
        "wordpieces in the shortest text": min(lengths),
        "wordpieces in the longest text": max(lengths),
        "wordpieces in all texts": sum(lengths),
        "sentences in `sentences.txt`": len(EXAMPLES),
    }


def test_the_readme_shows_its_examples_as_they_stand_in_the_files():
    text, sentence = re.findall(r"```text\n(.*?)```", README, re.DOTALL)
    assert text in PARAGRAPHS
    assert sentence in SENTENCES


# The checks above can fail


GOOD = "# id = a-text\n# topic = nature\nOne bird sang, and it flew.\nThen it came back.\n"


@pytest.mark.parametrize(
    ("broken", "message"),
    [
        (GOOD + "A third paragraph.\n", "a-text: expected two paragraphs"),
        (GOOD.replace("Then it came back.\n", ""), "a-text: expected two paragraphs"),
        (GOOD.replace("# topic = nature\n", ""), "must begin with '# id = ' and '# topic = '"),
        (GOOD + "\n\n" + GOOD, "must begin with '# id = ' and '# topic = '"),
    ],
    ids=["three paragraphs", "one paragraph", "no topic", "two empty lines"],
)
def test_a_malformed_text_is_an_error(broken, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        read_blocks(broken)


def test_a_sentence_without_its_comment_is_an_error():
    with pytest.raises(ValueError, match="expected '# shows = ...' and then a sentence"):
        read_examples("# shows = negation\nIt did not rain.\nIt rained.\n# shows = nothing\n")


def test_odd_characters_are_found_and_accents_are_not_odd():
    assert odd_characters('Caf\u00e9, "Lu\u00e7a" and K\u00f6nig\'s\n') == []
    assert odd_characters("\u201cno\u201d \u2013\u00a0\u00d7\t") == sorted("\t\u00a0\u00d7\u2013\u201c\u201d")


def test_sentences_are_split_at_their_ends_only():
    sentences = ["Mrs. Novak came in.", '"Is it 3.5 km?" she asked.', '"Yes."', "It was."]
    assert split_sentences(" ".join(sentences)) == sentences


# --- files without an end ------------------------------------------------------------------------------


def test_a_line_without_an_end_is_refused_before_memory_is_full(tmp_path, monkeypatch):
    monkeypatch.setattr("bertlook_course.corpora.texts.LONGEST_LINE", 1000)
    path = tmp_path / "long.txt"
    path.write_text("a short one\n" + "x" * 1001)
    with pytest.raises(ValueError, match=r"long.txt has a line of more than 1,000 characters"):
        corpora.read_texts(path)
    path.write_text("x" * 999 + "\n")
    assert corpora.read_texts(path) == ["x" * 999]


@pytest.mark.skipif(not Path("/dev/zero").exists(), reason="a device of Unix")
def test_a_device_that_never_ends_is_refused():
    with pytest.raises(ValueError, match="/dev/zero has a line of more than"):
        corpora.read_texts("/dev/zero")


@pytest.mark.skipif(not Path("/proc/self/mem").exists(), reason="a file of Linux")
def test_a_file_that_the_system_does_not_read_is_named():
    with pytest.raises(OSError, match="/proc/self/mem cannot be read"):
        corpora.read_texts("/proc/self/mem")


def test_json_nested_without_end_is_named(tmp_path):
    path = tmp_path / "deep.jsonl"
    path.write_text("[" * 100_000 + "\n")
    with pytest.raises(ValueError, match="deep.jsonl, line 1: .*nested too deeply"):
        corpora.read_examples(path)


def test_a_task_without_a_text_is_named(tmp_path):
    path = tmp_path / "null.jsonl"
    path.write_text('{"s1": null, "label": "a"}\n')
    with pytest.raises(ValueError, match="line 1: a text is empty or not a text: None"):
        corpora.read_examples(path)
