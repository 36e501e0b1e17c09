"""The lessons of the course in their order: what each asks, and which others it stands on."""

from __future__ import annotations

from dataclasses import dataclass

MAP = "00_map_of_the_course"  # the deck that opens the course; no lesson, so without exercises and without a ledger

MAP_FOOTER = "bertlook · the map of the course"

GUEST = "guest_lecture"  # one hour in somebody else's class: no lesson either, and no number

GUEST_FOOTER = "bertlook · guest lecture"

PARTS = ("A head", "Looking", "Knowing", "Mattering")


@dataclass(frozen=True)
class Lesson:
    """One lesson.

    Attributes
    ----------
    number : str
        Two digits.
    stem : str
        Name of its deck and its exercises, without ".ipynb".
    title : str
        As the course's table prints it.
    short : str
        For the foot of a slide.
    label : str
        For a box of the map: two lines of fifteen characters, the first of them with the number.
    question : str
        What it answers, in one sentence.
    needs : tuple of str
        Numbers of the lessons it stands on directly.
    part : int
        Position in `PARTS`.
    """

    number: str
    stem: str
    title: str
    short: str
    label: str
    question: str
    needs: tuple[str, ...]
    part: int

    @property
    def footer(self) -> str:
        """What the foot of each of its slides says."""
        return f"bertlook · lesson {int(self.number)} of {len(LESSONS)} · {self.short}"


LESSONS = (
    Lesson(
        "01",
        "01_what_bert_reads",
        "What BERT reads, and what a head is",
        "What BERT reads",
        "What BERT reads",
        "What does a head compute, and what does one picture of it show?",
        (),
        0,
    ),
    Lesson(
        "02",
        "02_six_patterns",
        "Six patterns and the neurons behind them",
        "Six patterns",
        "Six patterns",
        "When does a pattern seen in a picture become a finding?",
        ("01",),
        0,
    ),
    Lesson(
        "03",
        "03_where_heads_look",
        "Where heads look: position, special tokens, focus",
        "Where heads look",
        "Where heads look",
        "Over many texts: where do heads look, and how broadly?",
        ("01",),
        1,
    ),
    Lesson(
        "04",
        "04_is_sep_a_no_op",
        "Is SEP a no-op? Gradients and norms",
        "Is [SEP] a no-op?",
        "Is [SEP] a no-op?",
        "Does anything come from where a head looks?",
        ("03",),
        1,
    ),
    Lesson(
        "05",
        "05_five_kinds_of_map",
        "Five kinds of attention map",
        "Five kinds of map",
        "Five kinds of map",
        "Can whole maps be sorted, so that two people agree?",
        ("03",),
        1,
    ),
    Lesson(
        "06",
        "06_heads_that_know_syntax",
        "Heads that know syntax",
        "Heads that know syntax",
        "Syntax",
        "Does a head find the word that another depends on, better than a fixed distance does?",
        ("03",),
        2,
    ),
    Lesson(
        "07",
        "07_heads_that_find_antecedents",
        "Heads that find antecedents",
        "Heads that find antecedents",
        "Antecedents",
        "Does a head know who “she” is, better than a rule of thumb does?",
        ("06",),
        2,
    ),
    Lesson(
        "08",
        "08_what_all_heads_know",
        "What all heads know together: probes and their controls",
        "What all heads know together",
        "All heads together",
        "What can be read from all heads at once, and who knows it: the heads or the reader?",
        ("06",),
        2,
    ),
    Lesson(
        "09",
        "09_families_of_heads",
        "Families of heads",
        "Families of heads",
        "Families of heads",
        "Which heads do the same thing, and how far may a map of heads be believed?",
        ("03",),
        1,
    ),
    Lesson(
        "10",
        "10_what_each_layer_knows",
        "What each layer knows: probes for every depth",
        "What each layer knows",
        "Layer by layer",
        "At which depth does a word class, a relation, an antecedent become readable?",
        ("08",),
        2,
    ),
    Lesson(
        "11",
        "11_which_heads_matter",
        "Which heads matter: ablate, rank, prune",
        "Which heads matter",
        "Which heads matter",
        "What is lost without a head, and can we know it beforehand?",
        ("06",),
        3,
    ),
    Lesson(
        "12",
        "12_heads_at_work",
        "Putting heads to work: keywords",
        "Heads at work",
        "Keywords",
        "Can the attention of heads find the key words of a text?",
        ("11",),
        3,
    ),
    Lesson(
        "13",
        "13_an_essay_on_trial",
        "What attention does not look at: an essay on trial",
        "An essay on trial",
        "An essay on trial",
        "Which of an essay's claims survive a test that was fixed beforehand?",
        ("04", "11"),
        3,
    ),
    Lesson(
        "14",
        "14_what_fine_tuning_changes",
        "What fine-tuning changes",
        "What fine-tuning changes",
        "Before and after",
        "Which heads change by more than chance when a model learns a task?",
        ("09", "11"),
        3,
    ),
)

_BY_NUMBER = {one.number: one for one in LESSONS}


def lesson(number: str | int) -> Lesson:
    """The lesson with this number.

    Parameters
    ----------
    number : str or int
        ``"03"``, ``"3"`` or ``3``.

    Raises
    ------
    ValueError
        If the course has no such lesson.

    Examples
    --------
    >>> lesson(3).footer
    'bertlook · lesson 3 of 14 · Where heads look'
    """
    found = _BY_NUMBER.get(str(number).zfill(2))
    if found is None:
        raise ValueError(f"the course has lessons 1 to {len(LESSONS)}; got {number!r}.")
    return found


def paths_to(number: str | int) -> tuple[Lesson, ...]:
    """What must have come before a lesson, and the lesson itself, in the order of the course.

    Examples
    --------
    >>> [one.number for one in paths_to("07")]
    ['01', '03', '06', '07']
    """
    wanted, waiting = set(), [lesson(number)]
    while waiting:
        one = waiting.pop()
        wanted.add(one.number)
        waiting += [lesson(needed) for needed in one.needs if needed not in wanted]
    return tuple(one for one in LESSONS if one.number in wanted)
