"""The sentences with negations: every line of the shipped file, the reader, and what it says about broken files."""

import json
import re
from collections import Counter
from pathlib import Path

import pytest
from made import write_lines
from transformers import AutoTokenizer

from bertlook_course.corpora import CUE_WORDS, Negation, NegationSentence, load_negation, read_negation

DATA = Path(__file__).resolve().parents[2] / "data"
README = (DATA / "negation" / "README.md").read_text(encoding="utf-8")
ROWS = [
    json.loads(line)
    for line in (DATA / "negation" / "sentences.jsonl").read_text(encoding="utf-8").splitlines()
]
SENTENCES = load_negation()
MARKS, ENDS = set(".,;:?!"), set(".?!")
CONJUNCTIONS = set("because although though but and if when while since until yet so".split())
RELATIVES = {"who", "which", "that"}
# Words at which a scope may end without a mark before them: a conjunction of another clause.
STOPS = CONJUNCTIONS | {"before", "after", "just"}

# Affixal negation is not annotated, and so no word may carry it.
AFFIXAL = re.compile(r"un(?!der|til|cle|ion|ique|it)\w{3,}|(dis(?!c)|irr|ill|imp)\w{4,}|\w{3,}less")


def cue_text(sentence, negation):
    return " ".join(sentence.words[place].lower() for place in negation.cue)


# ---- the shipped sentences ------------------------------------------------------------------------------------


def test_there_are_enough_sentences_and_a_fifth_of_them_are_controls():
    assert len(SENTENCES) == len(ROWS) >= 160
    controls = [s for s in SENTENCES if not s.negations]
    assert len(controls) / len(SENTENCES) >= 0.20
    assert len([s for s in controls if s.false_cues]) >= 5
    texts = Counter(" ".join(s.words).lower() for s in SENTENCES)
    assert [text for text, times in texts.items() if times > 1] == []


def test_the_halves_are_every_other_line_and_share_the_cues():
    assert [row["split"] for row in ROWS] == ["train" if i % 2 == 0 else "test" for i in range(len(ROWS))]
    train, test = load_negation("train"), load_negation("test")
    assert abs(len(train) - len(test)) <= 1
    cues = [Counter(cue_text(s, n) for s in half for n in s.negations) for half in (train, test)]
    assert set(cues[0]) == set(cues[1])


def failing(holds):
    """The sentences for which it does not hold, so that a message shows them all."""
    return [f"{sentence.id}: {sentence}" for sentence in SENTENCES if not holds(sentence)]


def failing_negations(holds):
    return failing(lambda sentence: all(holds(sentence, negation) for negation in sentence.negations))


def test_a_sentence_has_8_to_25_words_and_one_mark_at_its_end():
    assert failing(lambda s: 8 <= sum(word not in MARKS for word in s.words) <= 25) == []
    assert failing(lambda s: s.words[-1] in ENDS and not ENDS.intersection(s.words[:-1])) == []
    form = re.compile(r"[A-Za-z']+(-[a-z]+)*|No\.|\d+|[.,;:?!]")
    assert failing(lambda s: s.words[0][0].isupper() and all(map(form.fullmatch, s.words))) == []


def test_every_cue_word_is_a_cue_or_marked_as_false():
    def holds(sentence):
        looks = {i for i, word in enumerate(sentence.words) if word.lower() in CUE_WORDS}
        cues = {place for negation in sentence.negations for place in negation.cue}
        return looks == cues | set(sentence.false_cues) and not cues & set(sentence.false_cues)

    assert failing(holds) == []


def test_neither_and_nor_are_one_cue_and_every_other_cue_is_one_word():
    assert failing_negations(lambda s, n: len(n.cue) == 1 or cue_text(s, n) == "neither nor") == []


def test_a_scope_has_words_and_holds_no_mark():
    assert (
        failing_negations(lambda s, n: n.scope and not MARKS.intersection(s.words[i] for i in n.scope)) == []
    )


