"""Lesson 07: its claims on numbers made by hand, Table 2 as data, the judge, tables, figure, live view and minimal pairs."""

import re
from dataclasses import replace

import numpy as np
import pytest
from made import framed, measured_with, refusals, renamed, tree

from bertlook_course.analyses.coreference import (
    BASELINES,
    PRONOUN_BASELINES,
    Antecedents,
    antecedent_gains,
    antecedent_links,
    antecedent_table,
    both_right,
    four_sieves,
    named_words,
    pronoun_table,
)
from bertlook_course.checks.lesson07 import STORY, STORY_ANSWERS
from bertlook_course.claims import Resources, collect_evidence, decide, ledger
from bertlook_course.claims import verdicts as verdicts_of
from bertlook_course.claims.lessons import lesson07
from bertlook_course.claims.lessons.lesson07 import antecedent_evidence
from bertlook_course.claims.statistics import antecedent_accuracies as accuracy
from bertlook_course.corpora import (
    KINDS,
    CorefDocument,
    Mention,
    anaphors,
    coreference_documents,
    excerpts,
    load_minimal_pairs,
    load_treebank,
    read_coreference,
)
from bertlook_course.decks import common
from bertlook_course.decks import lesson07 as deck_of_07
from bertlook_course.decks.lesson00 import to_its_noun
from bertlook_course.decks.pictures.lesson07 import (
    mentions_picture,
    pronoun_pairs_picture,
    rules_picture,
    stairs_picture,
)
from bertlook_course.metrics import CannotDecide
from bertlook_course.published import published_table_2
from bertlook_course.render import (
    antecedent_cells,
    mention_table,
    points_figure,
    published_antecedents,
    rule_answers,
)
from bertlook_course.widgets import READINGS, AntecedentView
from bertlook_teach.model import load_encoder, load_recording, random_twin

CLAIMS = ledger("07")


@pytest.fixture(scope="module")
def documents():
    return coreference_documents(load_treebank())


