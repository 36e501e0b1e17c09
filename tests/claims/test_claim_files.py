"""How claims are written down: every file as it should be, every claim before a reader, and what is wrong named."""

import json
import re
from html import unescape
from pathlib import Path

import numpy as np
import pytest

from bertlook_course.checks import cases
from bertlook_course.claims import Claim, course_claims, evidence_table, ledger, read_claims
from bertlook_course.claims.published_fields import fill
from bertlook_course.published import published_layers, published_map, published_table_1
from bertlook_course.render.drawing.text_table import TABLE

ROOT = Path(__file__).resolve().parents[2]
CLAIMS = {claim.key: claim for claim in ledger()}


def collect(encoder, resources):
    return []


# --- the ledger -------------------------------------------------------------------------------------------------


def test_every_claim_is_complete_and_says_how_exact_its_number_is():
    assert len({claim.key for claim in ledger()}) == len(ledger()) and len({c.lesson for c in ledger()}) == 14
    table, faults = evidence_table(), []
    for key, claim in CLAIMS.items():
        printed = claim.published_text() + claim.original_text()
        faults += [f"{key}: {fault}" for fault, found in {
            "a number says how exact it is, and words have no exactness": bool(re.search(r"\d", printed)) != bool(claim.exactness),
            "a field is not filled": bool(re.search(r"[{}]", printed)),
            "its evidence is not that of a lesson": claim.statistic and claim.collect != table.get(claim.evidence),
            "a claim that something is small names it, and not its negative": claim.lesson != "13" and re.match(r"(.*: )?minus ", claim.operational),
            "a negative line is one of what is small, or of a difference": claim.threshold < 0 and not claim.below and "minus" not in claim.operational,
            "a sentence is short enough for a slide": claim.lesson != "13" and len(claim.sentence.split()) > 12,
            "what refutes it is said": not claim.refuted_text().strip(),
        }.items() if found]  # fmt: skip
    assert not faults, "\n".join(faults)


def test_what_refutes_a_claim_is_made_of_its_line():
    assert CLAIMS["03-sep"].refuted_text() == "it is .50 or less"
    assert CLAIMS["11-prune-40"].refuted_text() == "it is .01 or more"
    assert CLAIMS["08-distance-rule"].refuted_text() == "it is -.05 or less"
    assert CLAIMS["04-zeroing"].refuted_text() == "it is 1.00 or more"
    assert CLAIMS["07-all-behind-sieves"].refuted_text() == "it is 0 or less"
    assert CLAIMS["02-names"].refuted_text() == "only BERT-base itself can refute it"


def shown_text(path) -> str:
    """What a reader of a saved notebook sees: its outputs, without their markup, and the table of a picture."""
    cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
    data = [output.get("data", {}) for cell in cells for output in cell.get("outputs", ())]
    texts = ["".join(value) for one in data for kind, value in one.items() if kind.startswith("text/")]
    tables = [json.dumps(one[TABLE], ensure_ascii=False) for one in data if TABLE in one]
    return "\n".join([unescape(re.sub(r"<[^>]+>", " ", "\n".join(texts))), *tables])


def test_every_claim_is_shown_on_a_slide_or_put_on_trial_in_an_exercise():
    """A claim that nobody is shown goes; `claims/lessons` says how one is added."""
    paths = [
        *sorted((ROOT / "slides").glob("*.ipynb")),
        *sorted((ROOT / "notebooks" / "solutions").glob("*.ipynb")),
    ]
    shown = "\n".join(map(shown_text, paths))
    names = {key: {claim.sentence, claim.title} - {""} for key, claim in CLAIMS.items()}
    unseen = {key for key, words in names.items() if not any(word in shown for word in words)}
    assert not unseen, f"no deck and no exercise shows {', '.join(sorted(unseen))}"
    assert set(cases._CLAIMS.values()) <= set(CLAIMS)


# --- a file ---------------------------------------------------------------------------------------------------------

GOOD = """
source = "Nobody 2019"
evidence = "made"

[first]
sentence = "Made up"
measured = "a number"
statistic = ["best_head", "x"]
above = 0.5

[second]
sentence = "Small"
source = "Somebody"
measured = "a number"
statistic = ["quantity", "x"]
below = 1
control = false

[third]
sentence = "Not here"
not_measured = "nothing here measures it"
refuted_if = "a number of theirs"

[guess]
sentence = "Determiners look at their governor"
pattern = 'query.pos("DET") & key.governor()'
above = 0.02
"""


def test_a_file_gives_its_claims():
    first, second, third, guess = read_claims(GOOD, "99", {"made": collect})
    assert (first.key, first.source, first.collect, first.threshold) == (
        "99-first",
        "Nobody 2019",
        collect,
        0.5,
    )
    assert (second.source, second.threshold, second.below, second.control) == ("Somebody", -1, True, False)
    assert second.statistic({"x": 0.25}, {}) == -0.25 and second.quantity(-0.25) == 0.25
    assert third.statistic is None and third.operational == "nothing here measures it"
    assert guess.evidence == 'treebank: query.pos("DET") & key.governor()' and guess.source == "Nobody 2019"
    assert all(isinstance(claim, Claim) for claim in (first, second, third, guess))