def test_a_scope_follows_the_rules_that_can_be_checked():
    def first(sentence, negation):
        return sentence.words[negation.scope[0]].lower()

    def reaches_behind_its_cue(sentence, negation):
        ends = cue_text(sentence, negation) in ("nobody", "nothing")  # "she trusted nobody"
        return ends or negation.scope[-1] > negation.cue[-1]

    def ends_where_something_ends(sentence, negation):
        behind = negation.scope[-1] + 1
        inner = cue_text(sentence, negation) == "without" or first(sentence, negation) in RELATIVES
        return inner or behind in negation.cue or sentence.words[behind] in MARKS | STOPS

    assert failing_negations(reaches_behind_its_cue) == []
    assert failing_negations(ends_where_something_ends) == []
    assert failing_negations(lambda s, n: first(s, n) not in CONJUNCTIONS) == []
    assert failing_negations(lambda s, n: cue_text(s, n) != "without" or n.scope[0] == n.cue[0] + 1) == []
    assert failing_negations(lambda s, n: cue_text(s, n) != "n't" or n.cue[0] - 1 in n.scope) == []


def test_no_word_carries_an_affixal_negation():
    assert failing(lambda s: not any(AFFIXAL.fullmatch(word.lower()) for word in s.words)) == []


def test_a_sentence_fits_the_specimen_without_unknown_words():
    tokenizer = AutoTokenizer.from_pretrained(DATA / "model", local_files_only=True)

    def holds(sentence):
        pieces = tokenizer(list(sentence.words), is_split_into_words=True)["input_ids"]
        return len(pieces) <= 60 and tokenizer.unk_token_id not in pieces

    assert failing(holds) == []


def simple_rules(sentence, negation):
    """Three rules that know only the marks and the cue: a set of places each."""
    words = {i for i, word in enumerate(sentence.words) if word not in MARKS} - set(negation.cue)
    marks = [i for i, word in enumerate(sentence.words) if word in MARKS]
    start = max((i for i in marks if i < negation.cue[0]), default=-1)
    end = min(i for i in marks if i > negation.cue[-1])
    return {
        "every other word of the sentence": words,
        "every word between the marks around the cue": {i for i in words if start < i < end},
        "every word from the cue to the next mark": {i for i in words if negation.cue[0] < i < end},
    }


def test_the_readme_says_what_simple_rules_reach():
    said = re.findall(r"^\| (every [^|]+?) \| ([\d.]+) \| ([\d.]+) \| ([\d.]+) \|$", README, re.MULTILINE)
    pairs = [(set(n.scope), simple_rules(s, n)) for s in SENTENCES for n in s.negations]
    assert len(said) == 3
    for rule, *numbers in said:
        right = sum(len(gold & found[rule]) for gold, found in pairs)
        precision = right / sum(len(found[rule]) for _, found in pairs)
        recall = right / sum(len(gold) for gold, _ in pairs)
        f1 = 2 * precision * recall / (precision + recall)
        assert [float(number) for number in numbers] == pytest.approx([precision, recall, f1], abs=0.006)


def test_the_readme_counts_what_the_file_holds():
    said = {name: int(n) for name, n in re.findall(r"^\| ([^|]+?) \| (\d+) \|$", README, re.MULTILINE)}
    cues = Counter(cue_text(s, n) for s in SENTENCES for n in s.negations)
    names = {"neither nor": "`neither` ... `nor`"}
    assert said == {
        "sentences": len(SENTENCES),
        "sentences to choose on (`train`)": len(load_negation("train")),
        "sentences to report on (`test`)": len(load_negation("test")),
        "sentences with one negation": sum(len(s.negations) == 1 for s in SENTENCES),
        "sentences with two negations": sum(len(s.negations) == 2 for s in SENTENCES),
        "sentences without negation (controls)": sum(not s.negations for s in SENTENCES),
        "controls with a false cue": sum(bool(s.false_cues) for s in SENTENCES),
        "negations": sum(cues.values()),
        "words and marks": sum(len(s) for s in SENTENCES),
        "words in a scope": sum(len(n.scope) for s in SENTENCES for n in s.negations),
        "scopes in one piece": sum(
            n.scope[-1] - n.scope[0] + 1 == len(n.scope) for s in SENTENCES for n in s.negations
        ),
        **{names.get(cue, f"`{cue}`"): n for cue, n in cues.items()},
    }


# ---- the reader -----------------------------------------------------------------------------------------------

