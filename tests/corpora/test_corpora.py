import gzip
import random
import re
import time
from collections import namedtuple
from contextlib import nullcontext
from dataclasses import replace
from types import SimpleNamespace

import made
import numpy as np
import pytest

from bertlook_course.corpora import (
    CorefDocument,
    Mention,
    TreebankSentence,
    by_first,
    coreference_documents,
    coreference_edges,
    cut_documents,
    document_keys,
    document_numbers,
    document_parts,
    halves_by_document,
    load_pairs,
    load_texts,
    load_treebank,
    numbers_of_keys,
    read_conllu,
    read_coreference,
    read_edges,
    read_pairs,
    read_pronoun_cases,
    read_texts,
    treebank_edges,
)
from bertlook_course.corpora import treebank as treebank_module

SENTENCE = """\
# newdoc id = story
# sent_id = s1
# text = Don't feed it.
1-2\tDon't\t_\t_\t_\t_\t_\t_\t_\t_
1\tDo\tdo\tAUX\tVB\t_\t3\taux\t_\t_
2\tn't\tnot\tPART\tRB\t_\t3\tadvmod\t_\t_
3\tfeed\tfeed\tVERB\tVB\t_\t0\troot\t_\t_
3.1\tplease\tplease\tINTJ\tUH\t_\t_\t_\t3:discourse\t_
4\tit\tit\tPRON\tPRP\t_\t3\tobj\t_\tEntity=(e1)|SpaceAfter=No
5\t.\t.\tPUNCT\t.\t_\t3\tpunct\t_\t_

"""


@pytest.fixture
def write(tmp_path):
    def write(content, name="file.txt"):
        path = tmp_path / name
        data = content if isinstance(content, bytes) else content.encode()
        path.write_bytes(gzip.compress(data) if name.endswith(".gz") else data)
        return path

    return write


# --- texts and pairs -----------------------------------------------------------------------------------


def test_one_text_a_line_comments_and_empty_lines_left_out(write):
    assert read_texts(write("# id = one\nOne.\n\n  Two.  \n#hashtag\n# A heading\n")) == [
        "One.",
        "Two.",
        "#hashtag",
        "# A heading",
    ]


@pytest.mark.parametrize(
    "content",
    [
        "# id = x\nFirst.\nSecond.\n\n\nThird.\nFourth.",
        "First.\tSecond.\nThird.\tFourth.\n",
        "First.\r\nSecond.\r\n\r\nThird.\r\nFourth.\r\n",
        "\ufeffFirst.\nSecond.\n\nThird.\nFourth.\n\n",
    ],
    ids=["blocks", "tabs", "windows", "byte-order mark"],
)
def test_pairs_in_every_form(write, content):
    assert read_pairs(write(content)) == [("First.", "Second."), ("Third.", "Fourth.")]


def test_gzipped_files_are_read_as_they_are(write):
    assert read_texts(write("One.\n", "a.txt.gz")) == ["One."]


@pytest.mark.parametrize(
    "content, line",
    [("A.\nB.\nC.\n\n", 4), ("A.\n\nB.\nC.\n", 2), ("A.\tB.\nC.\t \n", 2), ("A.\tB.\tC.\n", 1), ("A.", 2)],
)
def test_a_pair_that_is_not_two_texts_is_named_with_its_line(write, content, line):
    with pytest.raises(
        ValueError, match=rf"file\.txt, (before )?line {line}: a pair is two texts, none of them empty"
    ):
        read_pairs(write(content))


@pytest.mark.parametrize("content", ["", "\n\n", "# id = only a comment\n"])
def test_a_file_without_content_is_refused(write, content):
    with pytest.raises(ValueError, match="holds no text"):
        read_texts(write(content))
    with pytest.raises(ValueError, match="holds no pair"):
        read_pairs(write(content))


def test_a_file_that_is_not_utf8_is_refused_with_line_and_cure(write):
    path = write(b"fine\n" * 3000 + "caf\xe9\n".encode("latin-1"))
    with pytest.raises(ValueError, match=r"not UTF-8 \(line 3001: byte 0xe9\).*iconv"):
        read_texts(path)


