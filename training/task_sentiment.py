"""The task *sentiment*: is the writer pleased or not? Clauses written for this project, put together in three kinds.

*Plain* sentences make one judgement, or two alike. In *negation* there is always a *not*, *never*, *nothing* or the like;
it turns the judgement round (*far from boring*) or does not (*could not have been more boring*). In *contrast* two
judgements disagree, and the one that *but* leads to, or that *although* does not introduce, is the writer's; each contrast
comes in both orders, so that the same words have both answers.

A clause of one split occurs in no other; of each list the last predicate and the last adjective occur in test only.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from itertools import count

NEGATIVE, POSITIVE = "negative", "positive"

# Subjects; what they did, well and badly; adjectives for them, good and bad.
SUBJECTS = {
    "film": (
        "the film, the story, the ending, the second half, the dialogue",
        "made me laugh out loud, kept me on the edge of my seat, was full of warmth, moved me to tears, was a joy, stayed with me for days",
        "made me look at my watch, sent me to sleep, was full of holes, made no sense, was a waste of an evening, was forgotten in an hour",
        "funny, clever, moving, gripping",
        "boring, silly, predictable, slow",
    ),
    "acting": (
        "the leading actress, the villain, the cast, the little girl, the old man in the main part",
        "was a pleasure to watch, gave everything, made every scene worth seeing, spoke with real feeling, won my heart, lit up the screen",
        "was painful to watch, seemed half asleep, spoiled every scene, spoke like a machine, got on my nerves, mumbled every line",
        "convincing, charming, brilliant, natural",
        "irritating, weak, dull, wooden",
    ),
    "food": (
        "the soup, the fish, the apple cake, the rice, the bread",
        "was full of flavour, tasted like home, was cooked to perfection, came fresh from the oven, was worth every penny, melted on the tongue",
        "tasted of nothing, was cold in the middle, was burnt at the edges, came straight from a tin, made us ill, swam in grease",
        "fresh, delicious, tasty, excellent",
        "stale, dry, awful, greasy",
    ),
    "service": (
        "our waiter, the woman at the desk, the owner, the manager, the boy at the door",
        "welcomed us with a smile, thought of everything, remembered our names, found us a better table, answered every question, could not do enough for us",
        "kept us waiting for an hour, ignored us all evening, got the bill wrong twice, forgot our order, shouted at a guest, could not be bothered to help",
        "friendly, helpful, polite, attentive",
        "rude, careless, unfriendly, lazy",
    ),
    "hotel": (
        "the room, the bed, the bathroom, the garden, the house",
        "looked out over the sea, was bigger than in the pictures, felt like home, had everything we needed, was a real treat, shone with care",
        "smelled of smoke, had not been cleaned for weeks, looked nothing like the pictures, was falling apart, was a real disappointment, was full of ants",
        "comfortable, clean, quiet, lovely",
        "dirty, noisy, dark, shabby",
    ),
    "thing": (
        "the phone, the camera, the lamp, the washing machine, the radio",
        "works like a dream, does exactly what it should, has never let me down, saves me hours, was a bargain, survived two falls",
        "broke within a week, stopped after two days, gets far too hot, was a waste of money, cannot be repaired, came with a crack",
        "reliable, useful, practical, handy",
        "useless, expensive, heavy, flimsy",
    ),
    "book": (
        "the book, the first chapter, the plot, the main character, this novel",
        "drew me in at once, kept me reading until three, made me see the world anew, was a joy, is one to read again, deserves a prize",
        "lost me after ten pages, put me off reading, went on without end, was a struggle, copies a much better one, belongs in the bin",
        "original, touching, exciting, witty",
        "confusing, shallow, boring, clumsy",
    ),
    "concert": (
        "the band, the orchestra, the choir, the concert, the young pianist",
        "brought the hall to its feet, played with real feeling, sounded glorious, won my heart, was the best part of our week, gave us three encores",
        "played out of tune, went on far too long, sounded tired, hurt my ears, was the low point of our week, emptied half the hall",
        "wonderful, brilliant, superb, lively",
        "dreadful, lifeless, weak, feeble",
    ),
    "journey": (
        "the train, the bus ride, the crossing, the flight, the way home",
        "left on time, was smooth and quiet, cost next to nothing, was a pleasure, went without a problem, passed in a flash",
        "left two hours late, was hot and crowded, cost a fortune, was a nightmare, went wrong from the start, made us ill",
        "pleasant, easy, comfortable, relaxing",
        "awful, uncomfortable, slow, exhausting",
    ),
    "course": (
        "the course, the teacher, the first lesson, the workshop, the lecture",
        "taught me more than a year at school, made hard things simple, was well prepared, left time for questions, gave me new courage, opened my eyes",
        "taught me nothing new, made simple things hard, was badly prepared, left no time for questions, wasted our time, went over everybody's head",
        "clear, useful, inspiring, thorough",
        "confused, pointless, boring, muddled",
    ),
}
OPENERS = (
    "",
    "",
    "",
    "to be honest, ",
    "on Friday ",
    "this time ",
    "in the end, ",
    "as far as I can tell, ",
    "I must say that ",
    "this week ",
)
ENDINGS = {
    POSITIVE: (
        "I have no complaints",
        "I would come again",
        "I would recommend it to anyone",
        "nobody should miss it",
        "I regret nothing",
        "we were happy",
    ),
    NEGATIVE: (
        "I have many complaints",
        "I would not come again",
        "I cannot recommend it to anyone",
        "everybody should avoid it",
        "never again",
        "we were sorry",
    ),
}
TURNING = (
    "{s} was not {x} at all",
    "{s} was anything but {x}",
    "{s} was far from {x}",
    "nobody could call {s} {x}",
    "I would not call {s} {x}",
    "there was nothing {x} about {s}",
    "{s} was never {x}",
    "I did not find {s} {x}",
)
KEEPING = (
    "{s} could not have been more {x}",
    "I never expected {s} to be so {x}",
    "nobody told me that {s} was so {x}",
    "{s} was {x}, there is no doubt about it",
    "{s} was never less than {x}",
    "nothing was as {x} as {s}",
    "{s} was never anything but {x}",
    "I cannot deny that {s} was {x}",
)
# {c}: the concession; {v}: the verdict.
CONTRASTS = (
    "{c}, but {v}",
    "{c}, and yet {v}",
    "although {c}, {v}",
    "{v}, although {c}",
    "even though {c}, {v}",
    "{v}, even though {c}",
    "{c}; still, {v}",
    "it is true that {c}, but {v}",
)
SIZES = {  # examples of each kind
    "train": {"plain": 840, "negation": 300, "contrast": 300},
    "dev": {"plain": 120, "negation": 40, "contrast": 40},
    "test": {"plain": 240, "negation": 80, "contrast": 80},
}


def _clauses(lot: Callable) -> dict[str, dict]:
    """For each split: (domain, polarity) -> clauses, and -> pairs of a subject and an adjective."""
    splits: dict[str, dict] = {split: {"clause": {}, "adjective": {}} for split in SIZES}
    for domain, (subjects, *lists) in SUBJECTS.items():
        for polarity, predicates, adjectives in zip((POSITIVE, NEGATIVE), lists[:2], lists[2:]):
            for what, entries in (("clause", predicates.split(", ")), ("adjective", adjectives.split(", "))):
                for subject in subjects.split(", "):
                    for entry in entries:
                        hundred = lot(domain, subject, entry) % 100
                        split = (
                            "test"
                            if entry == entries[-1] or hundred < 18
                            else "dev"
                            if hundred < 30
                            else "train"
                        )
                        splits[split][what].setdefault((domain, polarity), []).append((subject, entry))
    return splits


def sentences(pick: Callable, lot: Callable) -> dict[str, list[tuple[str, str, str, str]]]:
    """Split -> rows of text, label, group, kind. ``pick(items, *key)`` and ``lot(*key)`` draw by the key."""
    splits = {}
    for split, parts in _clauses(lot).items():
        rows: list[tuple[str, str, str, str]] = []
        for kind, make in (("plain", _plain), ("negation", _negation), ("contrast", _contrast)):
            stream = make(split, parts, pick)
            seen: set[str] = set()
            answers: Counter[str] = Counter()  # as many of one as of the other
            size = len(rows) + SIZES[split][kind]
            while len(rows) < size:
                group, made = next(stream)
                made = [(_sentence(text), label) for text, label in made]
                full = any(answers[label] >= SIZES[split][kind] // 2 for _, label in made)
                if full or seen & {text for text, _ in made}:
                    continue
                answers.update(label for _, label in made)
                seen.update(text for text, _ in made)
                rows += [(text, label, f"{split} {kind} {group}", kind) for text, label in made]
        splits[split] = rows
    return splits


def _sentence(text: str) -> str:
    return text[0].upper() + text[1:] + "."


def _other(polarity: str) -> str:
    return NEGATIVE if polarity == POSITIVE else POSITIVE


def _draw(parts: dict, what: str, domain: str, polarity: str, pick: Callable, *key) -> tuple[str, str]:
    return pick(parts[what].get((domain, polarity)) or [None], *key)


def _plain(split: str, parts: dict, pick: Callable) -> Iterator[tuple[int, list]]:
    for number in count():
        key = (split, "plain", number)
        polarity = (POSITIVE, NEGATIVE)[number % 2]
        domain = pick(sorted(SUBJECTS), *key, "domain")
        one, two = (_draw(parts, "clause", domain, polarity, pick, *key, place) for place in "ab")
        if not one or not two:
            continue
        text = " ".join(one)
        style = number // 2 % 3
        if style == 1 and one[0] != two[0]:
            text += f", and {' '.join(two)}"
        elif style == 2:
            text += f"; {pick(ENDINGS[polarity], *key, 'ending')}"
        yield number, [(pick(OPENERS, *key, "opener") + text, polarity)]


def _negation(split: str, parts: dict, pick: Callable) -> Iterator[tuple[int, list]]:
    for number in count():
        key = (split, "negation", number)
        polarity = (POSITIVE, NEGATIVE)[number % 2]
        turning = number // 2 % 2 == 0
        domain = pick(sorted(SUBJECTS), *key, "domain")
        found = _draw(parts, "adjective", domain, _other(polarity) if turning else polarity, pick, *key)
        if not found:
            continue
        pattern = pick(TURNING if turning else KEEPING, *key, "pattern")
        opener = pick(OPENERS[:7], *key, "opener")  # no second "I" before "I"
        yield number, [(opener + pattern.format(s=found[0], x=found[1]), polarity)]


def _contrast(split: str, parts: dict, pick: Callable) -> Iterator[tuple[int, list]]:
    for number in count():
        key = (split, "contrast", number)
        domain = pick(sorted(SUBJECTS), *key, "domain")
        good = _draw(parts, "clause", domain, POSITIVE, pick, *key, "good")
        bad = _draw(parts, "clause", domain, NEGATIVE, pick, *key, "bad")
        if not good or not bad or good[0] == bad[0]:
            continue
        pattern, opener = pick(CONTRASTS, *key, "pattern"), pick(OPENERS[:7], *key, "opener")
        good, bad = " ".join(good), " ".join(bad)
        yield (
            number,
            [
                (opener + pattern.format(c=bad, v=good), POSITIVE),
                (opener + pattern.format(c=good, v=bad), NEGATIVE),
            ],
        )
