"""From UD to Stanford basic dependencies, sentence by sentence, on trees written by hand."""

import pytest

from bertlook_course.corpora import TreebankSentence, read_conllu, to_stanford
from bertlook_course.corpora.treebank import _require_tree
from bertlook_teach.disk import data_path


def tree(*rows):
    """Rows "word/UPOS/XPOS/governor/relation[/lemma]", the governor counted from 1 as in CoNLL-U, 0 for the root."""
    cells = [row.split("/") for row in rows]
    return TreebankSentence(
        words=tuple(c[0] for c in cells),
        governors=tuple(int(c[3]) - 1 for c in cells),
        relations=tuple(c[4] for c in cells),
        upos=tuple(c[1] for c in cells),
        xpos=tuple(c[2] for c in cells),
        lemmas=tuple(c[5] if len(c) > 5 else c[0].lower() for c in cells),
        misc=({},) * len(cells),
    )


def arcs(sentence):
    """The converted tree as "relation(governor, dependent)", words in order."""
    result = to_stanford(sentence)
    _require_tree(result.governors, 0)
    assert result.words == sentence.words
    names = ["ROOT", *result.words]
    return [f"{r}({names[g + 1]}, {w})" for w, g, r in zip(result.words, result.governors, result.relations)]


CASES = {
    "a preposition governs its noun": (
        tree("Cats/NOUN/NNS/2/nsubj", "sleep/VERB/VBP/0/root", "on/ADP/IN/5/case", "the/DET/DT/5/det", "mat/NOUN/NN/2/obl"),
        ["nsubj(sleep, Cats)", "root(ROOT, sleep)", "prep(sleep, on)", "det(mat, the)", "pobj(on, mat)"],
    ),
    "a phrase inside a phrase": (
        tree("top/NOUN/NN/0/root", "of/ADP/IN/4/case", "the/DET/DT/4/det", "hill/NOUN/NN/1/nmod"),
        ["root(ROOT, top)", "prep(top, of)", "det(hill, the)", "pobj(of, hill)"],
    ),
    "two prepositions in a row": (
        tree("ran/VERB/VBD/0/root", "out/ADP/IN/5/case", "of/ADP/IN/5/case", "the/DET/DT/5/det", "house/NOUN/NN/1/obl"),
        ["root(ROOT, ran)", "prep(ran, out)", "pcomp(out, of)", "det(house, the)", "pobj(of, house)"],
    ),
    "a preposition left behind": (
        tree("what/PRON/WP/4/obl", "are/AUX/VBP/4/aux", "you/PRON/PRP/4/nsubj", "eating/VERB/VBG/0/root", "with/ADP/IN/1/case"),
        ["pobj(with, what)", "aux(eating, are)", "nsubj(eating, you)", "root(ROOT, eating)", "prep(eating, with)"],
    ),
    "a word before the preposition belongs to it": (
        tree("fell/VERB/VBD/0/root", "right/ADV/RB/5/advmod", "into/ADP/IN/5/case", "the/DET/DT/5/det", "well/NOUN/NN/1/obl"),
        ["root(ROOT, fell)", "advmod(into, right)", "prep(fell, into)", "det(well, the)", "pobj(into, well)"],
    ),
    "be and a phrase: the copula heads the clause": (
        tree("She/PRON/PRP/5/nsubj", "is/AUX/VBZ/5/cop/be", "in/ADP/IN/5/case", "the/DET/DT/5/det", "box/NOUN/NN/0/root", "./PUNCT/./5/punct"),
        ["nsubj(is, She)", "root(ROOT, is)", "prep(is, in)", "det(box, the)", "pobj(in, box)", "punct(is, .)"],
    ),
    "be and an adjective: cop stays a dependent": (
        tree("She/PRON/PRP/3/nsubj", "is/AUX/VBZ/3/cop/be", "happy/ADJ/JJ/0/root"),
        ["nsubj(happy, She)", "cop(happy, is)", "root(ROOT, happy)"],
    ),
    "a clause after a preposition": (
        tree("left/VERB/VBD/0/root", "after/SCONJ/IN/3/mark", "eating/VERB/VBG/1/advcl", "soup/NOUN/NN/3/obj"),
        ["root(ROOT, left)", "prep(left, after)", "pcomp(after, eating)", "dobj(eating, soup)"],
    ),
    "a clause after a conjunction": (
        tree("left/VERB/VBD/0/root", "after/SCONJ/IN/4/mark", "she/PRON/PRP/4/nsubj", "ate/VERB/VBD/1/advcl"),
        ["root(ROOT, left)", "mark(ate, after)", "nsubj(ate, she)", "advcl(left, ate)"],
    ),
    "to before an infinitive": (
        tree("want/VERB/VBP/0/root", "to/PART/TO/3/mark", "sleep/VERB/VB/1/xcomp"),
        ["root(ROOT, want)", "aux(sleep, to)", "xcomp(want, sleep)"],
    ),
    "the passive": (
        tree("It/PRON/PRP/3/nsubj:pass", "was/AUX/VBD/3/aux:pass/be", "eaten/VERB/VBN/0/root", "by/ADP/IN/5/case", "him/PRON/PRP/3/obl:agent"),
        ["nsubjpass(eaten, It)", "auxpass(eaten, was)", "root(ROOT, eaten)", "prep(eaten, by)", "pobj(by, him)"],
    ),
    "an owner with its mark": (
        tree("the/DET/DT/2/det", "dog/NOUN/NN/4/nmod:poss", "'s/PART/POS/2/case", "tail/NOUN/NN/0/root"),
        ["det(dog, the)", "poss(tail, dog)", "possessive(dog, 's)", "root(ROOT, tail)"],
    ),
    "a possessive pronoun": (
        tree("his/PRON/PRP$/2/nmod:poss", "hat/NOUN/NN/0/root"),
        ["poss(hat, his)", "root(ROOT, hat)"],
    ),
    "compounds, particles and objects": (
        tree("pick/VERB/VB/0/root", "up/ADP/RP/1/compound:prt", "me/PRON/PRP/1/iobj", "paper/NOUN/NN/5/compound", "bags/NOUN/NNS/1/obj"),
        ["root(ROOT, pick)", "prt(pick, up)", "iobj(pick, me)", "nn(bags, paper)", "dobj(pick, bags)"],
    ),
    "numbers": (
        tree("about/ADV/RB/3/advmod", "two/NUM/CD/3/compound", "million/NUM/CD/4/nummod", "cats/NOUN/NNS/0/root"),
        ["quantmod(million, about)", "number(million, two)", "num(cats, million)", "root(ROOT, cats)"],
    ),
    "a name is headed by its last word": (
        tree("Ann/PROPN/NNP/3/nsubj", "Lee/PROPN/NNP/1/flat", "left/VERB/VBD/0/root"),
        ["nn(Lee, Ann)", "nsubj(left, Lee)", "root(ROOT, left)"],
    ),
    "... and takes what hung on the first": (
        tree("for/ADP/IN/3/case", "old/ADJ/JJ/3/amod", "Ann/PROPN/NNP/0/root", "B./PROPN/NNP/3/flat", "Lee/PROPN/NNP/3/flat"),
        ["root(ROOT, for)", "amod(Lee, old)", "nn(Lee, Ann)", "nn(Lee, B.)", "pobj(for, Lee)"],
    ),
    "and hangs on the first conjunct": (
        tree("cats/NOUN/NNS/0/root", ",/PUNCT/,/3/punct", "dogs/NOUN/NNS/1/conj", "and/CCONJ/CC/5/cc", "birds/NOUN/NNS/1/conj"),
        ["root(ROOT, cats)", "punct(cats, ,)", "conj(cats, dogs)", "cc(cats, and)", "conj(cats, birds)"],
    ),
    "a sentence that begins with and": (
        tree("And/CCONJ/CC/3/cc", "she/PRON/PRP/3/nsubj", "left/VERB/VBD/0/root"),
        ["cc(left, And)", "nsubj(left, she)", "root(ROOT, left)"],
    ),
    "one phrase joined to another": (
        tree(
            "in/ADP/IN/2/case", "towns/NOUN/NNS/0/root", "and/CCONJ/CC/5/cc", "in/ADP/IN/5/case", "woods/NOUN/NNS/2/conj",
        ),
        ["root(ROOT, in)", "pobj(in, towns)", "cc(in, and)", "conj(in, in)", "pobj(in, woods)"],
    ),
    "two nouns under one preposition": (
        tree("in/ADP/IN/2/case", "towns/NOUN/NNS/0/root", "and/CCONJ/CC/4/cc", "woods/NOUN/NNS/2/conj"),
        ["root(ROOT, in)", "pobj(in, towns)", "cc(towns, and)", "conj(towns, woods)"],
    ),
    "relative clauses and participles": (
        tree("men/NOUN/NNS/0/root", "who/PRON/WP/3/nsubj", "sing/VERB/VBP/1/acl:relcl", "hired/VERB/VBN/1/acl"),
        ["root(ROOT, men)", "nsubj(sing, who)", "rcmod(men, sing)", "partmod(men, hired)"],
    ),
    "an infinitive on a noun": (
        tree("plan/NOUN/NN/0/root", "to/PART/TO/3/mark", "leave/VERB/VB/1/acl"),
        ["root(ROOT, plan)", "aux(leave, to)", "infmod(plan, leave)"],
    ),
    "not, and nouns without a preposition": (
        tree("did/AUX/VBD/3/aux/do", "not/PART/RB/3/advmod", "come/VERB/VB/0/root", "Monday/PROPN/NNP/3/obl:unmarked"),
        ["aux(come, did)", "neg(come, not)", "root(ROOT, come)", "tmod(come, Monday)"],
    ),
    "looks happy": (
        tree("She/PRON/PRP/2/nsubj", "looks/VERB/VBZ/0/root", "happy/ADJ/JJ/2/xcomp"),
        ["nsubj(looks, She)", "root(ROOT, looks)", "acomp(looks, happy)"],
    ),
    "what Stanford has no name for": (
        tree("Ann/PROPN/NNP/3/vocative", ",/PUNCT/,/1/punct", "run/VERB/VB/0/root"),
        ["dep(run, Ann)", "punct(Ann, ,)", "root(ROOT, run)"],
    ),
    "one word": (tree("Yes/INTJ/UH/0/root"), ["root(ROOT, Yes)"]),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_a_tree_is_converted(name):
    sentence, expected = CASES[name]
    assert arcs(sentence) == expected


def test_a_bare_apostrophe_is_a_possessive_and_an_of_phrase_is_not():
    owners = tree("boys/NOUN/NNS/3/nmod:poss", "'/PART/_/1/case", "hats/NOUN/NNS/0/root")
    assert arcs(owners)[1] == "possessive(boys, ')"
    of = tree("hats/NOUN/NNS/0/root", "of/ADP/IN/3/case", "boys/NOUN/NNS/1/nmod")
    assert arcs(of)[1:] == ["prep(hats, of)", "pobj(of, boys)"]


def test_every_sentence_of_the_treebank_stays_a_tree_and_keeps_its_words():
    relations = set()
    for sentence in read_conllu(data_path("treebank", "treebank.conllu")):
        converted = to_stanford(sentence)
        _require_tree(converted.governors, 0)
        assert all(converted.relations) and converted.words == sentence.words
        relations |= set(converted.relations)
    table_1 = {"prep", "pobj", "det", "nn", "nsubj", "amod", "dobj", "advmod", "aux", "poss", "auxpass", "ccomp", "mark", "prt"}  # fmt: skip
    assert table_1 <= relations
    assert not any(":" in relation for relation in relations)  # no UD subtype is left over
    assert not relations & {"case", "obl", "obj", "nmod", "nummod", "flat", "fixed", "acl", "compound"}