GOOD = {
    "id": "n1",
    "words": ["He", "neither", "sang", "nor", "spoke", "."],
    "negations": [{"cue": [1, 3], "scope": [0, 2, 4]}],
}


def changed(**fields):
    """The good line with one negation changed."""
    return {**GOOD, "negations": [{**GOOD["negations"][0], **fields}]}


@pytest.mark.parametrize("name", ["sentences.jsonl", "sentences.jsonl.gz"])
def test_a_line_becomes_a_sentence(tmp_path, name):
    control = {"id": 2, "words": ["No", "doubt"], "negations": [], "false_cues": [0]}
    path = write_lines(tmp_path / name, GOOD, "", control)
    first, second = read_negation(path)
    assert first == NegationSentence("n1", tuple(GOOD["words"]), (Negation((1, 3), (0, 2, 4)),))
    assert (second.id, second.negations, second.split, second.false_cues) == ("2", (), "", (0,))


def test_a_sentence_shows_its_cues_and_scopes():
    words = ("She", "did", "n't", "come", ",", "and", "nobody", "knew", ".")
    sentence = NegationSentence("1", words, (Negation((2,), (0, 1, 3)), Negation((6,), (7,))))
    assert str(sentence).splitlines() == [
        "{She did} <n't> {come} , and nobody knew .",
        "She did n't come , and <nobody> {knew} .",
    ]
    assert str(NegationSentence("2", words[:2], ())) == "She did"


def test_a_scope_may_be_empty_in_another_corpus(tmp_path):
    [sentence] = read_negation(write_lines(tmp_path / "sentences.jsonl", changed(scope=[])))
    assert sentence.negations[0].scope == ()


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("not JSON", "expected an object with id, words and negations"),
        ({"id": 1, "words": ["a"]}, "it has no negations"),
        ({**GOOD, "id": ""}, "id must name the sentence; got ''"),
        ({**GOOD, "words": "He sang"}, "words must be a list of words"),
        ({**GOOD, "words": []}, "words must be a list of words"),
        (
            {**GOOD, "negations": {"cue": [1], "scope": [0]}},
            "negations must be a list of objects with cue and scope",
        ),
        ({**GOOD, "negations": [{"cue": [1]}]}, "negations must be a list of objects with cue and scope"),
        (changed(cue=[]), r"a negation needs a cue; got none, with the scope \[0, 2, 4\]"),
        (changed(cue=[6]), "cue names word 6, but the sentence has 6 words, counted 0 to 5"),
        (changed(cue=[-1]), "cue names word -1"),
        (changed(scope=[0, 2.0]), "scope must be a list of whole numbers"),
        (changed(scope=[True]), "scope must be a list of whole numbers"),
        (changed(scope=[2, 0]), r"the places of scope must rise, none of them twice; got \[2, 0\]"),
        (changed(scope=[2, 2]), "the places of scope must rise"),
        (changed(scope=[0, 1]), r"word 1 \(neither\) is both cue and scope"),
        ({**GOOD, "negations": GOOD["negations"] * 2}, r"word 1 \(neither\) is the cue of two negations"),
        ({**GOOD, "false_cues": [3]}, r"word 3 \(nor\) is listed as a cue and as a false cue"),
        ({**GOOD, "split": "dev"}, "split must be 'train' or 'test'; got 'dev'"),
        ({**GOOD, "id": "one"}, "the id 'one' was used in line 1"),
    ],
)
def test_a_broken_line_is_named_with_its_file_and_number(tmp_path, line, message):
    path = write_lines(tmp_path / "sentences.jsonl", {**GOOD, "id": "one"}, line)
    with pytest.raises(ValueError, match=re.escape(f"{path}, line 2: ") + f".*{message}"):
        read_negation(path)


def test_a_file_without_sentences_and_an_unknown_half_say_so(tmp_path):
    with pytest.raises(ValueError, match="holds no sentence: expected one JSON object a line"):
        read_negation(write_lines(tmp_path / "sentences.jsonl", ""))
    with pytest.raises(FileNotFoundError, match="there is no file"):
        read_negation(tmp_path / "nowhere.jsonl")
    with pytest.raises(ValueError, match="split must be 'train', 'test' or None; got 'dev'"):
        load_negation("dev")
