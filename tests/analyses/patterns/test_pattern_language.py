"""The pattern language by itself: what each condition finds, how patterns are put together, read, printed and refused.

No model here. The sentence below has five words and eight positions, so that a swapped axis or a miscounted special token shows.
"""

import ast
import copy
import random
import re
from pathlib import Path

import numpy as np
import pytest

from bertlook_course.analyses.patterns import (
    CONDITIONS,
    Both,
    Either,
    Not,
    Pattern,
    PatternText,
    key,
    parse_pattern,
    query,
)
from bertlook_course.corpora import TreebankSentence
from bertlook_course.render import render_pattern

#          0      1      2      3      4     5      6      7
WORDS = ("[CLS]", "The", "cat", "sees", ",", "the", "cat", "[SEP]")
SPECIAL = tuple(word.startswith("[") for word in WORDS)
CAT = PatternText(
    WORDS,
    SPECIAL,
    (0, 0, 0, 0, 0, 1, 1, 1),
    (*((word,) for word in WORDS[:3]), ("see", "##s"), *((word,) for word in WORDS[4:])),
    ("", "DET", "NOUN", "VERB", "PUNCT", "DET", "NOUN", ""),
    ("", "the", "cat", "see", ",", "the", "cat", ""),
    ("", "det", "nsubj:pass", "root", "punct", "det", "obj", ""),
    (-1, 2, 3, -1, 3, 6, 3, -1),
)
PLAIN = PatternText(WORDS, SPECIAL, CAT.segments, CAT.tokens)
N = len(CAT)


def keys_of(pattern, position, reading=CAT):
    """Positions of the keys that a pattern allows the query at a position."""
    return np.flatnonzero(pattern.mask(reading)[position]).tolist()


# --- single conditions, answers on paper ---------------------------------------------------------------

ALONE = {  # condition: the positions at which it holds
    "word('THE')": [1, 5],
    "word('the', ',')": [1, 4, 5],
    "token('##s', '[SEP]')": [3, 7],
    "split()": [3],
    "special()": [0, 7],
    "punctuation()": [4],
    "position(0, -1)": [1, 6],
    "position(9)": [],
    "segment('B')": [5, 6, 7],
    "pos('DET', 'VERB')": [1, 3, 5],
    "lemma('See')": [3],
    "relation('nsubj')": [2],
    "relation('nsubj:pass')": [2],
    "relation('obj', 'det')": [1, 5, 6],
}
OF_TWO = {  # key.condition: query position -> key positions
    "itself()": {0: [0], 3: [3]},
    "offset(-1)": {0: [], 1: [], 2: [1], 6: [5], 7: []},
    "offset(+2, -1)": {1: [3], 4: [3, 6], 6: [5]},
    "within(2)": {1: [2, 3], 4: [2, 3, 5, 6], 0: []},
    "before()": {3: [1, 2], 1: [], 7: []},
    "after()": {4: [5, 6], 6: [], 0: []},
    "next()": {1: [2], 6: [], 0: []},
    "next('cat')": {1: [2], 2: [6], 3: [6], 6: []},
    "next(key.pos('DET'))": {1: [5], 4: [5], 5: []},
    "previous('the')": {1: [], 3: [1], 6: [5], 7: []},
    "previous(key.relation('det') | key.punctuation())": {4: [1], 5: [4], 6: [5]},
    "governor()": {1: [2], 2: [3], 3: [], 6: [3], 0: []},
    "dependent()": {3: [2, 4, 6], 6: [5], 1: [], 0: []},
    "sibling()": {2: [4, 6], 1: [], 3: [], 0: []},
    "same_word()": {1: [5], 2: [6], 3: [], 0: []},
    "same_pos()": {1: [5], 6: [2], 0: []},
    "segment_other()": {0: [5, 6, 7], 6: [0, 1, 2, 3, 4]},
    "segment_same()": {0: [0, 1, 2, 3, 4], 6: [5, 6, 7]},
}


def test_every_condition_has_its_case_here():
    named = {source.partition("(")[0] for source in (*ALONE, *OF_TWO)}
    assert named == set(CONDITIONS)


@pytest.mark.parametrize("source", ALONE)
def test_a_condition_on_one_word(source):
    at_key = parse_pattern(f"key.{source}").mask(CAT)
    assert at_key.shape == (N, N) and at_key.dtype == bool
    assert np.flatnonzero(at_key[0]).tolist() == ALONE[source]
    assert (at_key == at_key[0]).all()
    assert (parse_pattern(f"query.{source}").mask(CAT) == at_key.T).all()


