"""Lesson 06: heads that know syntax. Clark et al. (2019), section 4.2 and Table 1, each row against its baseline.

Scored on a treebank in the Stanford scheme of the paper, converted from Universal Dependencies. The best head, its
direction and the best offset are chosen on one half of the sentences and measured on the other.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ..claims import CannotDecide, Claim
from ..published_syntax import published_table_1
from ..syntax import OFFSETS, Answers, collect_answers, gold_cases, in_scheme, offset_answers

CLARK, SLIDES = "Clark et al. 2019", "Stefanik, lecture slides"
# The rows of Table 1 besides "all".
RELATIONS = tuple(relation for relation in published_table_1() if relation != "all")
MODIFIERS = ("det", "amod", "nn", "num", "poss")
WORTH_A_SENTENCE = 0.02  # a head is better than an offset from two points on


# --- evidence ------------------------------------------------------------------------------------------


def relations(encoder, resources) -> Iterator[dict[str, np.ndarray]]:
    """For each sentence and relation: cases, right answers of every head in both directions, and of every offset."""
    return relation_evidence(collect_answers(encoder, resources.treebank))


def relation_evidence(answers: Answers) -> Iterator[dict[str, np.ndarray]]:
    """The same from answers that were collected before. A relation that a sentence has not is left out of its dict."""
    trees = in_scheme(answers.sentences, "stanford")
    if not any(set(tree.relations) & {"det", "prep", "dobj"} for tree in trees):
        raise CannotDecide("the treebank has none of the English relations of Table 1")
    gold, plain = gold_cases(trees, "possessive"), gold_cases(trees)
    offsets = offset_answers(trees, OFFSETS)
    cases = gold.cases(count_root=False)
    named = {name: cases[name] for name in ("all", *RELATIONS, "num") if name in cases}
    named["modifiers"] = np.sort(np.concatenate([cases[m] for m in MODIFIERS if m in cases] or [[]])).astype(
        int
    )
    owners = np.flatnonzero(gold.answering != plain.answering)
    for number in range(len(trees)):
        row = {}
        for name, words in named.items():
            words = words[gold.sentences[words] == number]
            if len(words):
                row |= _counts(name, answers.distances, offsets, gold, words)
        words = owners[gold.sentences[owners] == number]
        if len(words):  # the owner's own answer, beside that of its mark
            row |= _counts("owner", answers.distances, offsets, plain, words)
            row |= _counts("mark of owner", answers.distances, offsets, gold, words)
        yield row


def _counts(name, distances, offsets, gold, words) -> dict[str, np.ndarray]:
    source = gold.answering[words]
    target = gold.distances[words] + words - source  # from the word that answers
    return {
        f"{name} cases": np.float64(len(words)),
        f"{name} right": (distances[source] == target[:, None, None, None]).sum(0).astype(float),
        f"{name} offsets": (offsets[source] == target[:, None]).sum(0).astype(float),
    }


# --- statistics ----------------------------------------------------------------------------------------


def accuracy(values, name: str, what: str = "right") -> np.ndarray:
    """Right answers by cases; the means' denominators cancel, since both count the same sentences."""
    return values[f"{name} {what}"] / values[f"{name} cases"]


def best(values, choice, name: str, what: str = "right", directions=slice(None)) -> float:
    """The accuracy of what was best on the sentences that choose."""
    chosen = accuracy(choice, name, what)[directions]
    return float(accuracy(values, name, what)[directions].flat[int(chosen.argmax())])


def gain(name: str):
    """Best head minus best offset."""
    return lambda values, choice: best(values, choice, name) - best(values, choice, name, "offsets")


def _known(choice) -> list[str]:
    found = [name for name in RELATIONS if f"{name} cases" in choice]
    if len(found) < 5:
        raise CannotDecide("fewer than five relations of Table 1 occur")
    return found


def largest_gain(values, choice) -> float:
    """Of the relation and head with the largest gain on the sentences that choose."""

    def chosen_gain(name):
        return accuracy(choice, name).max() - accuracy(choice, name, "offsets").max()

    common = [name for name in _known(choice) if f"{name} cases" in values]
    return gain(max(common, key=chosen_gain))(values, choice)


def dependents_look(values, choice) -> float:
    """Mean over the relations but pobj: best head read by rows minus best head read by columns."""
    common = [name for name in _known(choice) if name != "pobj" and f"{name} cases" in values]
    return float(np.mean([_direction(values, choice, name) for name in common]))


def _direction(values, choice, name) -> float:
    return best(values, choice, name, directions=slice(0, 1)) - best(
        values, choice, name, directions=slice(1, 2)
    )


def best_heads_in_the_middle(values, choice) -> float:
    """Share of the relations whose best head lies in the middle half of the layers."""
    places = []
    for name in _known(values):
        right = accuracy(values, name)
        n_layers = right.shape[1]
        if n_layers < 4:
            raise CannotDecide(f"a model of {n_layers} layers has no middle half")
        layer = np.unravel_index(right.argmax(), right.shape)[1]
        places.append(n_layers / 4 <= layer < 3 * n_layers / 4)
    return float(np.mean(places))


def mark_knows_better(values, choice) -> float:
    """Best head by the answers of "'s" minus best head by the answers of the owner itself."""
    return best(values, choice, "mark of owner") - best(values, choice, "owner")


# --- the claims ----------------------------------------------------------------------------------------