def test_a_damaged_gzip_file_is_refused(write, tmp_path):
    path = write("One.\n" * 100, "a.gz")
    path.write_bytes(path.read_bytes()[:20])
    with pytest.raises(ValueError, match="damaged or not a gzip file"):
        read_texts(path)
    (tmp_path / "b.gz").write_text("plain")
    with pytest.raises(ValueError, match="damaged or not a gzip file"):
        read_texts(tmp_path / "b.gz")


def test_no_file_and_a_folder_are_told_apart(tmp_path):
    with pytest.raises(FileNotFoundError, match="there is no file"):
        read_texts(tmp_path / "nothing.txt")
    with pytest.raises(IsADirectoryError, match="is a folder; a file was expected"):
        read_texts(tmp_path)


def test_the_shipped_texts_are_there():
    assert len(load_pairs()) >= 60
    assert all(first and second for first, second in load_pairs())
    assert len(load_texts()) >= 20


# --- CoNLL-U ---------------------------------------------------------------------------------------------


def test_a_sentence_is_read_with_zero_based_governors(write):
    [sentence] = read_conllu(write(SENTENCE))
    assert sentence.words == ("Do", "n't", "feed", "it", ".")
    assert sentence.governors == (2, 2, -1, 2, 2)
    assert sentence.relations == ("aux", "advmod", "root", "obj", "punct")
    assert sentence.upos[3] == "PRON" and sentence.lemmas[1] == "not" and sentence.misc[3]["Entity"] == "(e1)"
    assert (sentence.sent_id, sentence.doc_id, sentence.text) == ("s1", "story", "Don't feed it.")


def test_a_document_goes_on_until_the_next_begins(write):
    second = SENTENCE.replace("# newdoc id = story\n", "").replace("s1", "s2")
    third = SENTENCE.replace("story", "letter")
    assert [s.doc_id for s in read_conllu(write(SENTENCE + second + third))] == ["story", "story", "letter"]


@pytest.mark.parametrize(
    "change", [lambda s: s.rstrip("\n"), lambda s: s.replace("\n", "\r\n"), lambda s: "\ufeff" + s]
)
def test_line_ends_a_missing_last_one_and_a_byte_order_mark_do_not_matter(write, change):
    assert read_conllu(write(change(SENTENCE))) == read_conllu(write(SENTENCE, "plain.conllu"))


def edit(old, new):
    assert old in SENTENCE
    return SENTENCE + SENTENCE.replace(old, new)  # the second sentence is the broken one


BROKEN = [
    (edit("PRP\t_\t3", "PRP\t3"), r"line 20: CoNLL-U has 10 columns with tabs between them; got 9"),
    (
        edit("VB\t_\t0\troot", "VB\t_\t9\troot"),
        r"line 18: word 3 \(feed\) has head 9; it must be 0 \(root\) to 5",
    ),
    (edit("VB\t_\t0\troot", "VB\t_\t_\troot"), r"line 18: word 3 \(feed\) has no head"),
    (edit("VB\t_\t0\troot", "VB\t_\t4\troot"), r"exactly one root \(head 0\); got 0"),
    (edit("PRP\t_\t3", "PRP\t_\t0"), r"exactly one root \(head 0\); got 2: words \[3, 4\]"),
    (edit("RB\t_\t3", "RB\t_\t2"), r"the arcs run in a cycle through word 2"),
    (edit("5\t.\t.", "6\t.\t."), r"word ids must be 1, 2, 3 \.\.\.; got \[1, 2, 3, 4, 6\]"),
    (edit("VB\t_\t0\troot", "VB\t_\tx\troot"), r"line 12: not readable as CoNLL-U"),
    (edit("4\tit", "4\ti  t"), r"line 20: two spaces stand side by side in a column; leave one of them: '4"),
    ("", "holds no sentence"),
    ("# text = nothing\n\n", "word ids must be"),
]


@pytest.mark.parametrize("content, message", BROKEN)
def test_a_broken_treebank_is_refused_with_file_line_and_reason(write, content, message):
    path = write(content, "bank.conllu")
    with pytest.raises(ValueError, match=message):
        read_conllu(path)