@pytest.mark.parametrize(
    "old, new, message",
    [
        ("[first]", "[first", "the claims of lesson 99 are not valid TOML"),
        ("[second]", "[first]", "the claims of lesson 99 are not valid TOML: Cannot declare"),
        (
            'source = "Nobody 2019"\n',
            "above = 0.5\n",
            "the default of source, section, evidence, exactness; got above",
        ),
        ('sentence = "Made up"\n', "", "claim '99-first' has no sentence"),
        ("above = 0.5", "", "claim '99-first': it has one line, above or below.*got none"),
        ("above = 0.5", "above = 0.5\nbelow = 1", "got above and below"),
        ("above = 0.5", 'above = "half"', "claim '99-first': above must be float; got 'half'"),
        ("above = 0.5", 'above = 0.5\nnumber = "one"', "claim '99-first': number must be int; got 'one'"),
        ("above = 0.5", "above = nan", "the threshold must be a number"),
        ("above = 0.5", "above = 0.5\nerata = 1", "a claim has no field 'erata'; it has sentence"),
        (
            'measured = "a number"\nstatistic = ["best',
            'statistic = ["best',
            "it says one of measured, not_measured, pattern; got none",
        ),
        ('statistic = ["best_head", "x"]', "", "a statistic goes with what is measured"),
        (
            'statistic = ["best_head", "x"]',
            "statistic = []",
            "a list of its name and what it takes; got an empty one",
        ),
        ("best_head", "best", "claim '99-first': there is no statistic 'best'"),
        ('"made"', '"mad"', "claim '99-first': no collector of evidence 'mad'; there is: made"),
        ('refuted_if = "a number of theirs"', "", "claim '99-third'.*not measured here; say in refuted_if"),
        ("above = 0.02", "below = 0.02", "claim '99-guess': a head follows a pattern by more than a line"),
        ("key.governor()", "open()", "claim '99-guess': "),
        ('evidence = "made"\n', 'evidence = "made"\nexactness = "R"\n', "A number from memory has no place"),
    ],
)
def test_what_is_wrong_with_a_claim_is_said_with_its_key(old, new, message):
    assert GOOD.count(old) >= 1
    with pytest.raises(ValueError, match=message):
        read_claims(GOOD.replace(old, new, 1), "99", {"made": collect})


def test_a_lesson_is_a_file_in_the_folder(tmp_path, monkeypatch):
    monkeypatch.setattr(course_claims, "FOLDER", tmp_path)
    (tmp_path / "lesson03.toml").write_text(
        '[x]\nsentence = "s"\nsource = "o"\nevidence = "e"\nnot_measured = "n"\nrefuted_if = "r"\n'
    )
    assert [claim.key for claim in ledger()] == ["03-x"]
    with pytest.raises(ValueError, match="no lesson 77 with claims; there is: 03"):
        ledger(77)


# --- the published values -----------------------------------------------------------------------------------------------


def test_published_values_are_computed_from_the_tables():
    printed = {key: (claim.published_text(), claim.original_text()) for key, claim in CLAIMS.items()}
    sep, head = published_layers("sep"), published_table_1()["dobj"]
    assert printed["03-sep"][0] == f"{sep.max():.3f}, layer {sep.argmax() + 1}" == "0.570, layer 9"
    assert (
        printed["01-next"] == printed["03-next"] == ("0.98, 3-1", "")
        and printed["02-next-word"][0] == "3-1 (0.98)"
    )
    assert printed["03-self"][1] == "at most 0.32"
    assert printed["04-norm-share"] == ("+0.52", "0.59 by weight, 0.07 by norm, layer 8")
    assert printed["05-vertical-third"][0] == "0.325 (0.22 to 0.42)"
    assert printed["06-dobj"] == (
        f"{(head.accuracy - head.baseline) / 100:+.2f}",
        "86.8 against 40.0 %, 8-10",
    )
    assert printed["06-no-general-head"][0] == "0.345, 7-6"
    assert printed["07-all-beats-nearest"] == ("+0.38", "65 against 27 %")
    assert printed["08-attention-only"] == ("+0.35", "61 against 26 %")
    figure = published_map()
    same, off = figure.layers[:, None] == figure.layers, ~np.eye(144, dtype=bool)
    gap = 1 - figure.distances[same & off].mean() / figure.distances[~same].mean()
    assert printed["09-same-layer-closer"][0] == f"{gap:+.2f} on the map"
    assert printed["09-sep-heads"][0] == f"{19 / 144:.2f}, {(figure.labels == '[SEP]').sum()} of 144"
    assert printed["10-pos-rises"] == ("base +0.08", "base 88.4 to 96.5 %")
    assert printed["11-prune-40"][1] == "40 % of the heads with no noticeable loss"
    assert printed["14-negation-helps"] == ("+0.021", "0.111 against 0.090")
    assert printed["14-heads-find-cues"][1] == "F1 0.538, best of 144"


@pytest.mark.parametrize(
    "text, message",
    [
        ("{nothing[sep].max}", r"filled with layers, .*; got \{nothing\[sep\].max\}"),
        ("{layers[set].max:.2f}", r"the published value \{layers\[set\].max\} cannot be filled"),
        ("{layers[sep].most:.2f}", "cannot be filled: .*'most'"),
        ("{layers}", "cannot be filled: .*measure"),
        ("{layers[sep].max.real}", "a published value is filled with"),
        ("{__import__[os]}", "a published value is filled with"),
        ("{fill[x]}", "a published value is filled with"),
        ("{}", "a published value is filled with"),
    ],
)
def test_a_field_that_is_not_there_is_refused(text, message):
    with pytest.raises(ValueError, match=message):
        fill(text)
    assert fill("0.57, {{layer}}") == "0.57, {layer}"
