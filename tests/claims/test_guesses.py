"""A guess that is locked: the same digest for the same guess, on any machine and at any time, and for no other."""

import hashlib

import numpy as np
from made import refusals

from bertlook_course.analyses.patterns import key, parse_pattern
from bertlook_course.claims import commit, reveal


def test_the_digest_is_made_of_the_guess_alone():
    assert (
        commit("8-10") == hashlib.sha256(b'["8-10", ""]').hexdigest()
    )  # by hand: no time, no salt of our own
    assert commit(" 8-10\n") == commit("8-10") != commit("8-11")
    assert commit("cafe\u0301") == commit("caf\u00e9")
    assert commit({"head": "8-10", "share": 0.6}) == commit({"share": 0.6, "head": "8-10"})
    assert commit(np.float64(0.5)) == commit(0.5) and commit([np.int64(3), np.True_]) == commit([3, True])
    assert commit(("a", 1)) == commit(["a", 1]) != commit(["a", "1"])
    assert commit(key.next(",")) == commit(parse_pattern("key.next(',')"))


def test_a_secret_keeps_others_from_trying_all_heads():
    locked = commit("8-10", secret="plum")
    heads = [f"{layer}-{head}" for layer in range(1, 13) for head in range(1, 13)]
    assert locked not in map(commit, heads) and commit("8-10") in map(commit, heads)
    assert reveal(locked, "8-10", secret="plum") == "8-10"


def test_capitals_open_it_too():
    assert reveal(commit([1, 2]).upper(), [1, 2]) == [1, 2]


test_what_is_refused = refusals(
    (lambda: reveal(commit("8-10"), "8-11"), "not the guess that was locked: '8-11'"),
    (lambda: reveal(commit("8-10", secret="plum"), "8-10"), "not the guess"),
    (lambda: reveal("8-10", "8-10"), "64 hexadecimal digits.*got '8-10'"),
    *((lambda guess=guess: commit(guess), "is empty") for guess in ("", "  ", None, [], {})),
    (lambda: commit(object()), "got object", TypeError),
    (lambda: commit(float("nan")), "JSON"),
)
