"""``bertlook syntax``: the relation table of any model on any treebank, printed and saved."""

from bertlook_course.analyses.syntax import report

from .driver import Command, Treebank

COMMAND = Command(
    "syntax",
    report,
    Treebank({"limit": (2, "two sentences, one to choose on and one to score on")}),
    "syntax",
    "syntax --model bert-base-uncased --data my.conllu --out result",
    recorded=True,
    scale=True,
)
