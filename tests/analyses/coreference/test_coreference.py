"""Antecedents: reading mentions, heads and rules before one judge."""

import json
from dataclasses import replace

import numpy as np
import pytest
from made import Looker, refusals, stand_in

from bertlook_course.analyses.coreference import Antecedents, antecedent_table
from bertlook_course.analyses.coreference import antecedents as coref
from bertlook_course.corpora import KINDS, CorefDocument, Mention, anaphors, head_word, read_coreference

CONLLU = """# newdoc id = one
# global.Entity = GRP-etype-minspan
# sent_id = s1
# text = The old keeper lit his lamp .
1\tThe\tthe\tDET\tDT\t_\t3\tdet\t_\tEntity=(e1-person-3
2\told\told\tADJ\tJJ\t_\t3\tamod\t_\t_
3\tkeeper\tkeeper\tNOUN\tNN\t_\t4\tnsubj\t_\tEntity=e1)
4\tlit\tlight\tVERB\tVBD\t_\t0\troot\t_\t_
5\this\this\tPRON\tPRP$\t_\t6\tnmod:poss\t_\tEntity=(e2-object-2(e1-person-1)
6\tlamp\tlamp\tNOUN\tNN\t_\t4\tobj\t_\tEntity=e2)
7\t.\t.\tPUNCT\t.\t_\t4\tpunct\t_\t_

# sent_id = s2
# text = It shone .
1\tIt\tit\tPRON\tPRP\t_\t2\tnsubj\t_\tEntity=(e2-object-1)
2\tshone\tshine\tVERB\tVBD\t_\t0\troot\t_\t_
3\t.\t.\tPUNCT\t.\t_\t2\tpunct\t_\t_

"""


@pytest.fixture
def keeper(tmp_path):
    path = tmp_path / "keeper.conllu"
    path.write_text(CONLLU, encoding="utf-8")
    return path


def test_entities_are_read_with_their_head_words_and_kinds(keeper):
    [document] = read_coreference(keeper)
    assert document.sentences == ((0, 7), (7, 10))
    found = [(m.start, m.end, m.head, m.cluster, m.kind, m.gender) for m in document.mentions]
    assert found == [
        (0, 3, 2, "e1", "nominal", "person"),
        (4, 6, 5, "e2", "nominal", "thing"),
        (4, 5, 4, "e1", "pronoun", "masculine"),
        (7, 8, 7, "e2", "pronoun", "thing"),
    ]


def test_jsonl_gives_the_same_mentions(keeper, tmp_path):
    [document] = read_coreference(keeper)
    item = {
        "doc_id": "one",
        "tokens": list(document.words),
        "upos": ["DET", "ADJ", "NOUN", "VERB", "PRON", "NOUN", "PUNCT", "PRON", "VERB", "PUNCT"],
        "sentences": [[0, 7], [7, 10]],
        "mentions": [
            {
                "span": [m.start, m.end],
                "cluster": m.cluster,
                "type": "person" if m.cluster == "e1" else "object",
            }
            for m in document.mentions
        ],
    }
    path = tmp_path / "keeper.jsonl"
    path.write_text(json.dumps(item) + "\n", encoding="utf-8")
    [read] = read_coreference(path)
    assert [(m.start, m.end, m.head, m.kind) for m in read.mentions] == [
        (m.start, m.end, m.head, m.kind) for m in document.mentions
    ]


def test_an_anaphor_is_a_mention_with_an_earlier_one_of_the_same_thing(keeper):
    [document] = read_coreference(keeper)
    found = [(document.text(m), [document.text(b) for b in before]) for m, before in anaphors(document)]
    assert found == [
        ("his", ["The old keeper", "his lamp"]),
        ("It", ["The old keeper", "his lamp", "his"]),
    ]


def test_the_rules_answer_as_they_are_described(keeper):
    [document] = read_coreference(keeper)
    (his, before_his), (it, before_it) = anaphors(document)
    assert document.text(coref.nearest(document, it, before_it)) == "his lamp"
    assert coref.head_match(document, it, before_it) is None
    assert document.text(coref.four_sieves(document, his, before_his)) == "The old keeper", "a lamp is no he"
    assert document.text(coref.four_sieves(document, it, before_it)) == "his lamp"


def test_the_first_sieve_wins_over_a_nearer_mention():
    words = ("Ann", "met", "Mary", "and", "Ann", "left")
    mentions = tuple(Mention(i, i + 1, i, cluster, "proper") for i, cluster in ((0, "a"), (2, "m"), (4, "a")))
    document = CorefDocument("d", words, ((0, 6),), mentions)
    [(last, before)] = anaphors(document)
    assert coref.nearest(document, last, before).head == 2
    assert (
        coref.four_sieves(document, last, before).head == coref.head_match(document, last, before).head == 0
    )


