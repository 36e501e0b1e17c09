"""How well heads follow a pattern: on hand-made maps, against a naive double loop, and against the relation table."""

import json
from dataclasses import replace

import made
import numpy as np
import pytest
from made import as_conllu, framed, read_rows, refusals
from made import counted_from_one as tree
from tiny import save_tiny_model

from bertlook_bench.line import main
from bertlook_course.analyses.patterns import (
    WordMaps,
    count_cases,
    key,
    parse_pattern,
    query,
    score_pattern,
    word_maps,
)
from bertlook_course.analyses.patterns import scores as scores_module
from bertlook_course.analyses.syntax import OFFSETS, collect_answers, score_relations
from bertlook_course.claims import PatternEvidence, Resources, claim_of, decide
from bertlook_course.corpora import load_treebank
from bertlook_course.metrics import CannotDecide
from bertlook_course.widgets import PatternView
from bertlook_teach import Attention, HeadMap
from bertlook_teach.model import random_twin
from bertlook_teach.stats import ratio_interval

LAYERS, HEADS = 3, 2
GOVERNOR, NEXT_COMMA, CLS = (0, 1), (1, 0), (2, 1)  # what three heads were made to do; the others look evenly


@pytest.fixture(autouse=True)
def few_are_enough(monkeypatch):
    """The maps made by hand have a case or two in a half."""
    monkeypatch.setattr(scores_module, "LEAST_CASES", 1)


TREES = [
    tree("the cat , it sees a dog", [2, 5, 5, 5, 0, 7, 5], "det nsubj punct expl root det obj", "DET NOUN PUNCT PRON VERB DET NOUN"),
    tree("a tired dog , sat", [3, 3, 5, 5, 0], "det amod nsubj punct root", "DET ADJ NOUN PUNCT VERB"),
    tree("see the cat", [0, 3, 1], "root det obj", "VERB DET NOUN"),
    tree("it , the tired cat", [0, 1, 5, 5, 1], "root punct det amod appos", "PRON PUNCT DET ADJ NOUN"),
]  # fmt: skip


def between_words(weights, words):
    return framed(words, weights, level="word")


def followed(sentence) -> Attention:
    """Three heads that follow a rule with .6 of their attention, the rest even; the other heads look evenly."""
    n = len(sentence) + 2
    weights = np.full((LAYERS, HEADS, n, n), 1 / n)

    def look(head, position, goal):
        weights[head][position] = 0.4 / (n - 1)
        weights[head][position, goal] = 0.6

    for word, governor in enumerate(sentence.governors):
        if governor >= 0:
            look(GOVERNOR, 1 + word, 1 + governor)
        commas = [i for i in range(word + 1, len(sentence)) if sentence.words[i] == ","]
        if commas:
            look(NEXT_COMMA, 1 + word, 1 + commas[0])
        look(CLS, 1 + word, 0)
    return between_words(weights, sentence.words)


def random_attention(trees, seed=0, spread=1.0):
    generator = np.random.default_rng(seed)
    sizes = [len(t) + 2 for t in trees]
    drawn = [generator.dirichlet(np.full(n, spread), size=(LAYERS, HEADS, n)) for n in sizes]
    return [between_words(weights, t.words) for weights, t in zip(drawn, trees)]


def random_maps(trees, seed=0) -> WordMaps:
    return WordMaps.of(random_attention(trees, seed, 1 / 3), trees)


@pytest.fixture(scope="module")
def maps():
    return WordMaps.of([followed(t) for t in TREES], TREES)


@pytest.fixture(scope="module")
def noise():
    return random_maps(TREES * 6)


# --- closed form ---------------------------------------------------------------------------------------


