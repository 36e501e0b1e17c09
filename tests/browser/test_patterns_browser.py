"""Patterns in the page against patterns in Python: the same pairs, shares, sentences and refusals; nothing that is typed is run."""

# ruff: noqa: F811 - fixtures of another file are imported, and asked for by name
from __future__ import annotations

import sys
import unicodedata

import numpy as np
import pytest

from bertlook_course.analyses.patterns import CONDITIONS, parse_pattern
from bertlook_course.widgets import TypedPattern
from bertlook_teach.model import extract_attention

from .test_engine_browser import page, specimen  # noqa: F401 - fixtures

TEXTS = [
    ("The old dog chased the unbelievable cat, and The cat sat.", None),
    ("Rain fell on the roof; nobody heard it.", "The roof was unbreakable, so it rained."),
    ("STRAßE strasse ΣΑΣ σας İstanbul “quoted” – don't 20°C", None),
    ("the [MASK] ate [SEP] x <b>markup</b> & {it} {args}", None),
    ("Hi", None),
    ("中文 and 中 again", "文 中"),
]

SIDES = ("query", "key")

PATTERNS = [
    *(f"{side}.{one}" for side in SIDES for one in (
        "word('the')", "word('The', \"cat\")", "token('##ing', '[SEP]')", "token('[CLS]')", "token('<b>')", "split()", "special()",
        "punctuation()", "position(0)", "position(-1, 2)", "position(99)", "segment('A')", "segment('B')", "itself()", "offset(-1)",
        "offset(+1, 3, -2)", "within(2)", "before()", "after()", "next()", "previous()", "next('the', 'cat')", "previous(',')",
        "same_word()", "segment_same()", "segment_other()", "word('strasse')", "word('σασ')", "word('i̇stanbul')", "word('中')",
    )),
    "key.offset(-1) & key.word('the')",
    "key.offset(-1) | key.offset(1) & ~key.punctuation()",
    "(key.offset(-1) | key.offset(1)) & ~key.punctuation()",
    "~(key.offset(-1) | key.special())",
    "~~key.next()",
    "~key.special() & ~key.itself()",
    "~(~key.special() & ~key.itself())",
    "key.next(query.word('the'))",
    "key.next(key.split() | key.punctuation())",
    "query.previous(key.split())",
    "key.next(key.next(key.word('cat')))",
    "key.previous(~key.before())",
    "query.next() | key.next(query.previous())",
    "query.word('the') & (key.next() | (key.previous() & ~key.word(',')))",
    "  key.word(\n'the')  & query.split( )  ",
    "key.word('it\\'s', \"don't\", 'a\\\\b', '\\x41', '\\u00df')",
    "key.word('{it}') | query.word('{args}')",
    "(((key.after())))",
    "key.next() # a comment",
    "key.offset(100000000000000000000)",
    "key.within(1000000)",
    "query.position(-99, 0)",
]  # fmt: skip

SAID_ALIKE = [
    "",
    "  \n ",
    "key.word('" + "a" * 2000 + "')",
    "key.xyzzy()",
    "query.qqq('a')",
    "key.word()",
    "key.word('')",
    "key.word(3)",
    "key.offset()",
    "key.offset(0)",
    "key.offset('1')",
    "key.within(0)",
    "key.within(1, 2)",
    "key.segment('C')",
    "key.segment()",
    "key.itself(1)",
    "key.next('a', 2)",
    "key.next(query.split(), key.next())",
    "key.word(query.split() & ~key.next('a'))",
    "query.word('the') & key.xyzzy()",
    "query.pos('DET') & key.governor()",
    "~key.next(key.lemma(\"it's\", 'a\"b')) | query.sibling() | query.sibling()",
    " | ".join(["key.next()"] * 150),
    "~" * 199 + "key.next()",
    "~" * 200 + "key.next()",
    "(" * 199 + "key.next()" + ")" * 199,
]

REFUSED = [
    "key.word(",
    "key.word('the'",
    "key.word('the'))",
    "(key.next()",
    "key",
    "key.next",
    "key.next() key.next()",
    "key.next() and query.next()",
    "not key.next()",
    "key.next() &",
    "& key.next()",
    "key.next() + query.next()",
    "key.offset(1.5)",
    "key.offset(1e3)",
    "key.offset(01)",
    "key.offset(--)",
    "key.offset(-'a')",
    "key.offset(True)",
    "key.word(“the”)",
    "key.word('a' b)",
    "key.word(word='a')",
    "key.word('unfinished)",
    "key.__class__()",
    "key.constructor()",
    "key.toString()",
    "open('secret')",
    "alert(1)",
    "<script>alert(1)</script>",
    "key.next(); alert(1)",
    "`key.next()`",
    "${key.next()}",
    "key['next']()",
    "(" * 200 + "key.next()" + ")" * 200,
    "(" * 900 + "key.next()" + ")" * 900,
    "key.next(" * 150 + ")" * 150 + " & (",
    "日本",
]