def test_the_same_words_win_over_a_nearer_mention_with_the_same_head_word():
    words = ("the", "old", "dog", "saw", "a", "dog", ";", "the", "old", "dog", "left")
    spans = ((0, 3, "a"), (4, 6, "b"), (7, 10, "a"))
    mentions = tuple(Mention(start, end, end - 1, cluster, "nominal") for start, end, cluster in spans)
    document = CorefDocument("d", words, ((0, 11),), mentions)
    last, before = anaphors(document)[-1]
    assert coref.head_match(document, last, before).head == 5
    assert coref.four_sieves(document, last, before).head == 2


def test_a_mention_around_the_anaphor_is_not_nearer_than_one_before_it():
    ann, lamp, her = (
        Mention(0, 1, 0, "a", "proper"),
        Mention(2, 5, 4, "k", "nominal"),
        Mention(2, 3, 2, "a", "pronoun"),
    )
    document = CorefDocument("d", ("Ann", "lost", "her", "own", "lamp"), ((0, 5),), (ann, lamp, her))
    assert coref.nearest(document, her, [ann, lamp]) is ann
    assert coref.nearest(document, her, []) is None


@pytest.mark.parametrize("rule", coref.BASELINES.values(), ids=coref.BASELINES)
def test_no_rule_prefers_a_mention_with_the_same_head_word_to_one_before_it(rule):
    before, around, within = (Mention(a, b, b - 1, "a", "nominal") for a, b in ((0, 2), (3, 6), (4, 6)))
    document = CorefDocument(
        "d", ("old", "Ann", "and", "so", "old", "Ann"), ((0, 6),), (before, around, within)
    )
    assert rule(document, within, [before, around]) is before


@pytest.mark.parametrize(
    "phrase, head",
    [("keeper", 0), ("the old keeper", 2), ("the keeper of the light", 1), ("Mrs. Dalloway , who slept", 1), ("the keeper 's lamp", 3)],
)  # fmt: skip
def test_the_head_word_of_a_phrase_without_a_tree(phrase, head):
    assert head_word(phrase.split()) == head


# --- heads ---------------------------------------------------------------------------------------------


def looking(monkeypatch, documents, target):
    """find_antecedents with a head 1-1 that puts .9 on target(document, word), and a head 1-2 that is uniform."""

    def weights_of(number, n):
        maps = np.full((1, 2, n, n), 1 / n, np.float32)
        maps[0, 0] = 0.1 / (n - 1)
        for word in range(n - 2):
            maps[0, 0, word + 1, target(documents[number], word) + 1] = 0.9
        return maps

    stand_in(monkeypatch, weights_of)
    return coref.find_antecedents(Looker(), documents)


def test_a_head_that_looks_at_the_antecedent_is_right_and_one_that_looks_from_it_is_not(keeper, monkeypatch):
    [document] = read_coreference(keeper)
    antecedent = {4: 2, 7: 5}
    forth = looking(monkeypatch, [document], lambda d, word: antecedent.get(word, word))
    assert forth.heads["mentions"][:, 0, 0].tolist() == forth.heads["open"][:, 0, 0].tolist() == [True, True]
    turned = {head: word for word, head in antecedent.items()}
    back = looking(monkeypatch, [document], lambda d, word: turned.get(word, word))
    assert back.heads["open"][:, 0, 0].sum() == 0
    assert forth.kinds == ("pronoun", "pronoun")


def test_among_mentions_a_look_elsewhere_costs_nothing_but_open_it_does(keeper, monkeypatch):
    [document] = read_coreference(keeper)
    found = looking(monkeypatch, [document], lambda d, word: 3)  # at the verb, which is no mention
    assert not found.heads["open"][:, 0, 0].any()
    assert found.heads["mentions"].shape == (2, 1, 2)


def test_a_word_is_never_its_own_antecedent(keeper):
    [document] = read_coreference(keeper)
    [his, _it] = anaphors(document)
    row = np.full((1, 1, len(document.words)), 0.1)
    row[..., his[0].head] = 0.9
    row[..., 2] = 0.2
    assert coref._named_words(row, *his)["open"].item() == 2
    for place in range(4):  # also where all other weights were rounded to 0
        mention, before = Mention(place, place + 1, place, "a", "proper"), [his[1][0]]
        assert coref._named_words(np.eye(4)[place, None, None], mention, before)["open"].item() != place