def test_a_head_made_for_the_pattern_is_found_with_its_mass(maps):
    for pattern, head, label in [
        (query.pos("DET") & key.governor(), GOVERNOR, "1-2"),
        (key.next(","), NEXT_COMMA, "2-1"),
    ]:
        score = score_pattern(pattern, maps)
        row = score["accuracy"]
        assert (
            score.accuracy[head] == row.value == row.high == 1.0 > row.low > 0.25
        )  # a handful of cases, all right
        assert row.heads == (label,) and row.in_sample_head == label
        assert score.mass[head] == pytest.approx(0.6, abs=1e-3)  # two bytes a number
        assert score["mass"].value == pytest.approx(0.6, abs=1e-3) and score["mass"].heads == (label,)
        assert (np.delete(score.accuracy.ravel(), np.ravel_multi_index(head, (LAYERS, HEADS))) < 1).all()


def test_swapping_query_and_key_is_caught(maps):
    right = score_pattern(query.pos("DET") & key.governor(), maps)
    turned = score_pattern(key.pos("DET") & query.governor(), maps)
    assert right.accuracy[GOVERNOR] == 1 and turned.accuracy[GOVERNOR] < 0.5
    transposed = [followed(t) for t in TREES]
    for attention in transposed:
        attention.weights[:] = attention.weights.swapaxes(-1, -2).copy()
    looks = WordMaps.of(transposed, TREES)
    assert score_pattern(query.pos("DET") & key.governor(), looks).accuracy[GOVERNOR] < 0.5


def test_chance_is_what_guessing_and_even_attention_give(maps):
    counts = count_cases(query.pos("DET") & key.dependent() | key.word(",") & query.word("it"), maps, "words")
    # "it" may look at 6 other words of the first text and 4 of the last; even attention sees 9 and 7 positions
    assert counts.cases.tolist() == [1, 0, 0, 1]
    assert counts.right_rules[:, -1] == pytest.approx([1 / 6, 0, 0, 1 / 4])
    assert counts.mass_rules[:, -1] == pytest.approx([1 / 9, 0, 0, 1 / 7])
    even = counts.mass[:, 0, 0]  # a head that looks evenly
    assert even == pytest.approx([1 / 9, 0, 0, 1 / 7], rel=1e-3)


def test_a_rule_scores_what_it_says(maps):
    nearest = score_pattern(key.next(), maps)
    assert nearest["accuracy"].rules == ("+1",) and nearest["accuracy"].rule == 1 == nearest["mass"].rule
    assert nearest["accuracy"].gain <= 0
    last = score_pattern(key.position(-1), maps)
    assert last["accuracy"].rules == ("last word",) and last["accuracy"].rule == 1


def test_where_many_keys_match_chance_is_the_rule_to_beat(tiny):
    """Two by two words: the other segment is 2 of 3 candidates, and no fixed place or offset is right more than half the time."""
    maps = word_maps(tiny, [("the cat", "it sat"), ("a dog", "it sat")])
    row = score_pattern(key.segment_other(), maps)["accuracy"]
    assert row.rules == ("guessing",) and row.rule == row.chance == pytest.approx(2 / 3)


# --- a second way --------------------------------------------------------------------------------------

SOURCES = [
    "query.pos('DET') & key.governor()",
    "key.next(',') | key.previous(key.pos('NOUN'))",
    "~key.word('cat') & query.relation('obj', 'det')",
    "key.special()",
    "~key.special()",
    "query.itself() | query.word(',') & key.token('[SEP]')",
    "key.within(2) & ~key.sibling()",
]


def double_loop(pattern, maps, attentions, answers):
    """Score by going through all pairs with dicts and lists; slow, and written from the definition alone."""
    found = {}
    for reading, attention in zip(maps.readings, attentions):
        mask, n = pattern.mask(reading).tolist(), len(reading)
        for layer, head in np.ndindex(LAYERS, HEADS):
            row = found.setdefault((layer, head), {"n": 0, "right": 0, "mass": 0.0})
            for q in range(n):
                if answers == "words" and reading.special[q]:
                    continue
                others = [k for k in range(n) if answers == "anything" or (k != q and not reading.special[k])]
                matching = [k for k in others if mask[q][k]]
                if matching:
                    look = attention.weights[layer, head, q]
                    best = others[0]
                    for k in others:
                        if look[k] > look[best]:
                            best = k
                    row["n"] += 1
                    row["right"] += best in matching
                    row["mass"] += sum(float(look[k]) for k in matching)
    return found