@pytest.mark.parametrize("ending", [".conllu", ".conllu.gz"])
@pytest.mark.parametrize("content, message", BROKEN[:-2])
def test_a_broken_sentence_is_skipped_and_counted(write, content, message, ending):
    """The first and a third sentence are whole; a name in the broken one still begins its document."""
    path = write(content + SENTENCE.replace("# newdoc id = story\n", ""), f"bank{ending}")
    skipped = []
    whole = read_conllu(path, on_error="skip", skipped=skipped)
    assert [s.words for s in whole] == [("Do", "n't", "feed", "it", ".")] * 2
    assert [s.doc_id for s in whole] == ["story", "story"]
    assert len(skipped) == 1 and skipped[0].file == str(path)
    assert re.search(message, str(skipped[0])) or re.search(message, skipped[0].reason)


def test_the_document_of_a_skipped_sentence_is_not_lost(write):
    broken = SENTENCE.replace("story", "letter").replace("VB\t_\t0\troot", "VB\t_\t9\troot")
    last = SENTENCE.replace("# newdoc id = story\n", "")
    whole = read_conllu(write(SENTENCE + broken + last), on_error="skip", skipped=[])
    assert [s.doc_id for s in whole] == ["story", "letter"]


def test_skipping_is_never_silent(write):
    path = write(edit("RB\t_\t3", "RB\t_\t2"))
    with pytest.warns(UserWarning, match=r"1 broken sentences were left out, the first: .*line 12: .*cycle"):
        assert len(read_conllu(path, on_error="skip")) == 1
    with pytest.raises(ValueError, match=r"no sentence in CoNLL-U; 1 were broken, the first at line 1"):
        read_conllu(write(SENTENCE.replace("RB\t_\t3", "RB\t_\t2")), on_error="skip", skipped=[])
    with pytest.raises(ValueError, match="holds no sentence"):
        read_conllu(write(""), on_error="skip")
    with pytest.raises(ValueError, match="on_error must be 'stop' or 'skip'; got 'ignore'"):
        read_conllu(path, on_error="ignore")


def test_a_gzipped_treebank_is_read_and_a_damaged_one_named(write, tmp_path):
    assert read_conllu(write(SENTENCE, "bank.conllu.gz")) == read_conllu(write(SENTENCE, "bank.conllu"))
    (tmp_path / "cut.conllu.gz").write_bytes(gzip.compress(SENTENCE.encode())[:-9])
    with pytest.raises(ValueError, match=r"cut\.conllu\.gz is damaged or not a gzip file"):
        read_conllu(tmp_path / "cut.conllu.gz")


# --- halves --------------------------------------------------------------------------------------------


def test_halves_are_of_documents_and_of_sentences_where_none_are_named():
    Sentence = namedtuple("Sentence", "doc_id number")

    def numbers(*documents):
        halves = halves_by_document([Sentence(name, i) for i, name in enumerate(documents)])
        return [[s.number for s in half] for half in halves]

    assert numbers("a", "a", "b", "b", "b", "c") == [[0, 1, 5], [2, 3, 4]]
    assert numbers("a", "b", "a", "b") == [[0, 2], [1, 3]]  # wherever its sentences stand
    assert numbers("", "", "") == numbers("a", "a", "a") == [[0, 2], [1]]
    assert numbers("a", "", "a", "") == [[0, 2, 3], [1]]  # a sentence without a document is one of its own
    assert document_numbers([Sentence("b", 0), Sentence("a", 1), Sentence("b", 2)]).tolist() == [0, 1, 0]


def test_names_are_numbered_as_they_come_whatever_their_order():
    assert by_first(np.array([9, 9, 3, 7, 3])).tolist() == [0, 0, 1, 2, 1]
    for ids in (["c", "a", "c", "b"], ["z", "", "y", "", "z"], ["a", "a"], ["", ""]):
        sentences = [namedtuple("Sentence", "doc_id")(name) for name in ids]
        assert numbers_of_keys(document_keys(ids)).tolist() == document_numbers(sentences).tolist()