def made_up(n=400, seed=0):
    """Answers of 2 x 3 heads, of which 2-3 is right in nine of ten cases."""
    rng = np.random.default_rng(seed)
    right = rng.random((n, 2, 3)) < 0.3
    right[:, 1, 2] = rng.random(n) < 0.9
    rules = {name: rng.random(n) < 0.5 for name in coref.BASELINES}
    kinds = tuple(rng.choice(KINDS, n))
    return Antecedents({"mentions": right, "open": right}, rules, kinds, np.arange(n) // 10, n // 10, 0)


def test_the_best_head_is_chosen_on_other_documents_than_it_is_scored_on():
    found = made_up()
    rows = {(row.predictor, row.kind): row for row in antecedent_table(found)}
    best = rows["best head, mentions", "all"]
    assert best.heads == ("2-3", "2-3") and best.n == 400
    assert best.accuracy == pytest.approx(found.heads["mentions"][:, 1, 2].mean())
    assert best.low < best.accuracy < best.high
    assert rows["nearest", "all"].accuracy == pytest.approx(found.rules["nearest"].mean())
    assert sum(rows["nearest", kind].n for kind in KINDS) == 400
    noise = made_up()
    noise.heads["mentions"][:] = np.random.default_rng(1).random((400, 2, 3)) < 0.3
    flattered = noise.heads["mentions"].mean(axis=0).max()
    fair = next(r for r in antecedent_table(noise) if r.predictor.startswith("best"))
    assert fair.accuracy < flattered


# --- bad input -----------------------------------------------------------------------------------------


def test_brackets_may_nest_and_cross_but_must_match(tmp_path):
    crossing = CONLLU.replace("Entity=(e1-person-3", "Entity=(e1-person-3(e9-thing-1").replace(
        "5\this\this\tPRON\tPRP$\t_\t6\tnmod:poss\t_\tEntity=(e2-object-2(e1-person-1)",
        "5\this\this\tPRON\tPRP$\t_\t6\tnmod:poss\t_\tEntity=(e2-object-2(e1-person-1)e9)",
    )
    path = tmp_path / "crossing.conllu"
    path.write_text(crossing, encoding="utf-8")
    assert (0, 5) in {(m.start, m.end) for m in read_coreference(path)[0].mentions}
    for wrong, message in (
        (CONLLU.replace("Entity=e2)", "_"), "mentions e2 are opened and not closed"),
        (CONLLU.replace("Entity=(e2-object-1)", "Entity=e7)"), "closes 'e7', which is not open"),
        (CONLLU.replace("Entity=", "Other="), "no two mentions of one thing"),
    ):
        path.write_text(wrong, encoding="utf-8")
        with pytest.raises(ValueError, match=message):
            read_coreference(path)


@pytest.mark.parametrize(
    "line, message",
    [
        ("{", "line 1: expected an object with doc_id, tokens"),
        ('{"tokens": ["a"], "mentions": [{"span": [0, 2], "cluster": 1}]}', "span .0, 2. is not .start, end. within 0 to 1"),
        ('{"tokens": ["a"], "mentions": [{"cluster": 1}]}', "a mention needs span"),
        ('{"tokens": ["a", "b"], "mentions": [{"span": [0, 1], "cluster": 1, "head": 1}]}', "head 1 is not within"),
        ('{"tokens": ["a"], "mentions": []}', "no two mentions of one thing"),
    ],
)  # fmt: skip
def test_a_wrong_line_of_jsonl_is_named(tmp_path, line, message):
    path = tmp_path / "wrong.jsonl"
    path.write_text(line + "\n", encoding="utf-8")
    with pytest.raises(ValueError, match=message):
        read_coreference(path)


LONELY = CorefDocument("d", ("Ann", "left"), ((0, 2),), (Mention(0, 1, 0, "a", "proper"),))
ONE_DOCUMENT = replace(made_up(10), documents=np.zeros(10, int), n_documents=1)

test_what_cannot_be_scored_is_refused = refusals(
    (lambda: antecedent_table(ONE_DOCUMENT), "halves need two documents with anaphors; got 1"),
    (
        lambda: antecedent_table(ONE_DOCUMENT, candidates="all"),
        "candidates must be one of mentions, open; got 'all'",
    ),
    (lambda: coref.find_antecedents(Looker(), [LONELY]), "no mention refers back"),
)


def test_broken_sentences_and_lines_can_be_skipped_and_are_told(tmp_path):
    path = tmp_path / "mixed.conllu"
    broken = CONLLU.replace("# newdoc id = one", "# newdoc id = two").replace("Entity=e2)", "_")
    path.write_text(
        CONLLU + broken + CONLLU.replace("id = one", "id = three").replace("4\tlit", "9\tlit"), "utf-8"
    )
    with pytest.raises(ValueError, match="not closed|ids must be"):
        read_coreference(path)
    skipped = []
    documents = read_coreference(path, on_error="skip", skipped=skipped)
    assert [len(document.sentences) for document in documents] == [2, 1, 1]
    assert len(skipped) == 2 and any("not closed" in message for message in skipped)
    lines = tmp_path / "mixed.jsonl"
    good = (
        '{"tokens": ["a", "b"], "mentions": [{"span": [0, 1], "cluster": 1}, {"span": [1, 2], "cluster": 1}]}'
    )
    lines.write_text(f"{good}\n{{\n{good}\n", encoding="utf-8")
    skipped = []
    assert len(read_coreference(lines, on_error="skip", skipped=skipped)) == 2
    assert len(skipped) == 1 and "line 2" in skipped[0]
    with pytest.raises(ValueError, match="on_error must be 'stop' or 'skip'; got 'ignore'"):
        read_coreference(lines, on_error="ignore")