@pytest.mark.parametrize("source", SOURCES)
def test_every_score_equals_the_double_loop(source):
    trees = TREES * 3
    attentions = random_attention(trees, seed=5)
    maps, pattern = WordMaps.of(attentions, trees), parse_pattern(source)
    answers = "anything" if source == "~key.special()" else None
    score = score_pattern(pattern, maps, answers=answers)
    assert all(row.rule >= row.chance or len(row.rules) == 2 for row in score.rows)
    slow = double_loop(pattern, maps, attentions, score.about["answers"])
    for head, row in slow.items():
        assert score.counts.cases.sum() == row["n"]
        assert score.accuracy[head] == pytest.approx(row["right"] / row["n"])
        assert score.mass[head] == pytest.approx(row["mass"] / row["n"], abs=2e-3)


def test_the_choice_is_made_on_the_other_half(noise):
    score = score_pattern(key.governor(), noise)
    counts, row = score.counts, score["accuracy"]
    right = counts.right.reshape(len(noise), -1)
    total = 0
    for side in (0, 1):
        chosen = right[1 - side :: 2].sum(0).argmax()
        total += right[side::2, chosen].sum()
    assert row.value == pytest.approx(total / counts.cases.sum())
    assert row.value <= row.in_sample and row.low < row.value < row.high


def test_the_same_numbers_as_the_relation_table(tiny):
    """One relation, dependent looks at governor: another module counts, on the same treebank and the same halves of documents."""
    trees = [t for t in load_treebank() if len(t.words) < 9][:80]
    assert len({t.doc_id for t in trees}) >= 20
    maps, answers = word_maps(tiny, trees), collect_answers(tiny, trees)
    alone = type(answers)(
        answers.distances[:, :1], answers.sentences, answers.skipped, answers.removed, answers.about
    )
    table = score_relations(alone, permutations=0, min_cases=5)
    for relation in ("obj", "det", "nsubj"):
        score = score_pattern(query.relation(relation) & key.governor(), maps)
        theirs, ours = table[relation], score["accuracy"]
        assert ours.n == theirs.n and ours.n_texts == theirs.n_sentences
        assert ours.value == pytest.approx(theirs.accuracy)
        assert ours.in_sample == pytest.approx(theirs.in_sample)
        assert score.counts.right_rules[:, : len(OFFSETS)].sum(0).max() == pytest.approx(
            theirs.in_sample_baseline * theirs.n
        )
        assert sorted(f"{label} d>g" for label in ours.heads) == sorted(theirs.head.split(" / "))


def test_halves_and_intervals_are_of_documents_where_a_treebank_names_them():
    """Twenty documents of six sentences: the head that one half of them chooses is reported on the others, and they are drawn."""
    trees = [replace(t, doc_id=f"document {i // 6}") for i, t in enumerate(TREES * 30)]
    maps = random_maps(trees, seed=4)
    score = score_pattern(key.governor(), maps)
    counts, row = score.counts, score["accuracy"]
    right = counts.right.reshape(20, 6, -1).sum(1)
    reported = np.zeros(20)
    for side in (0, 1):
        reported[side::2] = right[side::2, right[1 - side :: 2].sum(0).argmax()]
    cases = counts.cases.reshape(20, 6).sum(1)
    assert row.value == pytest.approx(reported.sum() / cases.sum()) and row.n_texts == 120
    assert (row.low, row.high) == pytest.approx(ratio_interval(np.stack([reported, cases], axis=1)))
    assert score.about["interval"].endswith("over documents, 400 replicates")
    [first, *_] = score.head_rows()
    whole = ratio_interval(np.stack([counts.right[:, 0, 0].reshape(20, 6).sum(1), cases], axis=1))
    assert (first["accuracy_low"], first["accuracy_high"]) == pytest.approx(whole)

    few = score_pattern(
        key.governor(), random_maps(trees[:114], seed=4)
    )  # 19 documents: halves, but texts are drawn
    assert "over texts" in few.about["interval"]
    assert counts.by_document(21) is counts and len(counts.by_document().cases) == 20