@pytest.fixture(scope="module")
def asked(page):
    conditions = {name: [kind.sentence, kind.takes, kind.needs] for name, kind in CONDITIONS.items()}
    page.evaluate(
        """(conditions) => {
          const runs = new Map();
          window.asked = ([line, text, pair]) => {
            const key = JSON.stringify([text, pair]);
            if (!runs.has(key)) runs.set(key, model.run(text, pair));
            try {
              const { shares, sentence } = bertlookPatterns.score(line, runs.get(key), conditions, bertlookTraits.percent);
              return { shares: Array.from(shares), sentence };
            } catch (error) {
              return { refused: error.message, kind: error.constructor.name };
            }
          };
        }""",
        conditions,
    )
    return lambda cases: page.evaluate("(cases) => cases.map(asked)", cases)


def in_python(specimen, line, text, pair):
    try:
        view = TypedPattern(specimen, text, line, text_pair=pair)
    except ValueError as error:
        return {"refused": str(error)}
    return {"shares": view.head_map._values["share of cases found"].ravel(), "sentence": view.sentence}


def near_ties(specimen, text, pair):
    """Heads with a query whose two best keys differ by less than maps of the page differ from Python's: either may come first."""
    weights = np.sort(extract_attention(specimen, text, pair).to_words().weights, axis=-1)
    return (weights[..., -1] - weights[..., -2] < 1e-5).any(-1).ravel()


@pytest.mark.parametrize(("text", "pair"), TEXTS, ids=[text[:8].strip() for text, _ in TEXTS])
def test_every_condition_is_that_of_python(text, pair, asked, specimen):
    found = asked([[line, text, pair] for line in PATTERNS])
    scored, ties = 0, near_ties(specimen, text, pair)
    assert ties.mean() < 0.3  # of the heads; most of a text's heads are compared
    for line, one in zip(PATTERNS, found, strict=True):
        expected = in_python(specimen, line, text, pair)
        assert {**one, "shares": None, "kind": None} == {**expected, "shares": None, "kind": None}, line
        if "shares" in one:
            scored += 1
            differ = np.abs(np.subtract(one["shares"], expected["shares"])) > 1e-6
            assert not (differ & ~ties).any(), line
    assert scored > (len(PATTERNS) // 3 if " " in text else 3)


def test_the_texts_reach_every_condition_of_plain_text(asked):
    """What is said above of all of them holds of some that are not refused."""
    wanted = {name for name, kind in CONDITIONS.items() if kind.needs != "a treebank"}
    cases = [[line, *text] for line in PATTERNS for text in TEXTS]
    reached = {
        condition.name
        for (line, *_), one in zip(cases, asked(cases))
        if "shares" in one
        for condition in parse_pattern(line).conditions()
    }
    assert reached == wanted


@pytest.mark.parametrize("line", SAID_ALIKE, ids=range(len(SAID_ALIKE)))
def test_it_refuses_in_the_words_of_python(line, asked, specimen):
    expected = in_python(specimen, line, *TEXTS[0])
    [one] = asked([[line, *TEXTS[0]]])
    assert one.get("refused") == expected.get("refused") and one.get("sentence") == expected.get("sentence")


@pytest.mark.parametrize("line", REFUSED, ids=ascii)
def test_what_python_does_not_read_the_page_does_not_read(line, asked, specimen):
    assert "refused" in in_python(specimen, line, *TEXTS[0])
    [one] = asked([[line, *TEXTS[0]]])
    assert one["kind"] == "Error" and len(one["refused"]) < 400 and one["refused"][-1] in ".'"


def test_words_are_folded_as_python_folds_them(page):
    """Of all letters but some dozen of old scripts: upper and lower case of a browser stand for what it has no name for."""
    letters = [c for c in map(chr, range(sys.maxunicode + 1)) if unicodedata.category(c)[0] == "L"]
    folded = page.evaluate(  # as one text: a list of so many takes seconds to go over
        "(letters) => [...letters].map((c) => bertlookPatterns.fold(c)).join('\\n')", "".join(letters)
    ).split("\n")
    assert len(folded) == len(letters)
    other = [c for c, found in zip(letters, folded) if found != unicodedata.normalize("NFC", c).casefold()]
    assert len(other) < 120, other[:20]
    assert not [c for c in other if ord(c) < 0x250]