def answers(n=360, layers=2, heads=3, planted=None, seed=0, rules=(0.3, 0.4, 0.7)):
    """Random answers over 36 documents; ``planted=(layer, head, share)`` makes one head right that often."""
    rng = np.random.default_rng(seed)
    right = rng.random((n, layers, heads)) < 0.2
    if planted:
        layer, which, share = planted
        right[:, layer, which] = rng.random(n) < share
    given = {name: rng.random(n) < share for name, share in zip(BASELINES, rules)}
    kinds = tuple(KINDS[i % 3] for i in range(n))
    return Antecedents({"mentions": right, "open": right}, given, kinds, np.arange(n) // 10, n // 10, 0)


# --- published -----------------------------------------------------------------------------------------


def test_table_2_has_all_its_rows():
    table = published_table_2()
    assert list(table) == ["nearest", "head match", "four sieves", "neural system", "best head"]
    assert table["best head"][1:6] == (65, 64, 73, 58, "5-4")
    assert [table[name].all for name in BASELINES] == [27, 52, 69]
    assert table["neural system"].pronoun is None and "roughly comparable" in table["neural system"].note
    for kind in ("all", *KINDS):  # what the lesson says about the printed table
        theirs = getattr(table["best head"], kind)
        assert getattr(table["head match"], kind) < theirs < getattr(table["four sieves"], kind)


# --- documents from a treebank that is read already ------------------------------------------------------


def test_sentences_give_the_same_documents_as_their_file(documents):
    from bertlook_teach.disk import data_path

    assert documents == read_coreference(data_path("treebank", "treebank.conllu"))


def test_corefud_calls_the_cluster_eid(tmp_path):
    line = "1\the\the\tPRON\tPRP\t_\t0\troot\t_\tEntity=(e1-person-1)\n\n"
    path = tmp_path / "corefud.conllu"
    path.write_text(f"# newdoc id = a\n# global.Entity = eid-etype-head\n{line}{line}", encoding="utf-8")
    [document] = read_coreference(path)
    assert [m.cluster for m in document.mentions] == ["e1", "e1"]
    path.write_text(path.read_text(encoding="utf-8").replace("eid-", ""), encoding="utf-8")
    with pytest.raises(ValueError, match="names no cluster; expected GRP .* or eid"):
        read_coreference(path)


# --- the ledger ----------------------------------------------------------------------------------------


def test_evidence_adds_up_to_the_table():
    """A second way: sums over documents are the accuracies of `antecedent_table`."""
    found = answers(planted=(1, 2, 0.9))
    rows = list(antecedent_evidence(found))
    assert len(rows) == found.n_documents
    total = {key: sum(row.get(key, 0) for row in rows) for key in rows[0]}
    table = {(row.predictor, row.kind): row for row in antecedent_table(found, one_head=True)}
    for kind in ("all", *KINDS):
        for rule in BASELINES:
            assert accuracy(total, rule, kind) == pytest.approx(table[rule, kind].accuracy)
        best = table["best head, mentions", kind]
        assert best.heads == ("2-3", "2-3")
        assert accuracy(total, "mentions", kind)[1, 2] == pytest.approx(best.accuracy)
        assert total[f"{kind} cases"] == best.n


def test_one_head_for_all_kinds_or_one_for_each():
    found = answers(planted=(1, 2, 0.6))
    nominal = np.array(found.kinds) == "nominal"
    found.heads["mentions"][nominal, 0, 0] = True
    for one_head, label in ((True, "2-3"), (False, "1-1")):
        rows = antecedent_table(found, one_head=one_head)
        assert next(r for r in rows if r.heads and r.kind == "nominal").heads == (label, label)


def test_gains_are_differences_on_the_same_mentions():
    found = answers(planted=(1, 2, 0.9))
    table = {(row.predictor, row.kind): row for row in antecedent_table(found, one_head=True)}
    for gain in antecedent_gains(found):
        best, rule = table["best head, mentions", gain.kind], table[gain.rule, gain.kind]
        assert gain.gain == pytest.approx(best.accuracy - rule.accuracy)
        assert gain.low < gain.gain < gain.high and gain.n == best.n
    same = answers(planted=(1, 2, 0.9))
    same.rules["nearest"][:] = same.heads["mentions"][:, 1, 2]
    nearest = antecedent_gains(same)[0]
    assert (nearest.rule, nearest.gain, nearest.low, nearest.high) == ("nearest", 0, 0, 0)  # paired: no noise


def test_verdicts_on_a_head_that_knows_and_one_that_guesses(monkeypatch):
    monkeypatch.setattr(verdicts_of, "FEWEST_REPORTING", 5)  # twelve documents are enough to try the rule on
    monkeypatch.setattr(verdicts_of, "FEWEST_CHOOSING", 5)

    def stub(name):
        return type("Stub", (), {"name": name, "fingerprint": name})()

    knows, guesses = answers(planted=(1, 2, 0.95)), answers(seed=1)
    collected = {
        "antecedents": lambda encoder, resources: antecedent_evidence(
            knows if encoder.name == "knows" else guesses
        )
    }
    verdicts = decide(CLAIMS, stub("knows"), twin=stub("twin"), evidence=collected)
    found = {v.claim.key.removeprefix("07-"): v.verdict for v in verdicts}
    assert found["all-beats-nearest"] == found["pronoun-beats-nearest"] == "holds"
    assert found["all-behind-sieves"] == "does not hold"
    verdicts = decide(CLAIMS, stub("guesses"), twin=stub("twin"), evidence=collected)
    found = {v.claim.key.removeprefix("07-"): v.verdict for v in verdicts}
    assert found["all-beats-nearest"] == "does not hold" and found["all-behind-sieves"] == "holds"


def test_evidence_is_collected_from_a_model_one_input_a_document():
    evidence = collect_evidence("antecedents", load_encoder("specimen-random"), Resources(limit=14))
    assert evidence.n == len({s.doc_id for s in load_treebank()[:14]}) >= 2
    assert evidence.values["all mentions"].shape[1:] == (6, 6)
    # every antecedent is a mention
    assert (evidence.values["all mentions"] >= evidence.values["all open"]).all()


# --- one text ------------------------------------------------------------------------------------------


def small():
    """Ann saw Mary and Ann and Mary: two anaphors, the last with mentions of both before it."""
    words = ("Ann", "saw", "Mary", "and", "Ann", "and", "Ann")
    mentions = [Mention(i, i + 1, i, c, "proper") for i, c in ((0, "a"), (2, "m"), (4, "a"), (6, "a"))]
    return CorefDocument("d", words, ((0, 7),), tuple(mentions))


def looks(document, targets, layers=2, heads=2):
    """Attention at word level: head 1-1 looks where told with .6, [CLS] gets .3; the others look at word 1."""
    n = len(document.words) + 2
    maps = np.full((layers, heads, n, n), 1 / (n + 1))
    maps[..., 2] *= 2  # a little more to word 1, so that nobody is named by a tie
    for word, target in targets.items():
        maps[0, 0, word + 1] = 0.1 / (n - 2)
        maps[0, 0, word + 1, [target + 1, 0]] = 0.6, 0.3
    return framed(document.words, maps, level="word")


def test_links_lead_to_the_nearest_antecedent_and_list_the_others():
    links = antecedent_links(small())
    assert links.governors == (-1, -1, -1, -1, 0, -1, 4)
    assert links.others[6] == (0,) and links.relations[6] == "proper"


def test_a_head_names_a_mention_or_any_word():
    document = small()
    named = named_words(document, looks(document, {4: 1, 6: 0}))
    assert named.shape == (2, 2, 2, 7)
    assert named[:, 0, 0, 6].tolist() == [0, 0]
    assert named[1, 0, 0, 4] == 1 and named[0, 0, 0, 4] in (0, 2)  # "saw" is no mention
    assert (named[..., [0, 1, 2, 3, 5]] == -1).all()
    itself = named_words(document, looks(document, {4: 4}))
    assert itself[1, 0, 0, 4] != 4  # all other words: a mention is not its own antecedent
    turned = named_words(document, looks(document, {0: 6}))
    assert turned[1, 0, 0, 6] == 1  # being looked at by the mention's antecedent is no answer


def test_the_view_counts_every_earlier_mention_as_right():
    document = small()
    view = AntecedentView([document], [looks(document, {4: 1, 6: 0})])
    assert view.relations == ["every kind", "proper"] and view.readings == list(READINGS)
    view.direction = 1
    arcs = view.arcs()["arcs"]
    assert [(a["dependent"], a["governor"], a["answer"]) for a in arcs] == [(4, 0, 1), (6, 4, 0)]
    assert view.caption.startswith("Head 1-1, read as “it names any other word”: 1 of 2 right.")
    svg = view.picture().svg
    assert svg.count("✓") == svg.count("✗") == 1 and "stroke-dasharray" in svg
    assert view.turned == [False, False] and "AntecedentView(1 sentences" in repr(view)


def test_excerpts_are_short_and_hold_an_anaphor(documents):
    found = excerpts(documents, most_words=14, most_letters=48)
    assert len(found) >= 8 and all(anaphors(d) and len(d.words) <= 14 for d in found)
    assert all("".join(d.words) in "".join(next(o.words for o in documents if o.doc_id == d.doc_id)) for d in found)  # fmt: skip
    assert excerpts(documents, most_words=1, most_letters=48) == []


# --- pictures ------------------------------------------------------------------------------------------


def test_tables_say_what_the_rows_say():
    found, guesses = answers(planted=(1, 2, 0.9)), answers(seed=1)
    shown = antecedent_cells(antecedent_table(found, one_head=True), twin=antecedent_table(guesses))
    assert [row[0] for row in shown.rows] == ["nearest", "head match", "four sieves", "best head 2-3", "random twin's best"]  # fmt: skip
    assert str(shown.rows[3][1]).startswith(f"{100 * found.heads['mentions'][:, 1, 2].mean():.0f} [")
    assert "n = 360 all, 120 pronouns, 120 names, 120 nominals" in shown.caption
    printed = published_antecedents(published_table_2())
    assert list(map(str, printed.rows[-1])) == ["best head (5-4)", "65", "64", "73", "58"]
    assert printed.rows[3][0].endswith("*") and printed.rows[3][2] == "-"


def test_a_text_is_shown_with_its_mentions_and_the_rules_at_work():
    table = mention_table(small())
    assert [row[-1] for row in table.rows] == ["no", "no", "yes", "yes"]
    [ann, again] = rule_answers(small()).rows
    assert ann == ["Ann", "Mary ✗", "Ann ✓", "Ann ✓"] and again[1] == "Ann ✓"


def test_mentions_of_one_thing_have_one_number_and_those_that_run_over_a_line_two_strokes():
    picture = mentions_picture(small(), n_words=7)
    assert [number for number in re.findall(r">(\d+)</text>", picture.svg)] == ["1", "1", "1"]
    assert picture.svg.count('stroke-width="5"') == 3 and picture.svg.count('stroke-width="2"') == 1
    assert "“Ann”, “Ann”, “Ann”" in picture.sentence
    assert len(mentions_picture(small(), n_words=3).numbers[0].rows) == 2
    names = tuple("a-very-long-name-that-fills-the-line-" * 2 for _ in range(7))
    broken = mentions_picture(replace(small(), words=names, mentions=(Mention(0, 7, 0, "a", "proper"),) * 2))
    assert broken.svg.count('stroke-width="5"') >= 4


def test_an_arc_goes_to_what_each_rule_answers_and_is_solid_where_it_is_right():
    picture = rules_picture(small(), limit=2)
    answers = [cell for row in rule_answers(small(), limit=2).rows for cell in row[1:]]
    assert picture.svg.count("stroke-dasharray") == sum("✗" in cell for cell in answers)
    assert picture.svg.count("✓</text>") == sum("✓" in cell for cell in answers)


def test_pairs_are_drawn_to_whom_the_pronoun_means_and_what_differs_is_bold():
    pair = [case for case in load_minimal_pairs() if (case.pair, case.group) == ("baker.driver", "female")]
    svg = pronoun_pairs_picture(pair).svg
    bold = re.findall(r'font-weight="700"[^>]*>([^<]+)<', svg)
    assert bold == ["ordered", "brought"] and svg.count("<circle") == 2
    [first, second] = re.findall(r'<circle cx="([\d.]+)"', svg)
    assert float(first) < float(second)  # the baker stands before the driver


def test_a_head_stands_above_the_rivals_that_it_beats():
    picture = stairs_picture([("near", 20, "a"), ("match", 50, "b"), ("best", 70, "c")], "BERT-base", 60)
    assert "BERT-base beats 2 of the 3 rules: near and match." in picture.sentence
    tops = [float(y) for y in re.findall(r'<rect x="[\d.]+" y="([\d.]+)"', picture.svg)]
    [line] = re.findall(r"M10 ([\d.]+)H", picture.svg)
    assert tops[2] < float(line) < tops[1] < tops[0]


def test_the_figure_draws_intervals_only_where_there_are_some():
    points = [("nearest", 0.27, None, None), ("head", 0.65, 0.6, 0.7), ("twin", None, None, None)]
    [axes] = points_figure({"printed": points}).axes
    assert [t.get_text() for t in axes.texts] == ["27", "65"]
    assert [t.get_text() for t in axes.get_yticklabels()] == ["nearest", "head", "twin"]
    segments = [line for line in axes.lines if len(line.get_xdata()) == 2 and line.get_linewidth() == 3]
    assert [list(line.get_xdata()) for line in segments] == [pytest.approx([60, 70])]


# --- minimal pairs -------------------------------------------------------------------------------------


def test_a_rule_of_place_gets_half_and_not_one_pair():
    cases = load_minimal_pairs()
    assert len(cases) == 40 and len({case.pair for case in cases}) == 10
    for rule in PRONOUN_BASELINES.values():
        right = np.array([rule(case) == case.answer for case in cases])
        assert right.mean() == 0.5
        assert both_right(right, cases) == (0.0, 20)
    flat = np.zeros((40, 2, 2, 3), bool)
    groups = {row.group for row in pronoun_table(flat, cases)}
    assert groups == {"all", "female", "male"} and {type(g) for g in groups} == {str}


def test_the_pairs_differ_in_their_ends_only():
    cases = load_minimal_pairs()
    for first in cases:
        assert first.words[first.pronoun] == {"female": "she", "male": "he"}[first.group]
        twins = [c for c in cases if c.pair == first.pair and c.group == first.group and c.id != first.id]
        [other] = twins
        until = first.pronoun + 1
        assert first.words[:until] == other.words[:until] and first.words != other.words
        assert first.candidates == other.candidates and first.answer != other.answer


def test_both_members_must_be_right():
    cases = load_minimal_pairs()
    everything = np.ones((40, 2), bool)
    everything[[i for i, c in enumerate(cases) if c.answer == 1], 1] = False
    share, n = both_right(everything, cases)
    assert share.tolist() == [1.0, 0.0] and n == 20


def test_the_exercises_story_is_solved_by_the_sieves():
    things = [(0, 1, "a", "person"), (2, 3, "m", "person"), (4, 6, "d", "thing"), (7, 9, "d", "thing"), (15, 16, "m", "person")]  # fmt: skip
    mentions = [Mention(s, e, e - 1, c, "nominal", "singular", g) for s, e, c, g in things]
    mentions += [Mention(i, i + 1, i, "m", "pronoun", "singular", "feminine") for i in (4, 12)]
    document = CorefDocument("story", tuple(STORY), ((0, 7), (7, 16)), tuple(sorted(mentions, key=lambda m: (m.start, -m.end))))  # fmt: skip
    solved = {m.start: document.words[four_sieves(document, m, before).head] for m, before in anaphors(document)}  # fmt: skip
    assert [solved[start] for start in (4, 7, 12, 15)] == STORY_ANSWERS


def test_a_panel_that_goes_on_with_a_model_has_its_mark():
    points = [("best head", 0.6, None, None)]
    marks = [
        axes.lines[-1].get_marker()
        for axes in points_figure({"specimen": points, "… on LitBank": points, "x": points}).axes
    ]
    assert marks[0] == marks[1] != marks[2]


def test_three_panels_of_points_write_few_numbers_so_that_neighbours_do_not_meet():
    points = [("nearest", 0.5, 0.4, 0.6), ("best head", 0.6, None, None)]
    two, three = (points_figure({str(i): points for i in range(n)}).axes for n in (2, 3))
    assert (
        len(two[0].get_xticks()) > 3 and [axes.get_xticks().tolist() for axes in three] == [[0, 50, 100]] * 3
    )


# --- the deck speaks of the model it reads with ------------------------------------------------------------

NOVELS = (
    "predictor|all (n = 1,234)",
    "nearest mention|40.0 [38.0, 42.0]",
    "same head word|50.0 [48.0, 52.0]",
    "four sieves|70.0 [68.0, 72.0]",
    "best head of other|60.0 [58.0, 62.0]",
    "best head of the random twin|30.0 [28.0, 32.0]",
)
NAMES = ("data|n|nearer|best head of other|of the random twin", "GAP|99|50.0 [45.0, 55.0]|60.0 [55.0, 65.0]|-", "Winogender|77|-|52.0 [49.0, 55.0]|-")  # fmt: skip


@pytest.fixture(scope="module")
def deck(specimen, documents):
    """A model that is no specimen, by its name, with the specimen beside it."""
    twin = random_twin(specimen)
    return deck_of_07.Deck(renamed(twin, "folder/other"), twin, documents[:12], beside=specimen)


def said(deck):
    shown = (deck.said_won(), deck.points_picture(), deck.said_heads_above(), deck.said_open())
    tables = deck.pairs.table(), deck.cells(("all",), "Note.")
    return "\n".join(
        map(str, (*shown, *tables, deck.said_won_there(), deck.said_on_larger_sets(), deck.answer().sentence))
    )


def test_the_deck_names_its_own_model_and_the_one_beside_it(deck, specimen):
    text = said(deck)
    assert " %) other's best head (" in text and "the luckiest of 72 coins" in text
    assert (
        "other was not measured on novels. On novels (LitBank, n = 14,738) the specimen's best head finds "
        in text
    )
    assert (
        "other was not measured on larger sets. **On 1 of 3 larger sets it does.** Per cent right, the specimen's best head"
        in text
    )
    assert deck.points_picture().sentence.startswith("other and the specimen are not so near. ")
    assert deck.of_other["nearest"].accuracy == deck.of["nearest"].accuracy  # the same parts, no head in it
    assert deck_of_07.Deck(specimen, deck.twin, deck.documents[:4], beside=specimen).beside is None


def test_without_a_model_beside_it_the_deck_never_speaks_of_the_specimen(deck, monkeypatch):
    monkeypatch.setattr(deck, "beside", None)
    monkeypatch.setattr(deck, "of_other", None)
    text = said(deck)
    assert "specimen" not in text and "LitBank" not in text and "Winogender" not in text
    assert deck.said_won_there() == "other was not measured on novels."


def test_what_the_page_has_of_the_deck_s_own_model_is_quoted_as_its(deck, monkeypatch):
    def page(encoder, name):
        tables = {"LitBank": NOVELS, "pronoun pairs": NAMES}
        return measured_with("other", *tables[name]) if encoder is deck.encoder and name in tables else None

    monkeypatch.setattr(common, "measured_of", page)
    monkeypatch.setattr(deck_of_07, "measured_of", page)
    assert deck.said_won_there() == (
        "On novels (LitBank, n = 1,234) other's best head finds 60.0 %, the four sieves 10.0 points more."
    )
    answer = deck.answer()
    assert "baseline: head match 52 %" in answer.sentence
    assert "Winogender 52.0 [49.0, 55.0] %, baseline: a coin 50 %" in answer.sentence
    monkeypatch.setattr(deck, "beside", None)
    monkeypatch.setattr(deck, "of_other", None)
    assert "LitBank: other, 1,234 cases" in deck.points_picture().sentence


def test_the_map_of_the_recorded_heads_measures_what_the_view_shows():
    recording = load_recording("bert-base-uncased")
    for text in deck_of_07.head_5_4(recording)["sentences"]:
        seen = recording[text]
        values = deck_of_07.to_what_is_meant(seen)
        later, earlier = {"it": (10, 2), "they": (14, 4), "cat": (9, 2)}[
            next(word for word in ("it", "they", "cat") if word in seen.tokens)
        ]
        assert values.shape == (12, 12) and values[4, 3] == pytest.approx(seen.weights[4, 3, later, earlier])
        nouns = [(i, i + 1) for i, token in enumerate(seen.tokens) if token == "the"]
        mean = np.mean([seen.weights[7, 10, i, j] for i, j in nouns])
        assert to_its_noun(seen)[7, 10] == pytest.approx(mean, abs=1e-6)


# --- what is refused -----------------------------------------------------------------------------------

FIVE_WORDS = CorefDocument("e", tuple("abcde"), ((0, 5),))
PLAIN = tree("kato tie", (-1, 0), "root x")
POINT = ("nearest", 0.5, None, None)

test_what_is_refused = refusals(
    (lambda: list(lesson07.antecedents(None, Resources(treebank=[PLAIN]))), "no mentions that refer back", CannotDecide),
    (lambda: named_words(small(), looks(FIVE_WORDS, {})), "over the document's 7 words is needed; got 5"),
    (lambda: AntecedentView([small()], []), "as many attentions as documents; got 0 and 1"),
    (lambda: points_figure({"a": [POINT, POINT], "b": [POINT]}), "the same predictors in the same order"),
    (lambda: both_right(np.ones(1), load_minimal_pairs()[:1]), "no two cases share pair and group"),
    (
        lambda: both_right(np.ones(3), load_minimal_pairs()),
        "one row of answers for each of the 40 cases is needed; got 3",
    ),
)  # fmt: skip