# --- maps ----------------------------------------------------------------------------------------------


def test_maps_come_back_from_disk(noise, tmp_path):
    noise.save(tmp_path / "maps.npz")
    again = WordMaps.load(tmp_path / "maps.npz")
    assert repr(again) == repr(noise) and again.about == noise.about
    for before, after in zip(noise.weights + noise.answers, again.weights + again.answers):
        assert before.dtype == after.dtype and (before == after).all()
    assert vars(again.readings[3]) == {
        n: v for n, v in vars(noise.readings[3]).items() if n in vars(again.readings[3])
    }
    (tmp_path / "maps.npz").write_bytes(b"PK broken")
    with pytest.raises(ValueError, match="is damaged.*Delete it"):
        WordMaps.load(tmp_path / "maps.npz")


def test_the_cache_is_used_and_knows_model_and_texts(tiny, tmp_path, monkeypatch):
    trees = TREES[:2]
    first = word_maps(tiny, trees, cache=tmp_path)
    word_maps(tiny, trees[:1], cache=tmp_path)
    word_maps(random_twin(tiny), trees, cache=tmp_path)
    assert len(list(tmp_path.glob("maps-*.npz"))) == 3
    monkeypatch.setattr("bertlook_course.analyses.patterns.readings._extract", None)  # would fail
    again = word_maps(tiny, trees, cache=tmp_path)
    assert all((a == b).all() for a, b in zip(first.weights, again.weights))


def test_words_of_several_pieces_and_pairs_are_read(tiny):
    [reading] = word_maps(tiny, ["The unreal cat sat."]).readings
    assert reading.words == ("[CLS]", "The", "unreal", "cat", "sat", ".", "[SEP]")
    assert key.split().pairs(reading)[0] == ("[CLS]", "unreal")
    maps = word_maps(tiny, [("The cat sat.", "It was tired."), ("A dog.", "It sat on it.")])
    score = score_pattern(key.segment_other(), maps)
    assert score["accuracy"].n == sum(sum(not s for s in r.special) for r in maps.readings)


LONG = tree("cat " * 40, [0, *[1] * 39], "root " + "dep " * 39, "NOUN " * 40)


def test_sentences_too_long_are_left_out_and_texts_cut_and_both_counted(tiny):
    maps = word_maps(tiny, [TREES[0], LONG])
    assert len(maps) == 1 and maps.skipped == {"longer than the model reads": 1}
    assert word_maps(tiny, ["a cat", "cat " * 40]).skipped == {"cut to what the model reads": 1}


def test_special_tokens_answer_only_if_they_are_asked_for(maps):
    score = score_pattern("key.special()", maps)
    assert score.about["answers"] == "anything" and score["accuracy"].rules == ("first token",)
    words = np.array([len(t) for t in TREES])
    assert score.accuracy[CLS] > (words / (words + 2)).min()


# --- shown, saved, claimed -----------------------------------------------------------------------------


def test_a_score_is_printed_with_everything_beside_it(maps):
    score = score_pattern("query.pos('DET') & key.governor()", maps, maps)
    printed = repr(score)
    for part in [
        'query.pos("DET") & key.governor()',
        "The query is tagged DET",
        "95 %",
        "chance",
        "twin",
        "1-2",
    ]:
        assert part in printed
    row = score["accuracy"]
    assert row.twin == row.value and f"{row.n} cases" in score.sentence() and "twin" in score.sentence("mass")