# --- mentions ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("minspan, head", [("1", 1), ("2", 2), ("2-3", 2), ("3", 1), ("", 1)])
def test_a_mention_runs_from_bracket_to_bracket_and_its_minimal_span_counts_words_from_one(minspan, head):
    """Of the words whose governor lies outside, "new" and "lamp", the minimal span chooses; "there" hangs within."""
    misc = ({}, {"Entity": f"(e1-object-{minspan}"}, {}, {"Entity": "e1)"}, {"Entity": "(e2-object-1)"})
    sentence = made.tree("lit new lamp there it", (-1, 0, 0, 2, 0), "root amod obj advmod obj", misc=misc)
    [document] = coreference_documents([sentence])
    assert [(m.start, m.end, m.head) for m in document.mentions] == [(1, 4, head), (4, 5, 4)]


def test_a_document_is_cut_into_runs_of_whole_sentences_that_just_fit(monkeypatch):
    def reading(encoder, words):
        return len(words) + 2, "" if len(words) + 2 <= encoder.max_tokens else "too long"

    monkeypatch.setattr(document_parts, "check_reading", reading)
    ends = np.cumsum([3, 5, 4, 9, 4, 5]).tolist()  # eight words fit beside [CLS] and [SEP]
    spans = tuple(zip([0, *ends], ends))
    mentions = tuple(Mention(end - 2, end, end - 1, "e", "nominal") for end in ends)
    document = CorefDocument("d", tuple(map(str, range(30))), spans, mentions)
    parts, unread = cut_documents(SimpleNamespace(max_tokens=10), [document])
    assert unread == 1 and [part.sentences for part in parts] == [
        ((0, 3), (3, 8)),
        ((0, 4),),
        ((0, 4),),
        ((0, 5),),
    ]
    assert [part.words[0] for part in parts] == ["0", "8", "21", "25"]
    assert [[(m.start, m.head) for m in part.mentions] for part in parts] == [
        [(1, 2), (6, 7)],
        [(2, 3)],
        [(2, 3)],
        [(3, 4)],
    ]
    assert cut_documents(SimpleNamespace(max_tokens=10), [document], first_only=True) == (parts[:1], 1)
    longer = SimpleNamespace(max_tokens=512)  # a model that reads more gets the same parts if it is asked to
    assert cut_documents(longer, [document], max_tokens=10) == (parts, 1)
    assert len(cut_documents(longer, [document])[0]) == 1


def test_mentions_side_by_side_may_be_different_things_and_nested_ones_are_not_asked(monkeypatch):
    monkeypatch.setattr("bertlook_course.corpora.spans.NEGATIVES", 9)  # all of them
    spans = ((0, 1, "a"), (1, 2, "b"), (1, 3, "c"), (3, 4, "a"))
    mentions = tuple(Mention(start, end, end - 1, cluster, "nominal") for start, end, cluster in spans)
    document = CorefDocument("d", tuple("wxyz"), ((0, 4),), mentions)
    [asked] = coreference_edges([document])
    pairs = {(target.span1, target.span2): target.label for target in asked.targets}
    assert pairs.pop(((0, 1), (3, 4))) == "same" and set(pairs.values()) == {"different"}
    assert set(pairs) == {((0, 1), (1, 2)), ((0, 1), (1, 3)), ((1, 2), (3, 4)), ((1, 3), (3, 4))}


@pytest.mark.parametrize(
    "spans, fits",
    [("[0, 2], [2, 4]", True), ("[0, 1], [2, 4]", True), ("[0, 3], [2, 4]", False), ("[0, 4], [0, 4]", False), ("[2, 4], [0, 2]", False)],
)  # fmt: skip
def test_sentences_of_a_document_follow_each_other(write, spans, fits):
    mentions = ", ".join(f'{{"span": [{i}, {i + 1}], "cluster": 1}}' for i in range(2))
    path = write(
        f'{{"tokens": ["a", "b", "c", "d"], "sentences": [{spans}], "mentions": [{mentions}]}}\n', "a.jsonl"
    )
    if fits:
        assert len(read_coreference(path)[0].sentences) == 2
    else:
        with pytest.raises(ValueError, match="line 1: sentences follow each other"):
            read_coreference(path)