@pytest.mark.parametrize("source", OF_TWO)
def test_a_condition_on_two_words(source):
    pattern = parse_pattern(f"key.{source}")
    for position, keys in OF_TWO[source].items():
        assert keys_of(pattern, position) == keys
    turned = parse_pattern(f"query.{source.replace('key.', 'query.')}")  # the query is what the key was
    assert (turned.mask(CAT) == pattern.mask(CAT).T).all()


def test_query_and_key_are_not_the_same():
    """Fails if the two axes of any directed condition are swapped."""
    for name in ("governor", "dependent", "before", "after", "next", "previous"):
        asked = getattr(key, name)().mask(CAT)
        assert (asked != asked.T).any(), name
    assert (key.governor().mask(CAT) == query.dependent().mask(CAT)).all()
    assert (key.before().mask(CAT) == query.after().mask(CAT)).all()
    assert key.governor().pairs(CAT)[0] == ("The", "cat")


def test_the_nearest_equals_a_loop():
    for reading in (CAT, PLAIN):
        wanted = [i for i, word in enumerate(reading.words) if word in ("cat", ",")]
        for position in range(N):
            later = [] if SPECIAL[position] else [i for i in wanted if i > position]
            earlier = [] if SPECIAL[position] else [i for i in wanted if i < position]
            assert keys_of(key.next("cat", ","), position, reading) == later[:1]
            assert keys_of(key.previous("cat", ","), position, reading) == earlier[-1:]


def test_a_tree_is_laid_over_the_positions_of_the_words():
    tree = TreebankSentence(
        ("a", "b"), (1, -1), ("det", "root"), ("DET", "NOUN"), *[("_",) * 2] * 2, ({},) * 2
    )
    assert PatternText.of(tree).governors == (1, -1)
    assert key.governor().pairs(PatternText.of(tree)) == [("a", "b")]


# --- algebra -------------------------------------------------------------------------------------------


def random_pattern(generator, depth=3) -> Pattern:
    if depth == 0 or generator.random() < 0.2:
        side = generator.choice(["query", "key"])
        return parse_pattern(f"{side}.{generator.choice([*ALONE, *OF_TWO])}")
    if generator.random() < 0.3:
        return ~random_pattern(generator, depth - 1)
    left, right = random_pattern(generator, depth - 1), random_pattern(generator, depth - 1)
    return left & right if generator.random() < 0.5 else left | right


@pytest.fixture(scope="module")
def patterns():
    generator = random.Random(8)
    return [random_pattern(generator) for _ in range(200)]


def holds(pattern, q, k, masks) -> bool:
    """A pattern at one pair, by plain recursion: a second way to compute every combination."""
    if isinstance(pattern, Both):
        return holds(pattern.left, q, k, masks) and holds(pattern.right, q, k, masks)
    if isinstance(pattern, Either):
        return holds(pattern.left, q, k, masks) or holds(pattern.right, q, k, masks)
    if isinstance(pattern, Not):
        return not holds(pattern.inner, q, k, masks)
    return bool(masks.setdefault(repr(pattern), pattern.mask(CAT))[q, k])


def test_patterns_obey_the_laws_of_logic(patterns):
    for a, b in zip(patterns, reversed(patterns)):
        A, B = a.mask(CAT), b.mask(CAT)
        assert ((~(a & b)).mask(CAT) == (~a | ~b).mask(CAT)).all()  # De Morgan, both ways
        assert ((~(a | b)).mask(CAT) == (~a & ~b).mask(CAT)).all()
        assert ((a & b).mask(CAT) == (A & B)).all() and ((a | b).mask(CAT) == (A | B)).all()
        assert ((~~a).mask(CAT) == A).all()
        assert (a | ~a).mask(CAT).all() and not (a & ~a).mask(CAT).any()
        assert ((a & (b | ~a)).mask(CAT) == (A & B)).all()


def test_every_pattern_equals_its_recursion_pair_by_pair(patterns):
    masks = {}
    for pattern in patterns[:40]:
        slow = [[holds(pattern, q, k, masks) for k in range(N)] for q in range(N)]
        assert (pattern.mask(CAT) == np.array(slow)).all()


def test_repr_gives_the_expression_back(patterns):
    for pattern in patterns:
        assert parse_pattern(repr(pattern)) == pattern
        assert eval(repr(pattern), {"query": query, "key": key}) == pattern  # what Python makes of it, too


