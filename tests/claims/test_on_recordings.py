"""Claims on recorded attention: what it decides comes out as on the model itself, and what it cannot decide says why."""

from dataclasses import replace

import pytest

from bertlook_bench import line as cli
from bertlook_course.claims import (
    FEWEST_REPORTING,
    HOLDS,
    OPEN,
    Resources,
    decide,
    iter_recorded_verdicts,
    ledger,
    recorded_trees,
    verdicts,
)
from bertlook_course.claims.on_recordings import _NEEDS
from bertlook_course.corpora import load_treebank
from bertlook_teach import load_encoder, load_recording

SENTENCES = 30


@pytest.fixture(autouse=True)
def fewer_replicates(monkeypatch):
    """What is tested here is not how narrow an interval is, nor how many inputs it takes."""
    monkeypatch.setattr(verdicts, "REPLICATES", 40)
    for minimum in ("FEWEST_REPORTING", "FEWEST_CHOOSING"):
        monkeypatch.setattr(verdicts, minimum, 5)


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """The specimen and its random twin, recorded on sentences of the shipped treebank."""
    folder = tmp_path_factory.mktemp("recorded")
    treebank = folder / "trees.conllu"
    with open("data/treebank/treebank.conllu", encoding="utf-8") as file:
        treebank.write_text("\n\n".join(file.read().split("\n\n")[:SENTENCES]) + "\n\n", encoding="utf-8")
    for name, more in (("model", []), ("twin", ["--random-twin"])):
        out = folder / f"{name}.bertlook"
        assert cli.main(["record", "--data", str(treebank), "--out", str(out), "--quiet", *more]) == 0
    return folder


@pytest.fixture(scope="module")
def trees():
    return load_treebank()[:SENTENCES]


def of(evidence):
    return [claim for claim in ledger() if claim.evidence == evidence]


@pytest.mark.parametrize("with_twin", [True, False])
def test_relations_are_decided_as_on_the_model_itself_but_nothing_holds_without_its_twin(
    files, trees, with_twin
):
    recording, twin = (load_recording(files / f"{name}.bertlook") for name in ("model", "twin"))
    assert recorded_trees(recording, trees) == trees
    claims = of("relations")
    found = iter_recorded_verdicts(claims, recording, trees=trees, twin=twin if with_twin else None)
    resources = Resources(pairs=[], texts=[], treebank=trees)
    expected = {v.claim.key: v for v in decide(claims, load_encoder("specimen"), resources=resources)}
    kinds, rounded = set(), []
    for verdict in found:
        own = expected[verdict.claim.key]
        numbers = [(v.value, v.low, v.high, v.n) for v in (verdict, own)]
        if numbers[0] != pytest.approx(numbers[1], nan_ok=True):
            rounded.append(verdict.claim.key)
            assert numbers[0] == pytest.approx(numbers[1], abs=0.02)  # an arc of some hundreds
        kinds.add(verdict.verdict)
        if verdict.verdict == own.verdict:
            continue
        assert verdict.verdict == OPEN
        no_twin = "no random twin was recorded" in verdict.why and verdict.claim.control
        assert no_twin and not with_twin and own.verdict == HOLDS
    assert (
        len(rounded) <= 2
    )  # a recording rounds: of two words with nearly the same weight it may name the other
    assert kinds == {HOLDS, OPEN}  # what needs no control holds without a twin, too


def test_the_twelve_published_inputs_decide_nothing_and_say_why(monkeypatch):
    monkeypatch.setattr(verdicts, "FEWEST_REPORTING", FEWEST_REPORTING)
    claims = ledger()
    found = list(iter_recorded_verdicts(claims, load_recording("bert-base-uncased")))
    assert {verdict.claim.key for verdict in found} == {claim.key for claim in claims}
    for verdict in found:
        assert verdict.why and "fail" not in verdict.why and verdict.verdict == OPEN
        if verdict.claim.statistic is not None and verdict.claim.evidence in _NEEDS:
            assert verdict.why.startswith("recorded attention alone cannot decide it: it takes ")
    by_key = {verdict.claim.key: verdict for verdict in found}
    assert by_key["03-sep"].low > by_key["03-sep"].claim.threshold  # they agree, but six are few
    assert by_key["03-sep"].why.startswith("only 6 inputs to report on; fewer than 20")


def test_every_claim_of_the_ledger_has_a_reason_of_its_own():
    """What is neither attention nor in a treebank names what it takes."""
    open_ones = iter_recorded_verdicts(ledger(), load_recording("bert-base-cased"))
    assert not [v.claim.key for v in open_ones if "more than attention on these inputs" in v.why]


def test_a_twin_of_other_inputs_or_heads_is_refused(files):
    recording = load_recording(files / "model.bertlook")
    for twin, message in (
        (load_recording("bert-base-uncased"), "a random twin has the heads of its model"),
        (recording, "was not recorded as a random twin"),
    ):
        with pytest.raises(ValueError, match=message):
            list(iter_recorded_verdicts((), recording, twin=twin))
    twin = load_recording(files / "twin.bertlook")
    assert twin.twin_of == recording.model_fingerprint
    # the two files in each other's place
    with pytest.raises(ValueError, match="was not recorded as a random twin"):
        list(iter_recorded_verdicts((), twin, twin=recording))
    with pytest.raises(ValueError, match="is the random twin of another model"):
        list(iter_recorded_verdicts((), recording, twin=replace(twin, twin_of="0" * 16)))
    with pytest.raises(ValueError, match="the twin was not recorded on"):
        list(iter_recorded_verdicts((), recording, twin=replace(twin, inputs=twin.inputs[1:])))