def entities(*rows, begins="# newdoc id = d\n"):
    """A sentence in CoNLL-U from its ids and what stands in its last column; every word hangs on the first."""
    lines = []
    for number, said in rows:
        head = "_" if "." in number else "0" if number == "1" else "1"
        lines.append(
            f"{number}\tw{number}\t_\tPRON\t_\t_\t{head}\t_\t_\t{said and 'Entity=' + said or '_'}\n"
        )
    return begins + "".join(lines) + "\n"


LATER = entities(("1", "(e1--1-)"), begins="")


@pytest.mark.parametrize(
    "rows, found",
    [
        # parts of one mention
        ([("1", "(e1[1/2]--1-)"), ("2", ""), ("3", "(e1[2/2])")], [("w1 w3", 0, 3, 0)]),
        ([("1", "(e1[1/2]--1-"), ("2", "e1[1/2])"), ("3", ""), ("4", "(e1[2/2])")], [("w1 w2 w4", 0, 4, 0)]),
        ([("1", "(e1[1/3])"), ("2", "(e2)"), ("3", "(e1[2/3])"), ("4", ""), ("5", "(e1[3/3])")], [("w1 w3 w5", 0, 5, 0), ("w2", 1, 2, 1)]),
        ([("1", "(e1[1/2])"), ("2", "(e1[1/2])"), ("3", "(e1[2/2])"), ("4", "(e1[2/2])")], [("w1 w3", 0, 3, 0), ("w2 w4", 1, 4, 1)]),
        # empty nodes at the beginning, at the end, in between, alone
        ([("1", ""), ("2", ""), ("2.1", "(e1--1-"), ("3", "e1)")], [("w3", 2, 3, 2)]),
        ([("1", "(e1--1-"), ("1.1", "e1)"), ("2", "")], [("w1", 0, 1, 0)]),
        ([("0.1", "(e1--1-"), ("1", ""), ("1.1", "(e2)"), ("2", "e1)")], [("w1 w2", 0, 2, 0)]),
        ([("1", "(e1)"), ("1.1", "(e1)(e2"), ("1.2", "e2)"), ("2", "")], [("w1", 0, 1, 0)]),
        ([("1", "(e1[1/2])"), ("2", ""), ("2.1", "(e1[2/2])")], [("w1", 0, 1, 0)]),
    ],
)  # fmt: skip
def test_mentions_in_parts_and_at_empty_nodes_are_read(write, rows, found):
    [document] = read_coreference(write(entities(*rows) + LATER, "a.conllu"))
    assert [(document.text(m), m.start, m.end, m.head) for m in document.mentions[:-1]] == found
    assert document.text(document.mentions[-1]) == "w1" and document.mentions[-1].start == len(rows) - sum(
        "." in n for n, _ in rows
    )


@pytest.mark.parametrize(
    "rows, message",
    [
        ([("1", "(e1[1/2])"), ("2", "")], "the mention e1 has 2 parts; 1 of them are here. The parts of a mention must stand in one sentence"),
        ([("1", "(e1[2/2])"), ("2", "")], "part 2 of 2 of the mention e1 comes without the part before it"),
        ([("1", "(e1[1/2])"), ("2", "(e1[2/3])")], "part 2 of 3 of the mention e1 comes without"),
        ([("1", "(e1"), ("1.1", "e2)")], "word 1: Entity=e2.* closes 'e2', which is not open"),
        ([("1", ""), ("1.1", "(e1")], "the mentions e1 are opened and not closed"),
    ],
)  # fmt: skip
def test_parts_that_do_not_belong_together_are_refused(write, rows, message):
    with pytest.raises(ValueError, match=message):
        read_coreference(write(entities(*rows) + LATER, "a.conllu"))


