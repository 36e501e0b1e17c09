"""Lesson 13: what its claims are decided on, and how much of it a class has time for.

The register of `bertlook_course.claims.essay.register` has the same eleven claims in the words in which they were registered.
"""

from __future__ import annotations

from ..essay.evidence import EVIDENCE as ESSAY_EVIDENCE
from ..evidence import Resources
from .lesson03 import surface
from .lesson04 import gradients

N_PAIRS, N_SENTENCES = 40, 320  # what a class has time for

EVIDENCE = ESSAY_EVIDENCE | {"surface": surface, "importance": gradients}


def class_resources() -> Resources:
    """As many texts and sentences as a lesson has time for; the ledger's command takes all."""
    from ...corpora import load_pairs, load_treebank

    return Resources(pairs=load_pairs()[:N_PAIRS], treebank=load_treebank()[:N_SENTENCES])
