"""What a view says, Python and the page say in the same words: they stand once, and neither half has words of its own.

That both put the same parts in, tests/browser tries.
"""

import ast
import re
from os.path import commonprefix
from pathlib import Path

import pytest

from bertlook_course import syllabus
from bertlook_course.widgets import module_source, view_names
from bertlook_press import pages
from bertlook_teach import views

ROOT = Path(views.__file__).parents[2]
DRAWING, CORE = "bertlook_teach/views/drawing", "bertlook_teach/views/js/core.js"
RENDER, SCRIPTS = "bertlook_course/render", "bertlook_course/widgets/js"
PATTERNS, PANELS = "bertlook_course/analyses/patterns", "bertlook_course/widgets/panels"
TRAITS, TYPED = "bertlook_press/pages/js/traits.js", "bertlook_press/pages/js/patterns.js"

# A file of Python and its function, the script and its own: what is said by one is said by the other, or it says a part of the same.
TWINS = [
    (f"{DRAWING}/sentences.py", "describe_attention", CORE, "describeHead"),
    (f"{DRAWING}/sentences.py", "_habit", CORE, "habit"),
    (f"{DRAWING}/sentences.py", "describe_token", CORE, "describeToken"),
    (f"{DRAWING}/sentences.py", "other_tokens", CORE, "otherTokens"),
    (f"{DRAWING}/sentences.py", "simple_places", CORE, "placesOf"),
    (f"{DRAWING}/difference.py", "describe_difference", CORE, "describeDifference"),
    (f"{DRAWING}/difference.py", "describe_token_difference", CORE, "describeTokenDifference"),
    (f"{DRAWING}/norms.py", "describe_norms", CORE, "describeHeadNorms"),
    (f"{DRAWING}/norms.py", "_source", CORE, "sourceOf"),
    (f"{DRAWING}/norms.py", "describe_token_norms", CORE, "describeTokenNorms"),
    (f"{RENDER}/texts/arcs.py", "describe_arcs", f"{SCRIPTS}/arc_view.js", "describeArcs"),
    (f"{PANELS}/masked_word.py", "MaskedWordView.sentence", f"{SCRIPTS}/masked_word.js", "describeHidden"),
    (f"{RENDER}/heads/neurons.py", "describe_neurons", f"{SCRIPTS}/neuron_view.js", "describeNeurons"),
    (f"{RENDER}/heads/lenses.py", "describe_lenses", f"{SCRIPTS}/six_lenses.js", "describeLenses"),
    (f"{RENDER}/heads/film.py", "describe_film", f"{SCRIPTS}/training_film.js", "say"),
    ("bertlook_course/syllabus/tally.py", "count_votes", f"{SCRIPTS}/tally.js", "countVotes"),
    (f"{RENDER}/texts/bench.py", "describe_off", TRAITS, "describeOff"),
    (f"{RENDER}/texts/bench.py", "describe_change", TRAITS, "lossLine"),
    (f"{RENDER}/texts/bench.py", "bench_result", TRAITS, "benchTraits"),
    ("bertlook_course/analyses/ablation/bench.py", "read_masked", TRAITS, "maskedAt"),
    (f"{PATTERNS}/language.py", "parse_pattern", TYPED, "parse"),
    (f"{PATTERNS}/language.py", "_built", TYPED, "fail"),
    (f"{PATTERNS}/language.py", "Condition.__post_init__", TYPED, "condition"),
    (f"{PATTERNS}/language.py", "_no_such_condition", TYPED, "condition"),
    (f"{PATTERNS}/language.py", "Condition._said", TYPED, "said"),
    (f"{PATTERNS}/language.py", "Both._said", TYPED, "said"),
    (f"{PATTERNS}/language.py", "Either._said", TYPED, "said"),
    (f"{PATTERNS}/language.py", "Not._said", TYPED, "said"),
    (f"{PATTERNS}/language.py", "_said_arguments", TYPED, "inWords"),
    (f"{PATTERNS}/language.py", "needs_treebank", TYPED, "checkNeeds"),
    (f"{PATTERNS}/counting.py", "check_pairs", TYPED, "score"),
    (f"{PANELS}/typed_pattern.py", "TypedPattern._scored", TYPED, "score"),
]

