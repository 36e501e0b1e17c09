"""English trees from Universal Dependencies (v2) to Stanford basic dependencies, the scheme of Clark et al. (2019).

The two schemes name many relations differently and turn some arcs round: in Stanford a preposition is governed by the
word its phrase belongs to and governs its noun (``prep``, ``pobj``); in UD the noun is attached, and the preposition
hangs on the noun (``case``). docs/stanford.md lists what is converted, and what cannot be.

References
----------
de Marneffe and Manning (2008), Stanford typed dependencies manual; de Marneffe et al. (2014), Universal Stanford
Dependencies, for what changed between the two.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

from .treebank import TreebankSentence

# Relations that only change their name. What is not named here or below keeps its UD name.
RENAMED = {
    "obj": "dobj",
    "nsubj:pass": "nsubjpass",
    "nsubj:outer": "nsubj",
    "csubj:pass": "csubjpass",
    "csubj:outer": "csubj",
    "aux:pass": "auxpass",
    "nmod:poss": "poss",
    "nmod:desc": "nn",
    "compound": "nn",
    "compound:prt": "prt",
    "nummod": "num",
    "acl:relcl": "rcmod",
    "advcl:relcl": "advcl",
    "cc:preconj": "preconj",
    "det:predet": "predet",
    "fixed": "mwe",
    "name": "nn",
    "obl:tmod": "tmod",
    "nmod:tmod": "tmod",
    "obl:npmod": "npadvmod",
    "nmod:npmod": "npadvmod",
}

NO_COUNTERPART = {
    "list",
    "orphan",
    "dislocated",
    "reparandum",
    "vocative",
    "clf",
}  # Stanford's catch-all: dep

# A phrase with a preposition keeps these relations to what is outside it; any other becomes ``prep``.
KEPT = {"conj", "root", "appos", "parataxis"}

# What belongs to the clause, and not to the noun, when a phrase with a preposition is the predicate ("is in the box").
OF_THE_CLAUSE = set(
    """
    nsubj csubj aux cop mark advmod obl advcl punct cc conj expl parataxis discourse vocative obj
    iobj ccomp xcomp dislocated
    """.split()
)

# What may stand before a preposition and belongs to it: "*right* in the middle", "*two days* after the war".
BEFORE_A_PREPOSITION = {"advmod", "obl", "nmod", "cc", "punct", "discourse", "preconj", "mark"}

# IN that opens a clause; any other IN before a gerund is a preposition with a clause as complement ("after eating").
SUBORDINATORS = set(
    """
    that if whether while because although though unless as when whereas lest once than where so
    """.split()
)

TIMES = set(
    """
    second minute hour day night week weekend month year decade century season spring summer autumn
    fall winter morning noon afternoon evening midnight today tonight tomorrow yesterday time moment
    monday tuesday wednesday thursday friday saturday sunday january february march april may june
    july august september october november december
    """.split()
)

CLITICS = {"'s", "’s", "'", "’", "s'"}


def to_stanford(sentence: TreebankSentence) -> TreebankSentence:
    """One English sentence in Stanford basic dependencies.

    Parameters
    ----------
    sentence : TreebankSentence
        In UD v2, with part-of-speech tags (UPOS; the Penn tags in XPOS decide between gerunds and infinitives).

    Returns
    -------
    TreebankSentence
        The same words with other governors and relations; again a tree with one root.

    Examples
    --------
    >>> tree = TreebankSentence(("sat", "on", "mats"), (-1, 2, 0), ("root", "case", "obl"), ("VERB", "ADP", "NOUN"),
    ...                         ("VBD", "IN", "NNS"), ("sit", "on", "mat"), ({},) * 3)
    >>> to_stanford(tree).governors, to_stanford(tree).relations
    ((-1, 0, 1), ('root', 'prep', 'pobj'))
    """
    tree = _Tree(sentence)
    tree.turn_names_round()
    tree.find_carriers()
    governors, relations = tree.arcs()
    return replace(sentence, governors=tuple(governors), relations=tuple(relations))


def _base(relation: str) -> str:
    return relation.partition(":")[0]


class _Tree:
    """A UD tree on its way to another scheme."""

    def __init__(self, sentence: TreebankSentence):
        self.sentence = sentence
        self.governors = list(sentence.governors)
        self.relations = list(sentence.relations)
        self.words = range(len(sentence))
        self.carrier = list(
            self.words
        )  # the word that now holds a word's arc to the outside: a preposition, a copula
        self.prepositions: dict[int, list[int]] = {}  # noun or gerund -> its prepositions, left to right
        self.copulas: dict[int, int] = {}  # noun -> the copula that heads its clause

    def children(self, word: int, *relations: str) -> list[int]:
        return [
            c
            for c in self.words
            if self.governors[c] == word and (not relations or _base(self.relations[c]) in relations)
        ]

    def turn_names_round(self) -> None:
        """Names are headed by their last word: UD's first word of a ``flat`` name hands everything over to the last."""
        for first in self.words:
            rest = self.children(first, "flat")
            if not rest:
                continue
            last = rest[-1]
            self.governors[last], self.relations[last] = self.governors[first], self.relations[first]
            for child in self.children(first):
                if child != last:
                    self.governors[child] = last
            self.governors[first] = last
            for part in (first, *rest[:-1]):
                self.relations[part] = "name"  # no longer flat: what is turned once is not turned back

    def find_carriers(self) -> None:
        for word in self.words:
            cases = [c for c in self.children(word, "case") if not self.is_clitic(c)]
            gerund = self.gerund_prepositions(word)
            found = cases or gerund
            if not found:
                continue
            self.prepositions[word] = found
            copulas = self.children(word, "cop")
            if copulas and cases:
                self.copulas[word] = self.carrier[word] = copulas[-1]
            else:
                self.carrier[word] = found[0]

    def is_clitic(self, word: int) -> bool:
        s = self.sentence
        owner = self.governors[word]
        return s.xpos[word] == "POS" or (
            s.words[word].lower() in CLITICS and owner >= 0 and self.relations[owner] == "nmod:poss"
        )

    def gerund_prepositions(self, word: int) -> list[int]:
        """The preposition of a clause like "after eating": IN before a verb in -ing that has no subject of its own."""
        s = self.sentence
        if s.xpos[word] != "VBG" or self.children(word, "nsubj", "csubj"):
            return []
        if _base(self.relations[word]) not in ("advcl", "acl", "obl", "nmod", "conj", "xcomp", "ccomp"):
            return []
        return [
            m
            for m in self.children(word, "mark")
            if s.xpos[m] == "IN" and s.lemmas[m].lower() not in SUBORDINATORS and m < word
        ][:1]

    def arcs(self) -> tuple[list[int], list[str]]:
        governors, relations = [-1] * len(self.words), [""] * len(self.words)
        for word in self.words:
            outside, name = self.outside(word), self.name(word)
            carrier = self.carrier[word]
            if carrier == word:
                if (
                    any(word in found for found in self.prepositions.values())
                    or word in self.copulas.values()
                ):
                    continue  # set with the noun it belongs to
                governors[word], relations[word] = outside, name
                continue
            chain = self.prepositions[word]
            # "she is in the box": the copula heads the clause, the phrase hangs on it
            if word in self.copulas:
                governors[carrier], relations[carrier] = outside, name
                governors[chain[0]], relations[chain[0]] = carrier, "prep"
            else:
                governors[chain[0]], relations[chain[0]] = outside, name if name in KEPT else "prep"
            for previous, following in pairwise(chain):  # "out of the box": one phrase inside another
                governors[following], relations[following] = previous, "pcomp"
            governors[word] = chain[-1]
            relations[word] = "pcomp" if self.sentence.upos[word] in ("VERB", "AUX", "ADV") else "pobj"
        return governors, relations

    def outside(self, word: int) -> int:
        """The word that governs this word, or the phrase it heads, in the new tree."""
        governor, relation = self.governors[word], _base(self.relations[word])
        if governor == -1:
            return -1
        of_conjunct = relation == "punct" or self.relations[word] == "cc"
        if of_conjunct and word < governor and _base(self.relations[governor]) == "conj":
            # UD hangs "and" and the comma on the conjunct that follows, Stanford on the first one.
            return self.outside(governor)
        if governor in self.copulas:
            return self.copulas[governor] if relation in OF_THE_CLAUSE else governor
        if governor in self.prepositions:
            first = self.prepositions[governor][0]
            if relation == "conj" and word in self.prepositions:
                return first  # "in towns and in villages": one preposition is joined to the other
            if relation in BEFORE_A_PREPOSITION and word < first:
                return first
        return governor

    def name(self, word: int) -> str:
        """The relation's name in Stanford, by the relation and the word's tags."""
        s, relation, governor = self.sentence, self.relations[word], self.governors[word]
        base, lemma, xpos = _base(relation), s.lemmas[word].lower(), s.xpos[word]
        if relation == "acl":
            if self.children(word, "mark") and any(
                s.xpos[m] == "TO" or s.lemmas[m].lower() == "to" for m in self.children(word, "mark")
            ):
                return "infmod"
            return "partmod" if xpos in ("VBG", "VBN") else "ccomp"
        if base == "case":
            return "possessive"  # prepositions never come here
        if base == "mark" and (xpos == "TO" or (lemma == "to" and s.upos[word] == "PART")):
            return "aux"
        if base == "advmod":
            if lemma in ("not", "n't", "never"):
                return "neg"
            if governor >= 0 and s.upos[governor] == "NUM":
                return "quantmod"
            return "advmod"
        if relation == "compound" and governor >= 0 and s.upos[word] == s.upos[governor] == "NUM":
            return "number"
        if base == "xcomp" and s.upos[word] == "ADJ" and not self.children(word, "cop", "mark"):
            return "acomp"
        if relation in ("obl", "nmod", "obl:unmarked", "nmod:unmarked", "obl:agent", "obl:arg"):
            return "tmod" if lemma in TIMES else "npadvmod"
        if base in NO_COUNTERPART:
            return "dep"
        return RENAMED.get(relation, RENAMED.get(base, base))
