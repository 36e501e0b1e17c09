"""The README cannot lie: its examples are run, its files exist, its commands are real."""

import doctest
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")
EXAMPLES = "\n".join(re.findall(r"```python\n(.*?)```", README, re.DOTALL))


def run_examples(text: str) -> doctest.TestResults:
    test = doctest.DocTestParser().get_doctest(text, {}, "README.md", "README.md", 0)
    return doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE).run(test)


def test_the_examples_print_what_the_readme_says():
    results = run_examples(EXAMPLES)
    assert results.attempted >= 5 and results.failed == 0


def test_an_example_with_a_wrong_number_would_fail(capsys):
    assert run_examples(">>> 1 + 1\n3\n").failed == 1


@pytest.mark.parametrize("file", ["README.md", "CONTRIBUTING.md", "CHANGELOG.md"])
def test_every_relative_link_and_picture_leads_to_a_file(file):
    text = (ROOT / file).read_text(encoding="utf-8")
    targets = re.findall(r"\]\((?!https?://|#|mailto:)([^)#]+)", text) + re.findall(
        r'src="(?!https?://)([^"]+)"', text
    )
    missing = [target for target in targets if not (ROOT / target).exists()]
    assert not missing
    assert targets or file != "README.md"


def test_every_picture_has_a_text():
    pictures = re.findall(r"!\[(.*?)\]\(", README, re.DOTALL) + re.findall(r'<img[^>]*alt="(.*?)"', README)
    assert pictures and all(len(text) > 20 for text in pictures)
    assert README.count("<img") == len(re.findall(r'<img[^>]*alt="', README))


def test_the_two_commands_are_on_the_first_screen():
    first_screen = README[: README.index("## ")]
    assert "python3 start.py\n" in first_screen and "python3 start.py test" in first_screen