def test_many_mentions_in_parts_are_joined_in_no_time(write):
    rows = [(str(i), f"(e[{1 + (i > 500)}/2])" * 40) for i in range(1, 1001)]
    start = time.perf_counter()
    [document] = read_coreference(write(entities(*rows), "a.conllu"))
    assert len(document.mentions) == 20_000 and time.perf_counter() - start < 20


def test_a_mention_with_gaps_keeps_them_where_its_document_is_cut_and_is_no_span(write, monkeypatch):
    rows = [
        ("1", "(e1[1/2]-person-1-)"),
        ("2", ""),
        ("3", "(e1[2/2])"),
        ("4", "(e1-person-1-)"),
        ("5", "(e2-person-1-)"),
    ]
    sentences = read_conllu(write(entities(("1", "")) + entities(*rows, begins=""), "a.conllu"))
    [document] = coreference_documents(sentences)
    monkeypatch.setattr(document_parts, "check_reading", lambda encoder, words: (len(words) + 2, ""))
    (_, part), _ = cut_documents(SimpleNamespace(max_tokens=7), [document])
    assert [part.text(m) for m in part.mentions] == ["w1 w3", "w4", "w5"] and part.mentions[0].spans == (
        (0, 1),
        (2, 3),
    )
    assert [t.span1 for t in treebank_edges(sentences, "entity")[0].targets] == [(3, 4), (4, 5)]
    assert coreference_edges([document]) == []


@pytest.mark.parametrize("begins", ["# newdoc\n", "# newdoc \n", "#newdoc id =\n"])
def test_a_document_without_a_name_is_one_of_its_own(write, begins):
    """Two blocks with one word each; the entity e1 of the first is not that of the second."""
    two = entities(("1", "(e1--1-)"), begins=begins) * 2
    path = write(two + entities(("1", "(e1--1-)"), begins="# newpar\n"), "a.conllu")
    sentences = read_conllu(path)
    assert [s.doc_id for s in sentences] == ["a.conllu, line 1", "a.conllu, line 4", "a.conllu, line 4"]
    assert [len(half) for half in halves_by_document(sentences)] == [1, 2]
    assert [len(d.mentions) for d in read_coreference(path)] == [1, 2]
    with pytest.raises(ValueError, match="holds no two mentions of one thing"):
        read_coreference(write(two, "b.conllu"))


# --- sentences without end -----------------------------------------------------------------------------


def words_in_a_chain(n, tail=""):
    return "".join(f"{i}\tw\t_\t_\t_\t_\t{i - 1}\t_\t_\t_\n" for i in range(1, n + 1)) + tail


@pytest.mark.parametrize("ending", ["", ".gz"])
def test_a_block_without_an_empty_line_is_refused_and_the_next_sentence_is_read(write, ending, monkeypatch):
    monkeypatch.setattr("bertlook_course.corpora.treebank.MOST_LINES", 100)
    content = "# newdoc id = d\n" + words_in_a_chain(100) + "\n" + words_in_a_chain(100) + "\n" + SENTENCE
    path = write(content, f"bank.conllu{ending}")
    with pytest.raises(
        ValueError, match=r"line 1: a sentence has at most 100 lines .* Are the empty lines missing"
    ):
        read_conllu(path)
    skipped = []
    chain, last = read_conllu(path, on_error="skip", skipped=skipped)
    assert [one.line for one in skipped] == [1] and len(chain) == 100 and chain.doc_id == "d"
    assert last.words == read_conllu(write(SENTENCE))[0].words
    monkeypatch.setattr("bertlook_course.corpora.treebank.MOST_LINES", 1000)
    monkeypatch.setattr("bertlook_course.corpora.treebank.MOST_CHARACTERS", 1500)
    with pytest.raises(ValueError, match=r"line 1: a sentence has at most 1,000 lines and 1,500 characters"):
        read_conllu(path)


def test_a_long_chain_is_a_tree_and_a_long_cycle_is_none(write):
    """The way up from each word is walked once: 19,000 words that each hang on the one before took minutes."""
    n = 19_000
    assert treebank_module._require_tree(tuple(range(-1, n - 1)), 1) is None
    assert treebank_module._require_tree((*range(1, n), -1), 1) is None
    for cycle in ((-1, 2, 1), (-1, 3, 0, 1), (1, 2, 3, 1, -1), (-1, *range(2, n), 1)):
        with pytest.raises(ValueError, match="the arcs run in a cycle through word"):
            treebank_module._require_tree(cycle, 1)


