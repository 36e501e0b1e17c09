"""The task *agreement*: does the verb agree with its subject, although a noun of the other number may be near?

A frame gives four sentences: the subject in the singular or the plural, and so the verb. Either there is no other noun that
could be the subject, or one of the same number, or one of the *other* number; in the last case the two nouns keep their
numbers and change places, and two sentences with the same words have opposite answers. In every frame each word occurs
as often in acceptable sentences as in others, so no weight of single words can help: a bag of words is at chance.

Nouns and full verbs of one split occur in no other; the little words (*be*, *have*, *do*, prepositions, adjectives) are shared.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count

ACCEPTABLE, UNACCEPTABLE = "acceptable", "unacceptable"

PEOPLE = {
    "train": (
        "boy boys, girl girls, teacher teachers, farmer farmers, doctor doctors, student students, man men, king kings, "
        "soldier soldiers, artist artists, singer singers, driver drivers, cousin cousins, brother brothers, writer writers, "
        "lawyer lawyers, baby babies, prince princes, guest guests, player players, pilot pilots, worker workers, captain captains, "
        "neighbour neighbours"
    ),
    "dev": "friend friends, painter painters, judge judges, sister sisters, visitor visitors, child children",
    "test": (
        "woman women, daughter daughters, officer officers, sailor sailors, father fathers, lady ladies, engineer engineers, "
        "priest priests, manager managers, son sons, mother mothers, scientist scientists"
    ),
}
THINGS = {
    "train": (
        "box boxes, chair chairs, book books, bottle bottles, key keys, house houses, tree trees, car cars, picture pictures, "
        "stone stones, letter letters, bag bags, flower flowers, lamp lamps, ship ships, shop shops"
    ),
    "dev": "table tables, boat boats, bridge bridges, cup cups",
    "test": "door doors, coat coats, wall walls, machine machines, knife knives, clock clocks, tower towers, plant plants",
}
# What a person does, and what a thing does: verb in the singular, in the plural, and the rest.
PEOPLE_VERBS = {
    "train": (
        "walks walk to town, laughs laugh at the news, writes write long letters, plays play the piano, lives live in the city, "
        "likes like strong tea, sings sing in the morning, eats eat too fast, runs run in the park, waits wait at the gate, "
        "comes come from the north, wants want a new job, drives drive to the sea, buys buy fresh bread, looks look very tired, "
        "speaks speak three languages"
    ),
    "dev": "reads read the news, sleeps sleep in the kitchen, swims swim in the lake, cooks cook a good dinner",
    "test": (
        "works work at night, knows know the answer, travels travel by train, tells tell good stories, smiles smile at the dog, "
        "needs need more time, goes go home early, seems seem quite happy"
    ),
}
THING_VERBS = {
    "train": (
        "costs cost a lot, looks look new, comes come from the market, stays stay in the garden, falls fall apart, "
        "belongs belong to my aunt, takes take up space, moves move in the wind"
    ),
    "dev": "stands stand in the sun, smells smell of smoke",
    "test": "needs need fresh paint, seems seem too small, lies lie in the shade, makes make a strange noise",
}
PEOPLE_STATES = "tired, late, happy, at home, very old, in the garden, ready to leave, from the south"
THING_STATES = "old, expensive, very small, black and white, in good order, wet, of little value, well known"
PEOPLE_POSSESSIONS = "a plan, a secret, a cold, good ideas"
THING_POSSESSIONS = "a name, a strange colour, a long history, some value"
NEAR = ("near", "behind", "beside", "next to")
MET = ("helped", "saw", "met", "followed", "called", "visited")
SAID = ("said", "thought", "heard", "believed")
OFTEN = ("often", "always", "still", "never", "usually")

# {s}: the subject, {o}: the other noun, {p}: a preposition, {m}: a verb of meeting, {t}: one of saying, {a}: an adverb.
PATTERNS = {
    "no other noun": {
        "plain": "the {s} {v} {rest}",
        "adverb": "the {s} {a} {v} {rest}",
        "adverb first": "of course, the {s} {v} {rest}",
    },
    "noun": {
        "phrase": "the {s} {p} the {o} {v} {rest}",
        "phrase and adverb": "the {s} {p} the {o} {a} {v} {rest}",
        "phrase first": "{p} the {o} the {s} {v} {rest}",
    },
    "person": {
        "subject relative": "the {s} who {m} the {o} {v} {rest}",
        "object relative": "the {s} that the {o} {m} {v} {rest}",
        "complement": "the {o} {t} that the {s} {v} {rest}",
        "complement after adverb": "last week the {o} {t} that the {s} {v} {rest}",
    },
    "question": {"question": "{v} the {s} {p} the {o} {rest}"},
}
NO_OTHER, SAME_NUMBER, OTHER_NUMBER = "no other noun", "same number", "other number"
NUMBERS = (NO_OTHER, OTHER_NUMBER, SAME_NUMBER, OTHER_NUMBER)  # in turn: half of the frames have an attractor
FRAMES = {"train": 480, "dev": 60, "test": 120}  # of four sentences each


def _words(text: str) -> list[list[str]]:
    return [entry.split() for entry in text.split(", ")]


def _predicates(split: str, people: bool) -> list[tuple[str, str, str, str]]:
    """Kind, verb in the singular, in the plural, and the rest of the sentence."""
    verbs = [(w[0], w[1], " ".join(w[2:])) for w in _words((PEOPLE_VERBS if people else THING_VERBS)[split])]
    states = (PEOPLE_STATES if people else THING_STATES).split(", ")
    possessions = (PEOPLE_POSSESSIONS if people else THING_POSSESSIONS).split(", ")
    predicates = [("verb", *verb) for verb in verbs]
    predicates += [("be", *be, state) for be in (("is", "are"), ("was", "were")) for state in states]
    predicates += [("have", "has", "have", thing) for thing in possessions]
    predicates += [("do", "does", "do", f"{verb[1]} {verb[2]}") for verb in verbs]
    return predicates


def _patterns(kind: str, number: str, people: bool) -> dict[str, str]:
    if number == NO_OTHER:
        patterns = dict(PATTERNS[NO_OTHER])
    else:
        patterns = PATTERNS["noun"] | (PATTERNS["person"] if people else {})
        if kind in ("be", "do"):
            patterns |= PATTERNS["question"]
    if kind == "do":  # "does still not" is a matter of taste
        patterns = {name: pattern for name, pattern in patterns.items() if "{a}" not in pattern}
    return patterns


def frames(split: str, pick) -> Iterator[tuple[str, list[tuple[str, str]]]]:
    """Frames of one split: what kind it is, and its four sentences with their labels.

    ``pick(items, *key)`` chooses one item, always the same for the same key.
    """
    seen: set[str] = set()
    made = 0
    for attempt in count():
        if made == FRAMES[split]:
            return
        key = (split, attempt)
        number, people = NUMBERS[made % len(NUMBERS)], made % 5 < 3  # three of five frames are about people
        one, other = (pick(_words((PEOPLE if people else THINGS)[split]), *key, place) for place in "so")
        if one == other:
            continue
        kind, singular, plural, rest = pick(_predicates(split, people), *key, "v")
        patterns = _patterns(kind, number, people)
        name = pick(sorted(patterns), *key, "c")
        pattern = patterns[name]
        if kind == "be":
            pattern = pattern.replace("{a} {v}", "{v} {a}")  # "often walks", but "is often late"
        if kind == "do" and name != "question":
            rest = f"not {rest}"
        slots = {slot: pick(words, *key, slot) for slot, words in zip("pmta", (NEAR, MET, SAID, OFTEN))}
        sentences = []
        for is_plural in (False, True):
            subject, noun = one[is_plural], other[is_plural]
            if number == OTHER_NUMBER:  # the nouns change places, not their numbers
                subject, noun = (other[1], one[0]) if is_plural else (one[0], other[1])
            for verb, agrees in ((singular, not is_plural), (plural, is_plural)):
                words = pattern.format(s=subject, o=noun, v=verb, rest=rest, **slots)
                text = words[0].upper() + words[1:] + ("?" if name == "question" else ".")
                sentences.append((text, ACCEPTABLE if agrees else UNACCEPTABLE))
        if seen & {text for text, _ in sentences}:
            continue
        seen.update(text for text, _ in sentences)
        made += 1
        yield f"{number}: {name}" if number != NO_OTHER else NO_OTHER, sentences