# What one of the two alone says: Python of what no page shows, the page of what Python leaves to its own parser. Columns of a table, and
# ends of names of captions.
OWN = {
    "This predictor",
    ", share right: ",
    " examples).",
    "choices are two or more different letters from A to Z; got ",
    " is the mask of another model and would be read as a text; ",
    "a pattern to read is a text; got ",
    "a condition takes its arguments without names; got ",
    "Did you mean ",
    "a condition was expected",
    " was expected",
    "a whole number was expected",
    "'s is ",
    "'(' was never closed",
    "nothing was expected after ",
    " tokens read",
    "tokens read",
    "head ",
    " changed",
    " unchanged",
}


def python_phrases(file: str, name: str) -> set[str]:
    """What a function of Python can print, without its docstring, and of the helper without its errors: texts of two words or more."""
    inside = ast.parse((ROOT / file).read_text(encoding="utf-8")).body
    for one in name.split("."):
        [found] = [node for node in inside if getattr(node, "name", "") == one]
        inside = found.body
    body = inside[1:] if ast.get_docstring(found) else inside
    nodes = [node for statement in body for node in ast.walk(statement)]
    helper = file.startswith("bertlook_teach")
    refused = {
        id(part) for node in nodes if helper and isinstance(node, ast.Raise) for part in ast.walk(node)
    }
    texts = [n.value for n in nodes if isinstance(n, ast.Constant) and id(n) not in refused]
    return {text for text in texts if isinstance(text, str) and re.search(r"\w \w| \w|\w ", text)}


def page_phrases(file: str, name: str) -> set[str]:
    """The same of a function of a script; what is put into a text is left out."""
    script = re.sub(r"(?<![:\"'`])//.*", "", (ROOT / file).read_text(encoding="utf-8"))
    [(_, body)] = re.findall(rf"(?s)\n( *)(?:async )?function {name}\((.*?\n)\1\}}\n", script)
    texts = re.findall(r"\"([^\"\n]*)\"|`([^`]*)`|'([^'\n]*)'", body)
    plain = [re.sub(r"\$\{[^}]*\}+", "", max(parts)) for parts in texts]
    return {text for text in plain if re.search(r"\w \w| \w|\w ", text)}


@pytest.mark.parametrize("file, function, script, twin", TWINS)
def test_python_and_the_page_take_their_words_from_the_captions(file, function, script, twin):
    said = python_phrases(file, function) | page_phrases(script, twin)
    own = said - {*views.CAPTIONS, *syllabus.CAPTIONS} - OWN
    assert not own, f"{function} or {twin} in {script} says {own}; words go into CAPTIONS"


def test_words_of_its_own_are_found_in_both_languages():
    found = python_phrases("bertlook_course/widgets/panels/tally.py", "_lettered")
    assert {"there are ", " letters for them."} <= found
    found = page_phrases(f"{SCRIPTS}/tally.js", "describeVotes")
    assert {"No votes yet.", "; drawn when you say so."} <= found


def test_a_caption_of_the_course_is_said_in_both_languages():
    def text_of(*patterns):
        files = [path for pattern in patterns for path in ROOT.glob(pattern) if path.name != "captions.py"]
        return "\n".join(path.read_text(encoding="utf-8") for path in files)

    python, script = (
        text_of("bertlook_course/**/*.py"),
        text_of(f"{SCRIPTS}/*.js", "bertlook_press/pages/js/*.js"),
    )
    missing = [
        name for name in syllabus.CAPTIONS if not all(f'"{name}"' in text for text in (python, script))
    ]
    assert not missing, f"{missing}: what one language alone says stands where it is said"


def test_a_caption_has_one_name_and_parts_that_both_languages_put_in():
    assert not views.CAPTIONS.keys() & syllabus.CAPTIONS.keys()
    for words in (*views.CAPTIONS.values(), *syllabus.CAPTIONS.values()):
        assert not re.search(r"[{}]", re.sub(r"\{\w+\}", "", words)), words
    assert syllabus.worded("head", label="3-1") == views.worded("head", label="3-1") == "Head 3-1"


def test_the_words_of_the_course_stand_behind_what_all_modules_share():
    """So a page keeps the shared half once; and the helper's own views are those that the helper alone makes."""
    sources = {name: module_source(name) for name in view_names() if name != "save"}
    assert sources["head_map"] == views.module_source("head_map")
    shared = commonprefix([*sources.values()])
    assert (
        shared.startswith("const PALETTE")
        and views.asset("core.js") in shared
        and views.asset("save.js") in shared
    )
    assert all(
        ("Object.assign(CAPTIONS" in text) == (name not in ("head_map", "head_view"))
        for name, text in sources.items()
    )
    assert pages.engine_source().startswith("globalThis.bertlookCaptions = {")