def reaches_the_root(word, governors):
    for _ in range(len(governors) + 1):
        if word == -1:
            return True
        word = governors[word]
    return False


def test_whether_arcs_are_a_tree_is_decided_as_by_walking_up_from_every_word():
    draw = random.Random(0)
    trees = 0
    for _ in range(3000):
        n = draw.randint(1, 6)
        governors = tuple(draw.randint(-1, n - 1) for _ in range(n))
        tree = governors.count(-1) == 1 and all(reaches_the_root(word, governors) for word in range(n))
        trees += tree
        with nullcontext() if tree else pytest.raises(ValueError, match="exactly one root|in a cycle"):
            treebank_module._require_tree(governors, 1)
    assert 200 < trees < 2800


def test_a_mention_without_end_is_refused(write):
    n = 1_200
    words = [f"{i}\tw\t_\t_\t_\t_\t{i - 1}\t_\t_\t_" for i in range(1, n + 1)]
    words[0] = words[0][:-1] + "Entity=(e1-object-1"
    words[-1] = words[-1][:-1] + "Entity=e1)"
    path = write("# newdoc id = d\n" + "\n".join(words) + "\n\n", "a.conllu")
    with pytest.raises(ValueError, match=r"a mention has at most 1,000 words; this one has 1,200"):
        coreference_documents(read_conllu(path))


def test_what_came_later_is_printed_only_where_there_is_some():
    """Or all that is kept of the shipped treebank would be computed anew: it is found by how its sentences print."""
    [sentence] = load_treebank()[:1]
    assert "empty" not in repr(sentence) and repr(sentence).endswith(f"doc_id={sentence.doc_id!r})")
    assert "empty=((0, {}),)" in repr(replace(sentence, empty=((0, {}),)))
    assert "parts" not in repr(Mention(0, 1, 0, "a", "name")) and "parts=((0, 1), (2, 3))" in repr(
        Mention(0, 3, 0, "a", "name", parts=((0, 1), (2, 3)))
    )


# --- dialects ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("header", "rows"),
    [
        ("", [("1", "(person-1"), ("2", "person-1)"), ("3", "(person-6)"), ("4", "(person-1)")]),  # AMALGUM: the kind first
        ("# global.Entity = entity-GRP-identity\n", [("1", "(person-1-Ann"), ("2", "person-1-Ann)"), ("3", "(person-6)"), ("4", "(person-1)")]),
        ("# global.Entity = entity-GRP\n", [("1", "(person-1"), ("2", "person-1)"), ("3", "(place-6)"), ("4", "(person-1)")]),
        ("# global.Entity = GRP-etype\n", [("1", "(1-person"), ("2", "1-person)"), ("3", "(6-person)"), ("4", "(1-person)")]),
    ],
)  # fmt: skip
def test_a_cluster_is_found_wherever_it_stands_in_a_mention(write, header, rows):
    path = write(entities(*rows, begins=f"{header}# newdoc id = d\n"), "a.conllu")
    found = [("w1 w2", "1"), ("w3", "6"), ("w4", "1")]
    # both ways to the same file
    for [document] in (
        read_coreference(path),
        coreference_documents(read_conllu(path)),
    ):
        assert [(document.text(m), m.cluster) for m in document.mentions] == found
    kinds = [target.label for edge in treebank_edges(read_conllu(path), "entity") for target in edge.targets]
    assert set(kinds) <= {"person", "place"} and len(kinds) == 3


def test_mentions_without_a_cluster_are_not_one_thing(write):
    mentions = '[{"span": [0, 1], "cluster": null}, {"span": [1, 2], "cluster": null}]'
    path = write(f'{{"doc_id": "d", "tokens": ["he", "him"], "mentions": {mentions}}}', "a.jsonl")
    with pytest.raises(ValueError, match="a cluster is a name or a whole number; got .*None"):
        read_coreference(path)