def _published(relation: str) -> str:
    row = published_table_1()[relation]
    return f"{row.accuracy:.1f} against {row.baseline:.1f}, {row.head}"


NAMES = {
    "prep": "A head finds what a preposition belongs to",
    "pobj": "A head finds the object of a preposition",
    "det": "A head finds the noun of a determiner",
    "nn": "A head finds the noun of a noun modifier",
    "nsubj": "A head finds the verb of a subject",
    "amod": "A head finds the noun of an adjective",
    "dobj": "A head finds the verb of an object",
    "advmod": "A head finds what an adverb modifies",
    "aux": "A head finds the verb of an auxiliary",
    "poss": "A head finds what an owner owns",
    "auxpass": "A head finds the verb of a passive auxiliary",
    "ccomp": "A head finds the verb that takes a clause",
    "mark": "A head finds the verb of a subordinator",
    "prt": "A head finds the verb of a particle",
}


def _claim(key: str, sentence: str, published, exactness: str, **about) -> Claim:
    return Claim(
        key=f"06-{key}",
        lesson="06",
        sentence=sentence,
        source=about.pop("source", CLARK),
        section=about.pop("section", "4.2"),
        published=published,
        exactness=exactness,
        evidence="relations",
        **about,
    )


def _row(relation: str) -> Claim:
    published = published_table_1()[relation]
    return _claim(
        relation,
        f"{NAMES[relation]} ({relation})",
        lambda: _published(relation),
        "P",
        section="4.2, Table 1",
        operational="accuracy of the best head minus that of the best offset",
        refuted_if="a fixed offset is as good, within two points",
        statistic=gain(relation),
        line=WORTH_A_SENTENCE,
        erratum=published.erratum,
    )


CLAIMS = (
    _claim(
        "all",
        "The best head overall beats the next word",
        lambda: _published("all"),
        "P",
        section="4.2, Table 1",
        operational="accuracy on all arcs, best head minus best offset",
        refuted_if="the best offset is as good, within two points",
        statistic=gain("all"),
        line=WORTH_A_SENTENCE,
        erratum="the authors' code gives 34.7 against 26.7",
    ),
    *map(_row, RELATIONS),
    _claim(
        "no-general-head",
        "No single head knows syntax overall",
        lambda: f"{published_table_1()['all'].accuracy:.1f} %",
        "P",
        operational="minus the accuracy of the best head on all arcs (a random twin has no such head either, and so is no control)",
        refuted_if="one head finds half of all governors",
        statistic=lambda values, choice: -best(values, choice, "all"),
        line=-0.5,
        control=False,
    ),
    _claim(
        "no-syntactic-heads",
        "There are no syntactic heads",
        "",
        "",
        source=SLIDES,
        section="Slides on syntax",
        operational="minus the largest gain of a head over the best offset among the rows of Table 1 (a random twin has none either)",
        refuted_if="for one relation a head is two points better than any offset",
        statistic=lambda values, choice: -largest_gain(values, choice),
        line=-WORTH_A_SENTENCE,
        erratum="no general one: the table quoted shows heads for single relations",
        control=False,
    ),
    _claim(
        "specialists",
        "Some head is far better than any offset",
        lambda: f"{max(r.code_accuracy - r.code_baseline for r in published_table_1().values()):+.1f} points",
        "O",
        operational="largest gain over the best offset among the rows of Table 1",
        refuted_if="no head gains ten points",
        statistic=largest_gain,
        line=0.1,
    ),
    _claim(
        "dependents-look",
        "Dependents look at governors, not the reverse",
        "all rows but pobj",
        "P",
        operational="best head by rows minus best head by columns, mean over the rows but pobj",
        refuted_if="reading the heads by columns is as good",
        statistic=dependents_look,
        line=WORTH_A_SENTENCE,
    ),
    _claim(
        "pobj-direction",
        "... but prepositions look at their objects",
        lambda: f"{published_table_1()['pobj'].accuracy:.1f}, {published_table_1()['pobj'].head}",
        "P",
        operational="pobj: best head by columns minus best head by rows",
        refuted_if="the object looks at its preposition as reliably",
        statistic=lambda values, choice: -_direction(values, choice, "pobj"),
        line=WORTH_A_SENTENCE,
    ),
    _claim(
        "possessive-mark",
        "The mark 's knows better than the owner",
        "stated for head 7-6",
        "P",
        operational="owners with a mark: best head by the mark's answers minus best head by the owner's own",
        refuted_if="the owner's own answers are as good",
        statistic=mark_knows_better,
        line=WORTH_A_SENTENCE,
    ),
    _claim(
        "noun-modifiers",
        "One head for all noun modifiers",
        "94.3 %, 8-11",
        "P",
        section="4.2, Figure 5",
        operational="det, amod, nn, num and poss together, accuracy of the best head",
        refuted_if="one head finds at most nine in ten of them",
        statistic=lambda values, choice: best(values, choice, "modifiers"),
        line=0.9,
        erratum="94.3 is det alone, though the caption says noun modifiers",
    ),
    _claim(
        "middle-layers",
        "The best heads sit in the middle layers",
        "29 of 32, layers 4 to 9",
        "O/D",
        section="4.2, released notebook",
        operational="share of the rows of Table 1 with their best head in the middle half of the layers",
        refuted_if="half of them sit elsewhere",
        statistic=best_heads_in_the_middle,
        line=0.5,
    ),
)

EVIDENCE = {"relations": relations}
