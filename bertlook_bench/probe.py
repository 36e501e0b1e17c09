"""``bertlook probe``: trees read from all heads together, beside every control, on any treebank."""

from bertlook_course.analyses.probing import report

from .driver import Command, Treebank

COMMAND = Command(
    "probe",
    report,
    Treebank({"limit": (8, "eight sentences, four for each half")}),
    "probe",
    "probe --model bert-base-uncased --data my.conllu --out result",
)