def test_columns_in_another_order_are_read_so_in_the_whole_file(write):
    order = [0, 1, 2, 4, 3, 5, 6, 7, 8, 9]
    lines = [
        line if line.startswith("#") or not line else "\t".join(line.split("\t")[i] for i in order)
        for line in (SENTENCE + SENTENCE).split("\n")
    ]
    header = "# global.columns = ID FORM LEMMA XPOS UPOS FEATS HEAD DEPREL DEPS MISC\n"
    plain = read_conllu(write(SENTENCE + SENTENCE))
    assert read_conllu(write(header + "\n".join(lines), "plus.conllu")) == plain
    with pytest.raises(ValueError, match="global.columns names ID FORM; expected the ten columns"):
        read_conllu(write("# global.columns = ID FORM\n" + SENTENCE, "short.conllu"))


@pytest.mark.parametrize("name", ["texts.jsonl", "texts.csv", "texts.conllu.gz", "texts.tsv"])
def test_tables_and_objects_are_no_texts(write, name):
    with pytest.raises(
        ValueError, match=r"a file of texts has one text on each line, and \.[a-z]+ holds more"
    ):
        read_texts(write("The cat sat.\n", name))


GAP = "ID\tText\tPronoun\tPronoun-offset\tA\tA-offset\tA-coref\tB\tB-offset\tB-coref\tURL\n"


def test_gap_is_read_as_it_is_published(write):
    text = 'Ann met Eve "there" before she left.'
    rows = (
        f"g-1\t{text}\tshe\t27\tAnn\t0\tFALSE\tEve\t8\tTRUE\thttp://x\n"
        + f"g-2\t{text}\tshe\t27\tAnn\t0\tFALSE\tEve\t8\tFALSE\thttp://x\n"
    )
    [case], neither = read_pronoun_cases(write(GAP + rows, "gap-test.tsv"))
    assert (case.words[case.pronoun], case.candidates[case.answer], neither) == ("she", (2, 3), 1)
    said = '{"id": 1, "text": "Ann met Eve before she left.", "pronoun": [19, 22], "a": [0, 3], "b": [8, 11], "a_coref": "TRUE", "b_coref": "FALSE"}'
    [case], _ = read_pronoun_cases(write(said, "gap.jsonl"))
    assert case.answer == 0
    with pytest.raises(ValueError, match="line 1: whether a candidate is right is true or false; got"):
        read_pronoun_cases(write(said.replace("TRUE", "yes"), "odd.jsonl"))
    with pytest.raises(ValueError, match="line 2: expected 11 columns, and offsets in whole numbers"):
        read_pronoun_cases(write(GAP + rows.replace("\t27\t", "\tx\t"), "bad.tsv"))


def test_labels_of_pairs_may_be_numbers_as_text(write):
    target = '{"span1": [0, 1], "span2": [1, 2], "label": "%s"}'
    line = f'{{"id": "a-1", "tokens": ["she", "Ann"], "targets": [{target % 1}, {target % 0}]}}'
    [edge] = read_edges(write(line, "a.jsonl"))
    assert [one.label for one in edge.targets] == ["same", "different"]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (
            {"governors": (1, 2, 2, 2)},
            r"governors count from 0, and -1 is the root; word 2 of 4 .* has 2",
        ),  # spaCy's root
        ({"governors": (2, 3, 4, 3)}, "word 2 of 4 .* has 4"),  # counted from 1
        ({"governors": (1, 2, -1)}, "a sentence of 4 words has 4 governors; got 3"),
    ],
)
def test_a_sentence_made_by_hand_is_checked(changes, message):
    plain = {
        "words": tuple("abcd"),
        "governors": (1, 2, -1, 2),
        **dict.fromkeys(("relations", "upos", "xpos", "lemmas"), ("x",) * 4),
    }
    assert len(TreebankSentence(**plain, misc=({},) * 4)) == 4
    with pytest.raises(ValueError, match=message):
        TreebankSentence(**{**plain, **changes}, misc=({},) * 4)