def test_a_head_map_can_be_made_of_it(maps):
    score = score_pattern("key.next(',')", maps)
    view = HeadMap(score.head_maps(), layer=NEXT_COMMA[0], head=NEXT_COMMA[1])
    assert view.measure == "accuracy" and view.value == 1
    rows = score.head_rows()
    assert len(rows) == LAYERS * HEADS and rows[2]["head"] == "2-1" and 0.2 < rows[2]["accuracy_low"] < 1


def claimed(pattern, threshold=0.1, **changes):
    return claim_of(pattern, key="13-mine", sentence="x", source="a student", threshold=threshold, **changes)


def test_a_pattern_enters_the_ledger(tiny):
    pattern = query.pos("DET") & key.governor()
    claim = claimed(pattern, 0.2)
    resources = Resources(treebank=TREES * 8)
    [verdict] = decide([claim], tiny, resources=resources)
    counts = count_cases(pattern, word_maps(tiny, resources.treebank), "words")
    head = np.unravel_index(counts.right[::2].sum(0).argmax(), (LAYERS, HEADS))
    rule = counts.right_rules[::2].sum(0).argmax()
    gain = (counts.right[1::2, head[0], head[1]] - counts.right_rules[1::2, rule]).sum() / counts.cases[
        1::2
    ].sum()
    assert verdict.value == pytest.approx(gain) and verdict.n == 16
    assert "query.pos" in claim.operational and claim.refuted_text() == "it is .20 or less"


def test_a_claim_on_the_mass_against_chance_is_decided(maps, tiny, monkeypatch):
    """Hand-made maps in place of the model's: the head gives .6, even attention 1/n."""
    monkeypatch.setattr("bertlook_course.claims.verdicts.FEWEST_REPORTING", 5)
    monkeypatch.setattr("bertlook_course.claims.verdicts.FEWEST_CHOOSING", 5)
    monkeypatch.setattr("bertlook_course.claims.from_patterns.word_maps", lambda model, corpus: WordMaps.of([followed(t) for t in corpus], corpus))  # fmt: skip
    pattern = key.next(",")
    claim = claimed(pattern, 0.3, measure="mass", against="chance", control=False)
    resources = Resources(treebank=TREES * 5)
    [verdict] = decide([claim], tiny, resources=resources)
    counts = count_cases(pattern, maps, "words")
    reported = [1, 3]
    even = counts.mass_rules[reported, -1].sum() / counts.cases[reported].sum()
    assert verdict.value == pytest.approx(0.6 - even, abs=0.02) and verdict.verdict == "holds"


def test_a_claim_says_why_it_cannot_be_decided(tiny):
    zebra, adverb = claimed(key.word("zebra"), on="texts"), claimed(query.pos("ADV") & key.governor())
    for claim, given, why in (
        (zebra, {"texts": ["a cat", "a dog"]}, "matches no pair"),
        (adverb, {"treebank": TREES}, "there are: ADJ, DET"),
        (adverb, {"treebank": []}, "got nothing"),
    ):
        [verdict] = decide([claim], tiny, resources=Resources(**given))
        assert verdict.verdict == "cannot be decided here" and why in verdict.why


def test_evidence_of_equal_patterns_is_collected_once():
    assert hash(PatternEvidence(key.next(), "texts")) == hash(
        PatternEvidence(parse_pattern("key.next()"), "texts")
    )
    claim = claimed(parse_pattern("key.next()"), on="texts")
    assert claim.collect == PatternEvidence(key.next(), "texts")


# --- the command ---------------------------------------------------------------------------------------


def bertlook(*words) -> int:
    return main(["pattern", *map(str, words), "--quiet"])