def test_brackets_stand_only_where_they_are_needed():
    a, b, c = key.next(), key.before(), query.word("x")
    assert repr(a & b | c) == 'key.next() & key.before() | query.word("x")'
    assert repr(a & (b | c)) == 'key.next() & (key.before() | query.word("x"))'
    assert repr(~(a & b)) == "~(key.next() & key.before())"
    assert repr(~a & b) == "~key.next() & key.before()"
    assert parse_pattern("~key.next() & key.before()") == ~a & b


def test_equal_patterns_are_one_key():
    assert {query.pos("DET") & key.governor(): 1}[parse_pattern("query.pos('DET')&key.governor()")] == 1


def test_a_mask_is_ones_own():
    mask = query.pos("DET").mask(CAT)
    mask[:] = True  # writable, and nobody else's
    assert not query.pos("DET").mask(CAT).all()


# --- in words ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("source", "said"),
    [
        (
            "query.pos('DET') & key.governor()",
            "The query is tagged DET and the key is the query's governor.",
        ),
        ("key.next(',')", 'The key is the next "," after the query.'),
        ("query.governor()", "The query is the key's governor."),
        ("~key.offset(-1, 2)", "The key is not 1 word before or 2 words after the query."),
        ("key.word('a', 'b') | ~key.special()", 'The key is the word "a" or "b" or the key is not a special token.'),
        (
            "~(key.after() & key.split())",
            "It is not the case that (the key is after the query and the key is cut into several wordpieces).",
        ),
        ("~~key.after()", "It is not the case that (the key is not after the query)."),
        (
            "key.next(key.pos('VERB')) & (key.itself() | key.within(1))",
            "The key is the next word for which (the key is tagged VERB) after the query and (the key is the query itself or the key is at most 1 word from the query).",
        ),
    ],
)  # fmt: skip
def test_a_pattern_is_said_in_english(source, said):
    assert parse_pattern(source).in_words() == said


def test_every_pattern_can_be_said(patterns):
    for pattern in patterns:
        said = pattern.in_words()
        assert said.lstrip("(")[0].isupper() and said.endswith(".") and "{" not in said
        assert said.count("(") == said.count(")") or "'('" in repr(pattern)


NASTY = '<script>alert("x")</script>'


@pytest.mark.parametrize(
    "text",
    [
        NASTY,
        "it's",
        'say "so"',
        "both ' and \"",
        "back\\slash",
        "new\nline",
        "\u202eturned",
        "🐈",
        "\ud800",
        "{it}",
    ],
)
def test_any_text_survives_and_nothing_becomes_markup(text):
    pattern = query.word(text) & key.next(text)
    assert parse_pattern(repr(pattern)) == pattern
    assert ast.literal_eval(repr(query.word(text))[len("query.word(") : -1]) == text
    assert "\n" not in repr(pattern) + pattern.in_words()
    assert "\u202e" not in repr(pattern) + pattern.in_words()
    drawn = render_pattern(pattern)
    assert drawn.count("<") == drawn.count(">") == 5  # <p>, <code>, </code>, <br>, </p>, and nothing else
    assert render_pattern(query.word("cat")).count("<") == 5


