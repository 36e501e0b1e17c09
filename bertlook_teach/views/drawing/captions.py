"""The words of the sentences below the views. Python and the JavaScript views (`worded` in `views/js/core.js`) both read them here.

A name in braces is a part that whoever says the sentence puts in: ``head`` "Head 3-1", ``query``, ``key`` and ``token`` tokens in quotation marks,
``share`` per cent.
"""

from __future__ import annotations

from collections.abc import Mapping

CAPTIONS = {
    # one head's weights
    "head": "Head {label}",
    "all hidden": "{head}: every token is special and hidden.",
    "largest weight": "{head}: {share} of {query} goes to {key}.",
    "goes on average": "On average, {share} goes to {place}.",
    "goes nowhere": "On average, a {unit}'s largest weight is {share}.",
    "hidden hold": "Special tokens are hidden and hold {share}.",
    "itself": "itself",
    "place itself": "the {unit} itself",
    "place before": "the previous {unit}",
    "place after": "the next {unit}",
    # one token's weights
    "looks": "{token} looks at {others}.",
    "is looked at": "{token} is looked at by {others}.",
    "another": "1 other {amount}",
    "others": "{count} others {amount}",
    # a difference, after minus before
    "changed head": "{head}, after minus before",
    "gives more": "{query} gives {size} points more to {key}",
    "gives less": "{query} gives {size} points less to {key}",
    "changes": "{head}: {changes}.",
    "no change": "{head}: nothing has changed.",
    "no change in view": "{head}: nothing has changed between the tokens in view.",
    "moved": "On average {share} of a {unit}'s weight has moved.",
    "hidden change": "Special tokens are hidden; to them go {size} points on average.",
    "looks changed": "{token} looks {changes}.",
    "is looked at changed": "{token} is looked at {changes}.",
    "looks unchanged": "{token} looks at the same as before.",
    "is looked at unchanged": "{token} is looked at as before.",
    "looks more": "more at {others}",
    "looks less": "less at {others}",
    "is looked at more": "more by {others}",
    "is looked at less": "less by {others}",
    "first change": "{token} ({size} points)",
    "change": "{token} ({size})",
    "two changes": "{first} and {second}",
    # weighted norms
    "norms of head": "{head}, norms",
    "largest norm": "{head}: the largest, {length}, comes to {query} from {key}.",
    "no norms": "{head}: all are 0, so this head adds nothing here.",
    "comes on average": "On average, {share} of a sum comes from {place}.",
    "comes from nowhere": "On average, the largest part of a {unit}'s sum is {share}.",
    "hidden give": "Special tokens are hidden and give {share}.",
    "longest": "Drawn against {length}, the longest vector.",
    "gets norms": "{token} gets norms from {others}.",
    "gives norms": "{token} gives norms to {others}.",
    "gets nothing": "{token} gets nothing: every norm is 0.",
    "gives nothing": "{token} gives nothing.",
}


def worded(name: str, captions: Mapping[str, str] = CAPTIONS, /, **parts) -> str:
    """A sentence, or a part of one, with its parts put in; ``captions`` has the words.

    >>> worded("largest weight", head="Head 3-1", share="90 %", query="“the”", key="“cat”")
    'Head 3-1: 90 % of “the” goes to “cat”.'
    """
    return captions[name].format(**parts)