def test_the_command_prints_and_saves(tmp_path, capsys):
    model, treebank = save_tiny_model(tmp_path / "bert"), tmp_path / "my.conllu"
    treebank.write_text(as_conllu(TREES), encoding="utf-8")
    words = (
        "query.pos('DET') & key.governor()",
        "--model",
        model,
        "--data",
        treebank,
        "--out",
        tmp_path / "out",
    )
    assert bertlook(*words, "--cache", tmp_path / "cache") == 0
    printed = capsys.readouterr().out
    assert "The query is tagged DET and the key is the query's governor." in printed and "twin" in printed
    rows = read_rows(tmp_path / "out" / "pattern.csv")
    assert [row["measure"] for row in rows] == ["accuracy", "mass"] and float(rows[0]["twin"]) >= 0
    content = json.loads((tmp_path / "out" / "pattern.json").read_text(encoding="utf-8"))
    assert content["about"]["pattern"] == 'query.pos("DET") & key.governor()'
    assert content["about"]["files"] == ["my.conllu"]
    heads = read_rows(tmp_path / "out" / "pattern_heads.csv")
    assert len(heads) == LAYERS * HEADS and heads[-1]["head"] == "3-2"
    assert len(list((tmp_path / "cache").iterdir())) == 2
    assert bertlook(*words, "--cache", tmp_path / "cache", "--no-twin") == 0
    rows = read_rows(tmp_path / "out" / "pattern.csv")
    assert rows[0]["twin"] == ""


def test_the_command_reads_texts_and_pairs(tmp_path, capsys):
    model = save_tiny_model(tmp_path / "bert")
    texts, pairs = tmp_path / "texts.txt", tmp_path / "pairs.txt"
    texts.write_text("the cat sat\na dog sat\n", encoding="utf-8")
    pairs.write_text("the cat\tit sat\na dog\tit was tired\n", encoding="utf-8")
    out = ("--model", model, "--out", tmp_path / "out")
    assert bertlook("query.word('the', 'a') & key.next()", "--texts", texts, *out) == 0
    assert bertlook("key.segment_other()", "--pairs", pairs, *out) == 0
    assert "2 texts" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("kind", "content"),
    [
        ("texts", b"the cat sat\n\xff dog\na dog sat\n"),
        ("pairs", b"the cat\tit sat\nno pair\na dog\tit was tired\n"),
        ("data", None),
    ],
)
def test_the_command_stops_at_a_broken_text_or_leaves_it_out_and_says_so(tmp_path, capsys, kind, content):
    model, corpus = save_tiny_model(tmp_path / "bert"), tmp_path / "corpus"
    if content is None:
        content = (as_conllu(TREES) + "1\ta\t_\tDET\t_\t_\t7\tdet\t_\t_\n\n").encode()
    corpus.write_bytes(content)
    words = ("key.next()", f"--{kind}", corpus, "--model", model, "--no-twin", "--out", tmp_path / "out")
    assert bertlook(*words) == 1
    capsys.readouterr()
    assert bertlook(*words, "--on-error", "skip") == 0
    assert "1 broken texts left out in all" in capsys.readouterr().err
    content = json.loads((tmp_path / "out" / "pattern.json").read_text(encoding="utf-8"))
    assert len(content["about"]["broken"]) == 1
    corpus.write_bytes(b"\xff\n" if kind == "texts" else b"no pair\n")
    assert bertlook(*words, "--on-error", "skip") == 1


# --- live ----------------------------------------------------------------------------------------------


def test_a_pattern_can_be_typed(maps):
    view = PatternView(maps, maps, "key.next(',')")
    assert "best head (2-1)" in view.picture.value and "random twin" in view.picture.value
    assert view.picture.value.count("<svg") == 1 and "2-1" in view.picture.value
    assert "vw);max-width:100%" in view.picture.value  # the map grows with the screen
    view.text_box.text.value = "query.pos('DET') & key.governor()"
    assert "best head (1-2)" in view.picture.value and "tagged DET" in view.picture.value
    before = view.picture.value
    for wrong, message in [
        ("key.governer()", "Did you mean key.governor"),
        ("key.word('zebra')", "Cannot be decided: the pattern matches no pair"),
        ("<img src=x>", "This is not an expression"),
    ]:
        view.text_box.text.value = wrong
        assert message in view.text_box.message.value and "<img" not in view.text_box.message.value
        assert view.picture.value == before
    assert repr(view) == "PatternView('<img src=x>')"
    assert "best head (1-2)" in view._repr_mimebundle_()["text/html"]