# --- reading from a text box ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("", "empty; write for example"),
        ("query.pos('DET') and key.governor()", "with &, | and ~, not with and, or, not"),
        ("not key.governor()", "with &, | and ~"),
        ("query.pos('DET') &", "not an expression.*column.*Expected for example"),
        ("query.pos(“DET”)", "Quotes must be straight"),
        ("query.governer()", "no condition 'governer'. Did you mean query.governor"),
        ("query.fly()", "no condition 'fly'. There are: after, before"),
        ("key.governor", "ends with brackets"),
        ("governor()", r"made of conditions such as.*got governor\(\) in column 1"),
        ("word.pos('DET')", "made of conditions"),
        ("query.pos()", "query.pos takes one or more texts in quotes; got nothing"),
        ("query.pos(DET)", "made of conditions such as.*got DET in column 11"),
        ("query.pos(3)", "takes one or more texts in quotes; got 3"),
        ("query.pos('')", "takes one or more texts"),
        ("query.pos(b'DET')", "takes one or more texts"),
        ("key.offset(0)", "other than 0; got 0"),
        ("key.offset(True)", "takes one or more whole numbers"),
        ("key.offset(1.5)", "takes one or more whole numbers"),
        ("key.within(-1)", "at least 1; got -1"),
        ("key.segment('C')", "'A' or 'B'; got 'C'"),
        ("key.governor('x')", "takes nothing; got 'x'"),
        ("key.next(3)", "nothing, words in quotes, or one pattern; got 3"),
        ("key.next('a', key.governor())", "or one pattern"),
        ("key.offset(steps=1)", "without names"),
        ("key.offset(*[1])", "made of conditions"),
        ("__import__('os').system('true')", "made of conditions"),
        ("query.__class__()", "no condition '__class__'"),
        ("(lambda: 1)()", "made of conditions"),
        ("[key.governor()]", "made of conditions"),
        ("key.governor() + key.next()", "made of conditions"),
        ("key.governor() if 1 else 2", "made of conditions"),
        ("(x := key.governor())", "made of conditions"),
        ("f'{key}'", "made of conditions"),
        ("-key.governor()", "made of conditions"),
        ("key.governor(); key.next()", "not an expression"),
        ("~" * 300 + "key.next()", "parts within one another"),
        ("(" * 300 + "key.next()" + ")" * 300, "cannot be read|not an expression"),
        ("key.next() | " * 200, "at most 2000 characters"),
        ("key.word('a\0b')", "cannot be read|not an expression"),
    ],
)
def test_anything_else_is_refused_and_said_why(source, message):
    with pytest.raises(ValueError, match=f"(?s){message}"):
        parse_pattern(source)


def test_a_long_chain_is_no_deep_one():
    source = " | ".join(["key.next()"] * 100)
    assert repr(parse_pattern(source)) == source


def test_only_a_text_can_be_read():
    with pytest.raises(TypeError, match="got Condition"):
        parse_pattern(key.governor())


def test_lines_may_break():
    assert parse_pattern(" query.pos('DET')\n  & key.governor() ") == query.pos("DET") & key.governor()


def test_python_words_do_not_put_patterns_together():
    with pytest.raises(TypeError, match="with & .and., | .or., ~ .not."):
        query.pos("DET") and key.governor()
    with pytest.raises(TypeError, match="unsupported operand"):
        key.governor() & "next"


def test_a_wrong_condition_is_found_where_it_is_written():
    with pytest.raises(AttributeError, match="Did you mean key.governor"):
        key.governour()
    with pytest.raises(ValueError, match="takes nothing"):
        key.governor(1)
    assert repr(copy.copy(key)) == "key"  # asks for names that are no conditions
    assert "governor" in dir(key) and "governs the other" in key.governor.__doc__


def test_a_plain_text_has_no_tree():
    for source, kind in CONDITIONS.items():
        if kind.needs == "a treebank":
            arguments = "'x'" if kind.takes.startswith("one or more texts") else ""
            with pytest.raises(ValueError, match="only be asked of a treebank.*--data FILE"):
                parse_pattern(f"~key.{source}({arguments})").mask(PLAIN)
    assert (parse_pattern("query.word('the') & key.next()").mask(PLAIN)).any()


def test_what_a_pattern_needs_and_asks():
    assert (query.pos("DET") & key.next()).needs == {"a treebank"}
    assert key.next(key.pos("DET")).needs == {"a treebank"}
    assert (key.segment_other() | ~query.lemma("a")).needs == {"a treebank", "pairs of texts"}
    assert not key.next(",").needs
    for source, beyond in [
        ("key.special()", True), ("~key.special()", False), ("~~key.special()", True), ("key.itself()", True),
        ("key.token('[SEP]')", True), ("key.token('</s>')", True), ("key.token('[')", False), ("key.token('##s')", False),
        ("~(key.governor() | ~query.special())", True), ("key.governor() & ~key.itself()", False),
    ]:  # fmt: skip
        assert parse_pattern(source).asks_beyond_words() is beyond, source


# --- the page ------------------------------------------------------------------------------------------


def test_the_page_names_every_condition_and_says_what_the_code_says():
    """docs/patterns.md: each condition once, what it takes, and an example with its sentence."""
    page = (Path(__file__).resolve().parents[3] / "docs" / "patterns.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| `(\w+)` \| (.+?) \| (.+?) \| `(.+?)` \| (.+?) \|$", page, re.MULTILINE)
    assert sorted(name for name, *_ in rows) == sorted(CONDITIONS)
    for name, _, takes, example, said in rows:
        pattern = parse_pattern(example)
        assert name in {condition.name for condition in pattern.conditions()}
        assert (takes, said) == (CONDITIONS[name].takes, pattern.in_words())
