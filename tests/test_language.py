"""Plain English: words that readers stumbled over do not come back, in decks, notes, exercises, docs, help, errors and docstrings."""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent

# What a class, a student or a user reads twice, and what to write in its place. British spelling; a space before the per cent sign.
_EACH = "head|layer|token|row|word|text|case|cell|line|slide|task|lesson|relation|sentence|measure|score"
BANNED = {
    r"\bdear(er|est|ly)?\b": "costly; costs most to lose",
    r"\bspar(e|ed|es)\b": "can be removed, need not",
    r"\bby lot\b": "at random",
    r"\bearn(s|ed)?\b": "adds, gains",
    r"\b(all|everywhere|tokens|words|keys|everything) alike\b": "equally, evenly",
    rf"\b(a|one)( (row|cell|panel|dot|pixel|file|folder|label|table|object|map|curve|point|number))? an? ({_EACH})\b": "one for each ...",
    r"(?<!there )(?<!here )(?<!There )\b(is|are) no (?!longer|more|better|worse|less|flatter|such|smaller|larger|one\b|doubt)[a-z`*\[]": "is not a",
    r"\b(the|which) look (at|back|from)\b|\blooks (speak|disagree|agree)\b": "measure, attention",
    r"\bis told its\b": "gets a hint at its",
    r"\bcannot be said\b": "we cannot say",
    r"\bnot so that\b": "not the case that",
    r"\bwas made of it\b": "how it was retold",
    r"\bhas not committed\b": "did not write it down",
    r"(?:;|\.|,) [Ww]ho (calls|says|names|knows|quotes) [^?]*?\.(?= |$)": "a rule that ..., anybody who ...",
    r"\bminds which\b|\bchanged over\b": "uses the order; swapped",
    r"\bis no find\b": "the negative label",
    r"[a-z] \d+%": "a space before the per cent sign",
    r"\b(behavior|neighbor|analyze|labeled|modeling|favorite|recognize|summarize|gray)\b": "British spelling",
}
BANNED = {re.compile(pattern): instead for pattern, instead in BANNED.items()}


def notebooks() -> Iterator[tuple[str, str]]:
    for path in [
        *sorted((ROOT / "slides").glob("*.ipynb")),
        *sorted((ROOT / "notebooks" / "solutions").glob("*.ipynb")),
    ]:
        for number, cell in enumerate(json.loads(path.read_text(encoding="utf-8"))["cells"]):
            source, name = "".join(cell["source"]), f"{path.parent.name}/{path.name}"
            if cell["cell_type"] == "markdown":
                yield name, source
            else:
                code = re.sub(r"(?m)^(\s*)%.*$", r"\1pass", source)
                yield from ((name, text) for text in strings(code, f"{name}, cell {number}"))


def strings(code: str, name: str) -> Iterator[str]:
    """The sentences of a program: every string with a space in it; docstrings and help among them."""
    for node in ast.walk(ast.parse(code, name)):
        if (
            isinstance(node, ast.Constant)
            and isinstance(node.value, str)
            and " " in node.value
            and "{" not in node.value
        ):
            yield node.value


def documents() -> Iterator[tuple[str, str]]:
    paths = [ROOT / name for name in ("README.md", "CONTRIBUTING.md", "SECURITY.md", "CODE_OF_CONDUCT.md")]
    paths += [
        *sorted((ROOT / "docs").glob("*.md")),
        *sorted((ROOT / "data").rglob("*.md")),
        ROOT / "data" / "misconceptions.toml",
        *sorted((ROOT / "bertlook_course" / "claims").rglob("*.toml")),
    ]
    for path in paths:
        if path.exists():
            text = re.sub(r"(?s)```.*?```|`[^`\n]*`", "", path.read_text(encoding="utf-8"))
            yield str(path.relative_to(ROOT)), text


def package() -> Iterator[tuple[str, str]]:
    for path in sorted(ROOT.glob("bertlook_*/**/*.py")):
        name = path.relative_to(ROOT).as_posix()
        yield from ((name, text) for text in strings(path.read_text(encoding="utf-8"), name))


def stumbles(text: str) -> list[str]:
    """Each banned word of a text, with what stands around it and what to write instead."""
    found = []
    for pattern, instead in BANNED.items():
        for hit in pattern.finditer(text):
            around = " ".join(text[max(0, hit.start() - 40) : hit.end() + 30].split())
            found.append(f"… {around} … write: {instead}")
    return found


@pytest.mark.parametrize("texts", [notebooks, documents, package], ids=lambda texts: texts.__name__)
def test_no_banned_word_is_read(texts):
    found = [f"{name}: {stumble}" for name, text in texts() for stumble in stumbles(text)]
    assert found == [], "\n".join(found)


@pytest.mark.parametrize(
    ("text", "n"),
    [
        ("The dearest head cannot be spared.", 2),
        ("Labels are drawn by lot; an even head looks everywhere alike.", 2),
        ("A CSV, a row a head, one a layer.", 2),
        ("A weight is no measure. They are no samples.", 2),
        ("3 of 4 looks speak for it; the look back counts.", 2),
        ("It gives 80% to the labeled heads.", 2),
        (
            "There is no other head, and this one is no longer needed. Teach a model a task. Two heads look alike.",
            0,
        ),
        ("It costs 80 %, is drawn at random, and is not a sample. The dark look. Look back at slide 3.", 0),
    ],
)
def test_a_banned_word_is_found_and_plain_english_is_not(text, n):
    assert len(stumbles(text)) == n