def test_what_is_typed_is_never_markup(maps):
    view = PatternView(maps, pattern="key.word('<b>', ',')")
    assert "<b>" not in view.picture.value and "&lt;b&gt;" in view.picture.value


def test_a_choice_on_a_case_or_two_is_refused(maps, monkeypatch):
    monkeypatch.setattr(scores_module, "LEAST_CASES", 5)
    with pytest.raises(CannotDecide, match="3 and 2 cases stand.*needs 5 in each: give more texts"):
        score_pattern(query.pos("DET") & key.governor(), maps)


# --- what is refused -----------------------------------------------------------------------------------


def refused(source, words, kind=CannotDecide, **options):
    return (lambda maps: score_pattern(source, maps, **options)), words, kind


def of_texts(source, texts, words, kind=CannotDecide):
    return (lambda tiny: score_pattern(source, word_maps(tiny, texts))), words, kind


test_what_cannot_be_decided_is_said = refusals(
    refused("key.word('zebra')", "matches no pair of words in any text"),
    refused("key.next() & ~key.next()", "matches no pair"),
    refused("key.next() | ~key.next()", "matches every pair"),
    refused("key.segment('A')", "matches every pair"),
    refused("~key.special()", "matches every pair.*answers='anything'"),
    refused("query.word('sees')", "1 and 0 cases stand in the texts of the two halves"),
    refused("query.word('sees') & key.next()", "1 and 0 cases stand in the texts of the two halves"),
    refused("key.special()", "answer only with answers='anything'", answers="words"),
    refused("key.next()", "one of words, anything; got 'all'", ValueError, answers="all"),
    refused(
        "query.pos('DETT')",
        "no word of these 4 sentences has 'DETT'; there are: ADJ, DET, NOUN, PRON, PUNCT, VERB",
        ValueError,
    ),
    refused("key.next(key.relation('iobj'))", "has 'iobj'; there are: amod, appos, det", ValueError),
    refused("key.segment_other()", "asks for two segments.*give pairs", ValueError),
    of_texts(
        "query.pos('DET') & key.governor()",
        ["the cat", "a dog", "cat"],
        r"query.pos\(\"DET\"\), key.governor\(\) can only be asked of a treebank",
        ValueError,
    ),
    of_texts("key.next()", ["cat", "dog"], "no text has two words"),
    of_texts("key.next()", ["the cat sat"], "one half"),
    of_texts("key.next()", [LONG], "no text can be read.*1 longer", ValueError),
    of_texts("key.next()", [], "one kind throughout; got", ValueError),
    of_texts("key.next()", ["a", ("b", "c")], "one kind throughout; got", ValueError),
    of_texts("key.next()", [3], "one kind throughout; got", ValueError),
    (lambda maps, noise: score_pattern("key.next()", maps, noise), "the same corpus"),
    (lambda maps: score_pattern("key.next()", maps)["beauty"], "accuracy or mass", KeyError),
    (lambda maps: PatternView(maps, measure="acc"), '"accuracy" or "mass"; got \'acc\''),
    (lambda: PatternView([]), "at least one text is needed; the list is empty"),
    (lambda: PatternView([np.eye(3)]), "a list of Attention was expected.*got ndarray", TypeError),
    (
        lambda: PatternView([made.attention(), made.attention(layers=1)]),
        r"one model; got \(layers, heads\) of \(1, ",
    ),
    (lambda: claimed(key.next(), measure="beauty"), "got"),
    (lambda: claimed(key.next(), against="odds"), "got"),
    (lambda: claimed(key.next(), on="air"), "got"),
)


def test_a_text_of_one_word_takes_no_part(tiny):
    plain = word_maps(tiny, ["the cat", "a dog", "cat"])
    assert score_pattern("query.word('the', 'a') & key.next()", plain)["accuracy"].n == 2
