"""What others measured on BERT-base and released with their code: arcs found by each head, scores without heads, entropy by layer."""

from __future__ import annotations

import re
from typing import NamedTuple

import numpy as np

from .tables import read_published

GUM, MASKED, SST2_ENTROPY = (
    "bert_base_gum_uas_per_head",
    "bert_base_head_ablation",
    "bert_base_layer_entropy_sst2",
)

GUM_RELATIONS = (
    "acl:relcl",
    "advmod",
    "amod",
    "aux",
    "aux:pass",
    "case",
    "compound",
    "compound:prt",
    "det",
    "mark",
    "nmod:poss",
    "nsubj",
    "nsubj:pass",
    "obj",
    "obl",
)

MASKED_TASKS = {"CoLA": 1043, "MNLI": 9815, "MRPC": 408, "SST-2": 872}  # items they are scored on

SHUFFLES = ("sentences", "noun phrases shuffled", "words shuffled")


class PublishedArcs(NamedTuple):
    """How often each head of `bert-base-uncased` finds the governor of a word in one relation, on GUM.

    ``correct`` are counts, shape (12, 12); ``n`` is the number of cases, None where it is not known.
    """

    relation: str
    correct: np.ndarray
    n: int | None

    @property
    def accuracy(self) -> np.ndarray:
        """Shares of shape (12, 12).

        Raises
        ------
        ValueError
            If the number of cases is not known.
        """
        if self.n is None:
            raise ValueError(
                f"how many cases of {self.relation!r} there were is not known: only counts can be compared."
            )
        return self.correct / self.n


class PublishedMasking(NamedTuple):
    """One fine-tuned BERT-base, scored again without heads; every score has shape (12, 12) or (12,).

    ``base`` is the score with all heads that belongs to ``one_off`` and ``one_left``, ``layer_base`` the one that belongs to
    ``layer_off``; ``n`` the number of items. ``one_left`` leaves one head in its layer and all heads of the others.
    """

    task: str
    metric: str
    n: int
    base: float
    one_off: np.ndarray
    one_left: np.ndarray
    layer_base: float
    layer_off: np.ndarray


class PublishedEntropy(NamedTuple):
    """Entropy of attention by layer, in nats: mean over heads, rows and sentences, and standard deviation over ``n`` sentences; shape (12,)."""

    mean: np.ndarray
    deviation: np.ndarray
    n: int


def published_gum_arcs(relation: str) -> PublishedArcs:
    """`bert-base-uncased` as published, on at most 1,000 sentences of English-GUM train, Universal Dependencies.

    A case counts as right if the dependent looks most, its own position left out, at its governor. How the rows of several wordpieces
    were merged is not known, and no baseline was released. Not chosen on other sentences: the best head of a relation flatters.

    Raises
    ------
    KeyError
        For a relation that is not among `GUM_RELATIONS`.
    """
    if relation not in GUM_RELATIONS:
        raise KeyError(
            f"nothing was published for the relation {relation!r}; there is: {', '.join(GUM_RELATIONS)}."
        )
    rows = [row for row in read_published(GUM) if row.quantity == f"{relation}: correct"]
    correct = np.full((12, 12), -1)
    for row in rows:
        correct[int(row.layer) - 1, int(row.head) - 1] = int(row.value)
    counted = re.fullmatch(r"of (\d+)", rows[0].note)
    return PublishedArcs(relation, correct, int(counted.group(1)) if counted else None)


def published_masking(task: str) -> PublishedMasking:
    """One BERT-base fine-tuned on a task (CoLA, MNLI, MRPC or SST-2) with heads masked, as the released results have it.

    One model a task and no repetition: on the 408 items of MRPC or the 872 of SST-2 a difference of one or two points is chance.

    Raises
    ------
    KeyError
        For another task.
    """
    if task not in MASKED_TASKS:
        raise KeyError(f"heads were masked for {', '.join(MASKED_TASKS)}; got {task!r}.")
    rows = [row for row in read_published(MASKED) if row.quantity.startswith(f"{task}: ")]
    grids = {"one head off": np.full((12, 12), np.nan), "one head left": np.full((12, 12), np.nan)}
    layers, bases = np.full(12, np.nan), {}
    for row in rows:
        what = row.quantity.removeprefix(f"{task}: ")
        if what.startswith("all heads"):
            bases[what.rpartition(" ")[2]] = float(row.value)
        elif what == "layer off":
            layers[int(row.layer) - 1] = float(row.value)
        else:
            grids[what][int(row.layer) - 1, int(row.head) - 1] = float(row.value)
    return PublishedMasking(
        task,
        rows[0].unit,
        MASKED_TASKS[task],
        bases["head"],
        grids["one head off"],
        grids["one head left"],
        bases["layer"],
        layers,
    )


def published_sst2_entropy(of: str = "sentences") -> PublishedEntropy:
    """`bert-base-uncased` as published on 2,000 sentences of SST-2, as they are or shuffled.

    Parameters
    ----------
    of : {"sentences", "noun phrases shuffled", "words shuffled"}

    Raises
    ------
    KeyError
        For anything else.
    """
    if of not in SHUFFLES:
        raise KeyError(f"the entropy was published of {', '.join(SHUFFLES)}; got {of!r}.")
    values = {"mean entropy": np.full(12, np.nan), "standard deviation": np.full(12, np.nan)}
    n = 0
    for row in read_published(SST2_ENTROPY):
        sentences, what = row.quantity.split(": ")
        if sentences == of:
            values[what][int(row.layer) - 1] = float(row.value)
            n = int(row.note.split()[1])
    return PublishedEntropy(values["mean entropy"], values["standard deviation"], n)
