"""House rules for every deck and exercise notebook, and for each rule a broken notebook that it must find out.

``pytest tests/lessons/test_notebooks.py -k 01_`` checks one lesson. What cells compute is compared by nbval, not here.
"""

from __future__ import annotations

import ast
import copy
import json
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import unquote

import nbformat
import pytest
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook, new_output

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools"))

import build_exercises
import run_notebooks

from bertlook_course.syllabus import lessons as course
from bertlook_teach.model.folders import SHIPPED_MODELS

DECK, SOLUTION, EXERCISE = "deck", "solution", "exercise"
KINDS = {"slides": DECK, "notebooks/solutions": SOLUTION, "notebooks/exercises": EXERCISE}
ALL, LESSONS = (DECK, SOLUTION, EXERCISE), (SOLUTION, EXERCISE)

BEHIND_THE_END, MOST_SLIDES_IN_ALL = "# For 90 minutes", 35

SETUP_TAG = "setup"  # a deck's set-up cell, off the slide, may be longer than what the audience reads
DECK_LINES, SETUP_LINES, EXERCISE_LINES = 6, 15, 15
FEWEST_SLIDES, MOST_SLIDES, FEWEST_EXERCISES = 15, 25, 6
MOST_NAMES, MOST_NAMES_IN_ALL, MOST_PLACES = (
    18,
    100,
    12,
)  # of the package: in one notebook, in all, and from how many rooms
MOST_IGNORED = 0.15  # share of code cells whose output nbval may be told not to compare

THEMES = (
    "black",
    "white",
    "league",
    "beige",
    "sky",
    "night",
    "serif",
    "simple",
    "solarized",
    "blood",
    "moon",
)
TRANSITIONS = ("none", "fade", "slide", "convex", "concave", "zoom")
SLIDE_TYPES = ("slide", "subslide", "fragment", "skip", "notes", "-")


@dataclass(frozen=True)
class Notebook:
    """A notebook with its place in the project."""

    path: Path
    nb: nbformat.NotebookNode
    kind: str
    root: Path

    @property
    def code(self) -> list[tuple[int, nbformat.NotebookNode]]:
        """Code cells with their number among all cells, counted from 1."""
        return [(n, cell) for n, cell in enumerate(self.nb.cells, 1) if cell.cell_type == "code"]

    @property
    def text(self) -> list[tuple[int, nbformat.NotebookNode]]:
        return [(n, cell) for n, cell in enumerate(self.nb.cells, 1) if cell.cell_type == "markdown"]


def load(path, root) -> Notebook:
    folder = path.parent.relative_to(root).as_posix()
    return Notebook(path, run_notebooks.read(path), KINDS[folder], root)


# ---- small readers --------------------------------------------------------------------------------------------

RULES = {}


def rule(*kinds):
    """Register a rule: a function from a Notebook to the sentences that say where it is broken."""

    def register(function):
        RULES[function.__name__] = (function, kinds)
        return function

    return register


def tags(cell) -> list[str]:
    return cell.metadata.get("tags", [])


def slide_type(cell) -> str:
    return cell.metadata.get("slideshow", {}).get("slide_type", "-") or "-"


def syntax(cell):
    """Syntax tree of a code cell; lines for IPython are left out."""
    return ast.parse(re.sub(r"(?m)^(\s*)[%!].*$", r"\1pass", cell.source))


def imported_names(notebook) -> dict[str, str]:
    """What each imported name stands for: ``np`` -> ``numpy``, ``shuffle`` -> ``random.shuffle``."""
    names = {}
    for _, cell in notebook.code:
        for node in ast.walk(syntax(cell)):
            if isinstance(node, ast.Import):
                for alias in node.names:
                    names[alias.asname or alias.name.split(".")[0]] = (
                        alias.name if alias.asname else alias.name.split(".")[0]
                    )
            elif isinstance(node, ast.ImportFrom) and not node.level:
                for alias in node.names:
                    names[alias.asname or alias.name] = f"{node.module}.{alias.name}"
    return names


def calls(notebook) -> Iterator[tuple[int, str, ast.Call]]:
    """(cell number, full dotted name, node) of every call of a named function."""
    names = imported_names(notebook)
    for number, cell in notebook.code:
        for node in ast.walk(syntax(cell)):
            if not isinstance(node, ast.Call):
                continue
            parts, target = [], node.func
            while isinstance(target, ast.Attribute):
                parts.append(target.attr)
                target = target.value
            if isinstance(target, ast.Name):
                parts.append(names.get(target.id, target.id))
                yield number, ".".join(reversed(parts)), node


def package_names(notebook) -> dict[tuple[str, str], int]:
    """(place, name) -> cell number, of everything of the package that a notebook imports; a room or an analysis is one name."""
    found = {}
    for number, cell in notebook.code:
        for node in ast.walk(syntax(cell)):
            if isinstance(node, ast.Import):
                pairs = [(alias.name, "") for alias in node.names]
            elif isinstance(node, ast.ImportFrom):
                pairs = [(node.module or "", alias.name) for alias in node.names]
            else:
                continue
            for place, name in pairs:
                if place.startswith("bertlook_"):
                    found.setdefault((place, name), number)
    return found


def is_file(module) -> bool:
    return (ROOT / "/".join(module.split("."))).with_suffix(".py").is_file()


def htmls(cell) -> list[str]:
    return [output.data["text/html"] for output in cell.outputs if "text/html" in output.get("data", {})]


def feedback_states(cell) -> list[str]:
    """What the checks in a cell's saved outputs say: right, wrong or unanswered."""
    return re.findall(r'class="bertlook-feedback" data-status="(\w+)"', "\n".join(htmls(cell)))


def slides_of(notebook) -> list[list]:
    """Cells of each slide and subslide."""
    slides = []
    for cell in notebook.nb.cells:
        if slide_type(cell) in ("slide", "subslide"):
            slides.append([])
        if slides:
            slides[-1].append(cell)
    return slides


# ---- rules for all notebooks ----------------------------------------------------------------------------------


@rule(*ALL)
def is_valid(notebook):
    raw = json.loads(notebook.path.read_text(encoding="utf-8"))  # reading by nbformat would already repair
    ids = [cell.get("id") for cell in raw["cells"]]
    if (raw["nbformat"], raw["nbformat_minor"]) < (4, 5) or None in ids:
        yield "cells have no ids (nbformat 4.5)"
    elif len(set(ids)) < len(ids):
        yield "two cells have the same id"
    else:
        try:
            nbformat.validate(raw)
        except nbformat.ValidationError as error:
            yield f"not valid: {str(error).splitlines()[0]}"


@rule(*ALL)
def is_saved_by_the_runner(notebook):
    if notebook.path.read_bytes() != run_notebooks.to_bytes(run_notebooks.normalise(notebook.nb)):
        yield "not in the form tools/run_notebooks.py saves (widget state, timings, kernel details?); run it"


@rule(*ALL)
def is_executed(notebook):
    expected = 1
    for number, cell in notebook.code:
        if not cell.source.strip():
            yield f"cell {number} is an empty code cell"
            continue
        if cell.execution_count != expected:
            yield f"cell {number} has execution count {cell.execution_count}, expected {expected}: run from the top"
        expected += 1
        body = syntax(cell).body
        shows = (
            body and isinstance(body[-1], ast.Expr) and not isinstance(body[-1].value, (ast.Call, ast.Await))
        )
        is_text = shows and isinstance(body[-1].value, ast.Constant) and body[-1].value.value is None
        if shows and not is_text and not cell.outputs:
            yield f"cell {number} ends with a value but has no output"


@rule(*ALL)
def has_clean_outputs(notebook):
    yield from run_notebooks.output_problems(notebook.nb)


@rule(*ALL)
def shows_a_picture_without_a_kernel(notebook):
    for number, cell in notebook.code:
        if any(run_notebooks.WIDGET_VIEW in output.get("data", {}) for output in cell.outputs):
            yield (
                f"cell {number} saves a widget without text/html: without a kernel a reader sees nothing; "
                "use a widget of bertlook_course.widgets, or give it a static picture"
            )


@rule(*ALL)
def has_short_cells(notebook):
    for number, cell in notebook.code:
        lines = [
            line for line in cell.source.splitlines() if line.strip() and not line.strip().startswith("### ")
        ]
        most = EXERCISE_LINES
        if notebook.kind == DECK:
            most = SETUP_LINES if SETUP_TAG in tags(cell) else DECK_LINES
        if len(lines) > most:
            yield f"cell {number} has {len(lines)} lines, at most {most}: should the package have a function for it?"


@rule(*ALL)
def ends_no_cell_with_a_semicolon(notebook):
    for number, cell in notebook.code:
        if cell.source.rstrip().endswith(";"):
            yield f"cell {number} ends with a semicolon; nbval sees the value all the same, assign it to _ instead"


@rule(*ALL)
def lets_nbval_compare(notebook):
    ignored = [number for number, cell in notebook.code if "nbval-ignore-output" in tags(cell)]
    if len(ignored) > MOST_IGNORED * len(notebook.code):
        yield f"{len(ignored)} of {len(notebook.code)} code cells are tagged nbval-ignore-output, at most 15 %: {ignored}"
    for number, cell in notebook.code:
        for tag in sorted(
            {"nbval-skip", "raises-exception", "nbval-raises-exception", "skip-execution"} & set(tags(cell))
        ):
            yield f"cell {number} is tagged {tag}; a cell of a lesson runs without an exception"
        if re.search(r"(?m)^\s*#\s*(NBVAL|PYTEST)_", cell.source):
            yield f"cell {number} has an nbval comment; use a tag, which stays off the slide"


@rule(*ALL)
def avoids_known_traps(notebook):
    for number, name, node in calls(notebook):
        last = name.split(".")[-1]
        given = {keyword.arg: keyword.value for keyword in node.keywords}
        bertviz_s = last in ("head_view", "model_view", "neuron_view") and not name.startswith("bertlook_")
        if bertviz_s or name.startswith("bertviz"):
            yield f"cell {number} calls {last} of BertViz, which draws nothing offline; use the package's views"
        if "head_mask" in given or last == "prune_heads":
            yield f"cell {number} uses {'head_mask' if 'head_mask' in given else last}, which transformers 5 ignores"
        if "vocab_file" in given:
            yield f"cell {number} passes vocab_file, which transformers 5 ignores: every token becomes [UNK]"
        if name.startswith("ipywidgets.") and last in (
            "interact",
            "interactive",
            "interactive_output",
            "Output",
        ):
            yield f"cell {number} uses {last}, which strict nbval cannot compare; draw into widgets.HTML"


@rule(*ALL)
def imports_what_it_types(notebook):
    names = package_names(notebook)
    if len(names) > MOST_NAMES:
        yield f"imports {len(names)} names of the package, at most {MOST_NAMES}; import a room and write room.name in set-up cells"
    for (place, name), number in names.items():
        if not name:
            yield f"cell {number} imports {place} whole; import from it what is typed"
        elif is_file(place):
            yield f"cell {number} imports {name} from the file {place}; import from the room"
        elif is_file(f"{place}.{name}") and place not in LOADED_BY_NAME:
            yield f"cell {number} imports the file {place}.{name}; import from the room"
        elif name.startswith("_"):
            yield f"cell {number} imports {name}, which is private"
    meant = imported_names(notebook)
    for number, cell in notebook.code:
        for node in ast.walk(syntax(cell)):
            if (
                isinstance(node, ast.Attribute)
                and node.attr.startswith("_")
                and isinstance(node.value, ast.Name)
            ):
                whole = meant.get(node.value.id, "")
                if whole.startswith("bertlook_"):
                    yield f"cell {number} uses {node.value.id}.{node.attr}, which is private"


LOADED_BY_NAME = (  # one file a lesson
    "bertlook_course.checks",
    "bertlook_course.claims.lessons",
    "bertlook_course.decks",
    "bertlook_course.decks.pictures",
)


@rule(*ALL)
def needs_no_network(notebook):
    modules = (
        "requests",
        "urllib",
        "http",
        "socket",
        "ftplib",
        "httpx",
        "aiohttp",
        "subprocess",
        "pip",
        "datasets",
    )
    for number, cell in notebook.code:
        colab = "google.colab" in cell.source
        for line in cell.source.splitlines():
            shell = re.match(r"(\s*)(?:[%!]|%%)\s*(\w+)", line)
            command = shell and (line.lstrip().startswith("!") or shell.group(2) in SHELL_MAGICS)
            if command and not (colab and line.startswith(" ") and "pip" in line):
                yield f"cell {number} runs a command: {line.strip()}; only an `if` for Colab may install"
        for node in ast.walk(syntax(cell)):
            names = []
            if isinstance(node, ast.Import):
                names = [alias.name for alias in node.names]
            elif isinstance(node, ast.ImportFrom):
                names = [node.module or ""]
            for name in names:
                if name.split(".")[0] in modules:
                    yield f"cell {number} imports {name}: a lesson needs no network"
    for number, name, node in calls(notebook):
        last = name.split(".")[-1]
        if last in (
            "from_pretrained",
            "snapshot_download",
            "hf_hub_download",
            "load_dataset",
            "urlopen",
            "urlretrieve",
        ):
            yield f"cell {number} calls {last}: a lesson runs on models that ship with it"
        first = node.args[0] if node.args else None
        if (
            last in ("load_encoder", "live_models")
            and isinstance(first, ast.Constant)
            and str(first.value) not in SHIPPED_MODELS
        ):
            yield f"cell {number} loads {first.value!r}: a lesson runs on models that ship with it"
        if name in ("os.system", "os.popen"):
            yield f"cell {number} runs a command with {name}"


SHELL_MAGICS = ("pip", "conda", "bash", "sh", "system", "sx", "script")
MACHINE_PATH = re.compile(
    r"(?<![\w/.:~<-])/(?:home|root|Users|work|tmp|usr|opt|mnt|srv|var|etc)/[\w.]|\b[A-Z]:\\(?:Users|Program|Windows|Temp)|"
    r"\bfile://"
)


@rule(*ALL)
def names_no_machine_path(notebook):
    for number, cell in enumerate(notebook.nb.cells, 1):
        texts = [cell.source] + [
            text for output in cell.get("outputs", []) for text in run_notebooks.output_texts(output)
        ]
        for text in texts:
            found = MACHINE_PATH.search(text)
            if found:
                shown = text[found.start() : found.start() + 40].splitlines()[0]
                yield f"cell {number} holds a path of one machine: {shown}"


@rule(*ALL)
def depends_on_neither_clock_nor_chance(notebook):
    seeded = any(name == "torch.manual_seed" for _, name, _ in calls(notebook))
    torch_chance = {"rand", "randn", "randint", "randperm", "normal", "bernoulli", "multinomial"}
    for number, cell in notebook.code:
        if re.search(r"(?m)^\s*%{1,2}(time|timeit|prun)\b", cell.source):
            yield f"cell {number} measures time"
    for number, name, node in calls(notebook):
        arguments = [
            a for a in [*node.args, *(k.value for k in node.keywords)] if getattr(a, "value", a) is not None
        ]
        module, _, last = name.rpartition(".")
        if name.split(".")[0] in ("time", "datetime", "timeit", "uuid", "secrets") or name == "os.urandom":
            yield f"cell {number} calls {name}, which differs from run to run"
        elif (module == "random" and not (last == "Random" and arguments)) or (
            module == "numpy.random" and last not in ("default_rng", "Generator", "SeedSequence", "PCG64")
        ):
            yield f"cell {number} calls {name}; use np.random.default_rng(a seed)"
        elif module == "numpy.random" and not arguments:
            yield f"cell {number} calls {name} without a seed"
        elif module == "torch" and last in torch_chance and not (seeded or has_generator(node)):
            yield f"cell {number} calls {name} without torch.manual_seed or a generator"


def has_generator(call) -> bool:
    return any(keyword.arg == "generator" for keyword in call.keywords)


def anchors_of(nb) -> set[str]:
    """Anchors that Jupyter gives to headings, and ids written by hand."""
    found = set()
    for cell in nb.cells:
        if cell.cell_type == "markdown":
            found |= {
                title.strip().replace(" ", "-")
                for title in re.findall(r"(?m)^#{1,6}\s+(.+?)\s*#*$", cell.source)
            }
            found |= set(re.findall(r"""\bid=["']([^"']+)["']""", cell.source))
    return found


def links_in(source) -> list[tuple[str, bool]]:
    """(target, is a picture) of each link in a Markdown cell, code excepted."""
    text = re.sub(r"(?s)```.*?```|`[^`\n]*`", "", source)
    found = [
        (target, bool(mark))
        for mark, target in re.findall(r"(!?)\[[^\]]*\]\(<?([^\s)>]+)>?(?:\s+\"[^\"]*\")?\)", text)
    ]
    found += [(target, False) for target in re.findall(r"""\bhref=["']([^"']+)["']""", text)]
    found += [(target, True) for target in re.findall(r"""\bsrc=["']([^"']+)["']""", text)]
    return found + [(target, False) for target in re.findall(r"(?m)^\[[^\]]+\]:\s*(\S+)", text)]


@rule(*ALL)
def has_links_that_lead_somewhere(notebook):
    for number, cell in notebook.text:
        for target, is_picture in links_in(cell.source):
            if re.match(r"(?:https?:)?//", target):
                if is_picture:
                    yield f"cell {number} shows a picture from the network: {target}"
                continue
            if re.match(r"mailto:|data:image/", target):
                continue
            place, _, anchor = target.partition("#")
            if re.match(r"[a-zA-Z][\w+.-]*:", place) or place.startswith(("/", "\\")):
                yield f"cell {number} has a link that is not relative: {target}"
                continue
            aim = (notebook.path.parent / unquote(place)).resolve() if place else notebook.path
            if not aim.exists():
                yield f"cell {number} links to {target}, which does not exist"
            elif not aim.is_relative_to(notebook.root.resolve()):
                yield f"cell {number} links to {target}, outside the project"
            elif anchor and aim.suffix == ".ipynb":
                nb = nbformat.read(str(aim), as_version=nbformat.NO_CONVERT) if place else notebook.nb
                if unquote(anchor) not in anchors_of(nb):
                    yield f"cell {number} links to {target}, but there is no such heading"


def says_something(cell) -> bool:
    """Whether a cell holds a sentence an audience reads: five words that are not a heading or a note."""
    if cell.cell_type != "markdown" or slide_type(cell) in ("notes", "skip"):
        return False
    return len(re.sub(r"(?m)^#.*$", "", cell.source).split()) >= 5


@rule(*ALL)
def says_every_picture_in_words(notebook):
    cells = notebook.nb.cells
    for number, cell in notebook.text:
        if re.search(r"!\[\s*\]\(", cell.source) or any(
            not re.search(r"""\balt=["'][^"']+""", tag) for tag in re.findall(r"<img\b[^>]*>", cell.source)
        ):
            yield f"cell {number} shows a picture without alt text"
    for number, cell in notebook.code:
        beside = [cells[i] for i in (number - 2, number) if 0 <= i < len(cells)]
        for output in cell.outputs:
            data, meta = output.get("data", {}), output.get("metadata", {})
            for kind in ("image/png", "image/jpeg"):
                if (
                    kind in data
                    and not meta.get(kind, {}).get("alt")
                    and not any(map(says_something, beside))
                ):
                    yield f"cell {number} shows a picture without alt text or a sentence in the cell before or after"
            for markup in [data.get("text/html", ""), data.get("image/svg+xml", "")]:
                for tag in re.findall(r"<(?:svg|canvas)\b[^>]*>", markup):
                    if not re.search(r"""\baria-(?:label|labelledby|hidden)=["'][^"']+""", tag):
                        yield f"cell {number} shows a drawing without aria-label"
                for tag in re.findall(r"<img\b[^>]*>", markup):
                    if not re.search(r"""\balt=["'][^"']+""", tag):
                        yield f"cell {number} shows a picture without alt text"


# ---- rules for decks ------------------------------------------------------------------------------------------


@rule(DECK)
def has_rise_metadata(notebook):
    rise = notebook.nb.metadata.get("rise")
    if not isinstance(rise, dict):
        yield "has no rise metadata"
        return
    if rise.get("autorun") not in ("all", "init", True):
        yield f'rise.autorun is {rise.get("autorun")!r}; it must be "all", "init" or true, so that widgets are live on opening'
    for key, known in (("theme", THEMES), ("transition", TRANSITIONS)):
        for place in ("rise", "livereveal"):
            settings = notebook.nb.metadata.get(place, {})
            if key in settings and settings[key] not in known:
                yield f"{place}.{key} is {settings[key]!r}: the deck would not open; leave it out or use one of {', '.join(known)}"


FRAME = {
    "auto_select": "none",
    "center": False,
    "controls": False,
    "progress": True,
    "slideNumber": "c/t",
    "start_slideshow_at": "beginning",
    "theme": "white",
    "transition": "none",
}


@rule(DECK)
def has_the_frame_of_the_course(notebook):
    """The same header, footer and progress in every deck: the lesson and how many there are, the slide, the bar."""
    rise, number = notebook.nb.metadata.get("rise") or {}, notebook.path.stem[:2]
    footer = course.GUEST_FOOTER if notebook.path.stem == course.GUEST else course.MAP_FOOTER
    if number in {one.number for one in course.LESSONS}:
        footer = course.lesson(number).footer
    if rise.get("footer") != footer:
        yield f"rise.footer is {rise.get('footer')!r}; wanted is {footer!r}"
    if "header" in rise:
        yield "rise.header is set; no deck of the course has a header but its slide's title"
    for key, value in FRAME.items():
        if rise.get(key) != value:
            yield f"rise.{key} is {rise.get(key)!r}; in every deck it is {value!r}"
    begins = {course.MAP_FOOTER: "The map", course.GUEST_FOOTER: "Guest lecture"}.get(footer, number)
    if not str(notebook.nb.metadata.get("title", "")).startswith(begins):
        yield "metadata title, the title of the exported page, does not begin with the lesson's number"


@rule(DECK)
def has_valid_slide_types(notebook):
    kinds = [slide_type(cell) for cell in notebook.nb.cells]
    for number, kind in enumerate(kinds, 1):
        if kind not in SLIDE_TYPES:
            yield f"cell {number} has slide_type {kind!r}; known are {', '.join(SLIDE_TYPES)}"
    first = next((kind for kind in kinds if kind != "skip"), None)
    if first != "slide":
        yield f"the first cell that is shown has slide_type {first!r}, not 'slide'"


@rule(DECK)
def has_15_to_25_slides(notebook):
    titles = [" ".join(cell.source for cell in slide) for slide in slides_of(notebook)]
    behind = next((i for i, text in enumerate(titles) if BEHIND_THE_END in text), len(titles))
    count = behind  # what comes after this slide is for those who have the time
    if len(titles) > MOST_SLIDES_IN_ALL:
        yield f"has {len(titles)} slides in all, at most {MOST_SLIDES_IN_ALL}"
    fewest, most = (12, 14) if notebook.path.stem == course.GUEST else (FEWEST_SLIDES, MOST_SLIDES)
    if not fewest <= count <= most:
        yield f"has {count} slides, wanted are {fewest} to {most} (slides and subslides)"


@rule(DECK)
def has_speaker_notes(notebook):
    slides = slides_of(notebook)
    noted = sum(
        any(slide_type(cell) == "notes" and cell.source.strip() for cell in slide) for slide in slides
    )
    if 2 * noted < len(slides) or not slides:
        yield f"{noted} of {len(slides)} slides have speaker notes, wanted are at least half"


@rule(DECK)
def belongs_to_a_lesson(notebook):
    if notebook.path.stem == course.GUEST:  # of no lesson; more of it in `shows_no_code_to_guests`
        return
    named = re.fullmatch(r"(\d\d)_[a-z0-9_]+", notebook.path.stem)
    if not named:
        yield f"{notebook.path.name} is not named NN_topic.ipynb"
        return
    if notebook.path.stem == course.MAP:  # it opens the course and is no lesson: no exercises, no number
        return
    number = named.group(1)
    title = " ".join(cell.source for slide in slides_of(notebook)[:1] for cell in slide)
    if not re.search(rf"(?i)\blesson\s+0*{int(number)}\b", title):
        yield f"the first slide does not say 'Lesson {int(number)}'"
    for folder in ("solutions", "exercises"):
        if not list((notebook.root / "notebooks" / folder).glob(f"{number}_*.ipynb")):
            yield f"there is no notebooks/{folder}/{number}_*.ipynb"


@rule(DECK)
def shows_no_code_to_guests(notebook):
    if notebook.path.stem == course.GUEST:
        for number, cell in notebook.code:
            if slide_type(cell) != "skip" and not cell.metadata.get("jupyter", {}).get("source_hidden"):
                yield f"cell {number} shows its code; in somebody else's class nobody asked for it"


# ---- rules for exercises --------------------------------------------------------------------------------------


@rule(SOLUTION)
def has_enough_exercises(notebook):
    count = sum("### BEGIN SOLUTION" in cell.source for cell in notebook.nb.cells)
    if count < FEWEST_EXERCISES:
        yield f"has {count} cells with a solution, wanted are at least {FEWEST_EXERCISES}"
    if not re.fullmatch(r"\d\d_[a-z0-9_]+", notebook.path.stem):
        yield f"{notebook.path.name} is not named NN_topic.ipynb"


@rule(SOLUTION, EXERCISE)
def gets_the_right_feedback(notebook):
    expected = "right" if notebook.kind == SOLUTION else "unanswered"
    total = 0
    for number, cell in notebook.code:
        states = feedback_states(cell)
        total += len(states)
        body = syntax(cell).body
        last = ast.unparse(body[-1]) if body else ""
        if re.match(r"(?:\w+\.)*check_\w+\(", last) and not states:
            yield f"cell {number} ends with a check but shows no feedback"
        if any(state != expected for state in states):
            yield f"cell {number} says {', '.join(states)}; in a saved {notebook.kind} every check says {expected}"
    if not total:
        yield "no check shows feedback"


@rule(EXERCISE)
def is_what_the_solution_gives(notebook):
    solution = notebook.root / build_exercises.SOLUTIONS / notebook.path.name
    if not solution.exists():
        yield "has no solution of the same name; exercises are generated"
        return
    made = build_exercises.make_exercise(run_notebooks.read(solution), name=solution.name)
    saved = run_notebooks.normalise(notebook.nb)
    yield from run_notebooks.differences(saved, made, build_exercises.PARTS)


@rule(SOLUTION)
def can_be_given_to_nbgrader(notebook):
    yield from build_exercises.nbgrader_problems(notebook.nb)


# ---- every notebook of the project against every rule ---------------------------------------------------------


def notebook_cases():
    paths = run_notebooks.find_notebooks(ROOT)
    if not paths:
        skip = pytest.mark.skip(reason="there are no notebooks in slides/ or notebooks/ yet")
        return [pytest.param(None, None, marks=skip, id="no notebooks")]
    return [
        pytest.param(path, name, id=f"{path.relative_to(ROOT).as_posix()}-{name}")
        for path in paths
        for name, (_, kinds) in RULES.items()
        if KINDS[path.parent.relative_to(ROOT).as_posix()] in kinds
    ]


@pytest.mark.parametrize("path, name", notebook_cases())
def test_notebook_keeps_the_rule(path, name):
    problems = list(RULES[name][0](load(path, ROOT)))
    assert not problems, "\n".join([f"{path.relative_to(ROOT)}:", *problems])


def too_many_names(notebooks) -> list[str]:
    """What all notebooks together import of the package: a teacher is to learn a hundred names, not three hundred."""
    names = {pair for notebook in notebooks for pair in package_names(notebook)}
    places = {place for place, _ in names}
    found = []
    if len(names) > MOST_NAMES_IN_ALL:
        found.append(f"{len(names)} names of the package in all, at most {MOST_NAMES_IN_ALL}")
    if len(places) > MOST_PLACES:
        found.append(f"names come from {len(places)} places, at most {MOST_PLACES}")
    return found


def test_all_notebooks_together_import_few_names():
    notebooks = [load(path, ROOT) for path in run_notebooks.find_notebooks(ROOT)]
    assert (
        len({pair for notebook in notebooks for pair in package_names(notebook)}) > 50
    )  # they are found at all
    assert too_many_names(notebooks) == []


def test_every_solution_has_its_exercise():
    solutions = {path.name for path in (ROOT / build_exercises.SOLUTIONS).glob("*.ipynb")}
    exercises = {path.name for path in (ROOT / build_exercises.EXERCISES).glob("*.ipynb")}
    assert solutions == exercises, "run tools/build_exercises.py"


# ---- a small project in which every rule holds ----------------------------------------------------------------

FEEDBACK = '<div class="bertlook-feedback" data-status="{0}" role="status">x</div>'


def on_slide(cell, kind):
    cell.metadata["slideshow"] = {"slide_type": kind}
    return cell


def result(count, **data):
    kinds = {key.replace("__", "/"): value for key, value in data.items()}
    return new_output("execute_result", data={"text/plain": "x", **kinds}, execution_count=count)


def good_deck():
    cells = [on_slide(new_code_cell("import numpy as np", metadata={"tags": ["setup"]}), "skip")]
    for number in range(1, 17):
        title = "# Lesson 1: What BERT reads" if number == 1 else f"## Idea {number}"
        cells.append(
            on_slide(new_markdown_cell(f"{title}\n\nWe expect the weight below the diagonal."), "slide")
        )
        cells.append(on_slide(new_code_cell("np.random.default_rng(0).random() < 1"), "fragment"))
        cells.append(on_slide(new_markdown_cell("Ask before you show."), "notes"))
    nb = new_notebook(
        cells=cells,
        metadata={
            "rise": {"autorun": "all", "footer": course.lesson(1).footer, **FRAME},
            "title": "01 What BERT reads",
        },
    )
    return executed(nb, {"np": "x"})


def good_solution():
    cells = [
        new_markdown_cell("# Lesson 1\n\n[The deck](../../slides/01_reads.ipynb)"),
        new_code_cell("import numpy as np"),
    ]
    for number in range(1, 7):
        cells.append(new_markdown_cell(f"## Exercise {number}"))
        cells.append(new_code_cell(f"### BEGIN SOLUTION\nanswer{number} = {number}\n### END SOLUTION"))
        cells.append(new_code_cell(f"check_one(answer{number})"))
    return executed(build_exercises.mark(new_notebook(cells=cells)), {"check_one": FEEDBACK.format("right")})


def executed(nb, htmls):
    """Give cells the counts and outputs a run would give; nothing is run here."""
    count = 0
    for cell in nb.cells:
        if cell.cell_type == "code" and cell.source.strip():
            count += 1
            cell.execution_count = count
            last = cell.source.splitlines()[-1]
            cell.outputs = [
                result(count, text__html=html) for name, html in htmls.items() if last.startswith(name)
            ]
    return run_notebooks.normalise(nb)


def exercise_of(solution):
    made = build_exercises.make_exercise(solution, name="01_reads.ipynb")
    return executed(made, {"check_one": FEEDBACK.format("unanswered")})


@pytest.fixture(scope="module")
def good_notebooks():
    made = {DECK: good_deck(), SOLUTION: good_solution()}
    return made | {EXERCISE: exercise_of(made[SOLUTION])}


@pytest.fixture
def project(tmp_path, good_notebooks):
    """A small project on disk; ``project(kind, change)`` gives one of its notebooks after the change."""
    made = good_notebooks
    paths = {kind: tmp_path / folder / "01_reads.ipynb" for folder, kind in KINDS.items()}
    for kind, path in paths.items():
        run_notebooks.save(made[kind], path)

    def changed(kind, change=None, normalised=True) -> Notebook:
        nb = copy.deepcopy(made[kind])
        place = change(nb, tmp_path) if change else None
        path = place if isinstance(place, Path) else paths[kind]
        if normalised:
            nb = run_notebooks.normalise(nb)
        path.write_text(nbformat.v4.writes(nb, split_lines=True) + "\n", encoding="utf-8", newline="\n")
        return Notebook(path, nb, kind, tmp_path)

    return changed


@pytest.mark.parametrize("name", RULES)
def test_the_good_notebooks_keep_the_rule(project, name):
    function, kinds = RULES[name]
    for kind in kinds:
        assert list(function(project(kind))) == []


def code_cell(nb, source, *outputs, tags=(), at=2):
    """Put a code cell into a notebook, after its first markdown and code cell."""
    cell = new_code_cell(
        source, metadata={"tags": list(tags)} if tags else {}, outputs=list(outputs), execution_count=1
    )
    nb.cells.insert(at, cell)


def text_cell(nb, source, at=2):
    nb.cells.insert(at, new_markdown_cell(source))


def source(text, *outputs, **options):
    return lambda nb, root: code_cell(nb, text, *outputs, **options)


def text(content):
    return lambda nb, root: text_cell(nb, content)


def rise(**settings):
    return lambda nb, root: nb.metadata["rise"].update(settings)


def cell(number, **fields):
    return lambda nb, root: nb.cells[number].update(fields)


def slide(number, kind):
    return lambda nb, root: nb.cells[number].metadata.update(slideshow={"slide_type": kind})


def cells(change):
    return lambda nb, root: nb.update(cells=change(nb.cells))


def feedback(*said):
    outputs = [result(1, text__html=FEEDBACK.format(one)) for one in said]
    return cell(-1, outputs=outputs)


def without(folder):
    return lambda nb, root: (root / folder / "01_reads.ipynb").unlink()


def renamed(name):
    return lambda nb, root: root / "slides" / name


def no_solutions(nb, root):
    for cell in nb.cells[4:]:
        cell.source = cell.source.replace("### BEGIN SOLUTION\n", "").replace("\n### END SOLUTION", "")


def shown(kind, data, **metadata):
    return new_output("display_data", data={kind: data, "text/plain": "x"}, metadata=metadata)


COLAB = "import importlib.util\nif importlib.util.find_spec('google.colab'):\n    %pip install -q bertlook"
LONG = "\n".join(f"x{i} = {i}" for i in range(7))
LONGER = "\n".join(f"x{i} = {i}" for i in range(16))
NAMES = f"from bertlook_teach import {', '.join(f'n{i}' for i in range(MOST_NAMES - 1))}\nfrom bertlook_course.render import last, {{}}"
PICTURE = shown("image/png", "iVBORw0KGgo=")

# rule, kind of notebook, how it is broken, what is said about it; None: allowed, the nearest right thing
BROKEN = [
    ("is_valid", DECK, cell(2, surprise=1), "not valid"),
    ("is_valid", DECK, lambda nb, root: nb.cells[1].update(id=nb.cells[2].id), "same id"),
    ("is_saved_by_the_runner", DECK, lambda nb, root: nb.metadata.update(widgets={"application/vnd.jupyter.widget-state+json": {}}), "widget state"),
    ("is_executed", DECK, cell(2, execution_count=None), "execution count None, expected 2"),
    ("is_executed", DECK, source(" "), "empty code cell"),
    ("is_executed", SOLUTION, source("x = 1\nx", at=99), "ends with a value but has no output"),
    ("is_executed", SOLUTION, source("x = 1", at=99), None),
    ("has_clean_outputs", DECK, source("1/0", new_output("error", ename="E", evalue="v", traceback=[])), "exception"),
    ("has_clean_outputs", DECK, source("x()", new_output("stream", name="stderr", text="careful")), "stderr: careful"),
    ("has_clean_outputs", DECK, source("x()", new_output("stream", name="stdout", text="<A at 0x7f00aa11>")), "memory address"),
    ("has_clean_outputs", DECK, source("x()", new_output("stream", name="stdout", text="fine")), None),
    ("shows_a_picture_without_a_kernel", DECK, source("w", shown(run_notebooks.WIDGET_VIEW, {"model_id": "1"})), "saves a widget"),
    ("has_short_cells", DECK, source(LONG), "has 7 lines, at most 6"),
    ("has_short_cells", DECK, source(LONG, tags=["setup"]), None),
    ("has_short_cells", DECK, source(LONGER, tags=["setup"]), "has 16 lines, at most 15"),
    ("has_short_cells", SOLUTION, source(LONG), None),
    ("has_short_cells", SOLUTION, source(LONGER), "has 16 lines, at most 15"),
    ("ends_no_cell_with_a_semicolon", DECK, source("plt.plot([1]);"), "semicolon"),
    ("lets_nbval_compare", SOLUTION, lambda nb, root: [source("1", tags=["nbval-ignore-output"])(nb, root) for _ in range(3)], "3 of 16 code cells"),
    ("lets_nbval_compare", SOLUTION, lambda nb, root: [source("1", tags=["nbval-ignore-output"])(nb, root) for _ in range(2)], None),
    ("lets_nbval_compare", DECK, source("1", tags=["nbval-skip"]), "tagged nbval-skip"),
    ("lets_nbval_compare", DECK, source("1", tags=["raises-exception"]), "tagged raises-exception"),
    ("lets_nbval_compare", DECK, source("# NBVAL_IGNORE_OUTPUT\n1"), "use a tag"),
    ("avoids_known_traps", DECK, source("from bertviz import head_view\nhead_view(a, t)"), "BertViz"),
    ("avoids_known_traps", DECK, source("import bertviz\nbertviz.model_view(a, t)"), "BertViz"),
    ("avoids_known_traps", DECK, source("from bertlook_course.analyses.anatomy import neuron_view\nneuron_view(a, 0, 0, 1)"), None),
    ("avoids_known_traps", DECK, source("model(x, head_mask=m)"), "head_mask"),
    ("avoids_known_traps", DECK, source("model.prune_heads({1: [2]})"), "prune_heads"),
    ("avoids_known_traps", DECK, source("BertTokenizer(vocab_file='v')"), "vocab_file"),
    ("avoids_known_traps", DECK, source("import ipywidgets as w\nw.interact(f, x=1)"), "interact"),
    ("avoids_known_traps", DECK, source("import ipywidgets as w\nw.HTML('x')"), None),
    ("imports_what_it_types", DECK, source(NAMES.format("more")), "imports 19 names of the package, at most 18"),
    ("imports_what_it_types", SOLUTION, source(NAMES.format("more")), "imports 19 names"),
    ("imports_what_it_types", DECK, source(NAMES.format("last")), None),
    ("imports_what_it_types", DECK, source("import bertlook_course.render as r"), "imports bertlook_course.render whole"),
    ("imports_what_it_types", DECK, source("from bertlook_teach.measures.surface import offset_attention"), "from the file bertlook_teach.measures.surface"),
    ("imports_what_it_types", DECK, source("from bertlook_teach.measures import surface"), "imports the file bertlook_teach.measures.surface"),
    ("imports_what_it_types", DECK, source("from bertlook_course.checks import lesson01 as check"), None),
    ("imports_what_it_types", DECK, source("from bertlook_course.render import _menu"), "imports _menu, which is private"),
    ("imports_what_it_types", DECK, source("from bertlook_course import syntax\nsyntax._fold(1)"), "uses syntax._fold, which is private"),
    ("imports_what_it_types", DECK, source("from bertlook_course import syntax\nsyntax.score_relations(1)._asdict()"), None),
    ("needs_no_network", DECK, source("%pip install bertlook"), "runs a command"),
    ("needs_no_network", DECK, source("!ls"), "runs a command"),
    ("needs_no_network", DECK, source("%%bash\nls"), "runs a command"),
    ("needs_no_network", DECK, source("import importlib\n%pip install google.colab"), "runs a command"),
    ("needs_no_network", DECK, source(COLAB), None),
    ("needs_no_network", DECK, source("%matplotlib inline"), None),
    ("needs_no_network", DECK, source("import urllib.request"), "imports urllib.request"),
    ("needs_no_network", DECK, source("from requests import get"), "imports requests"),
    ("needs_no_network", DECK, source("BertModel.from_pretrained('x')"), "from_pretrained"),
    ("needs_no_network", DECK, source("load_encoder('bert-base-uncased')"), "loads 'bert-base-uncased'"),
    ("needs_no_network", DECK, source("load_encoder('specimen-random')"), None),
    ("needs_no_network", DECK, source("import os\nos.system('ls')"), "os.system"),
    ("names_no_machine_path", DECK, source("open('/home/ada/x.txt')"), "path of one machine: /home/ada"),
    ("names_no_machine_path", DECK, source(r"open('C:\Users\ada')"), "path of one machine"),
    ("names_no_machine_path", DECK, text("see /tmp/x.txt"), "path of one machine"),
    ("names_no_machine_path", DECK, source("p()", new_output("stream", name="stdout", text="in /home/ann/x")), "path of one machine"),
    ("names_no_machine_path", DECK, text("see https://example.org/home/page and data/usr/x"), None),
    ("depends_on_neither_clock_nor_chance", DECK, source("import time\ntime.time()"), "time.time"),
    ("depends_on_neither_clock_nor_chance", DECK, source("from time import perf_counter as clock\nclock()"), "time.perf_counter"),
    ("depends_on_neither_clock_nor_chance", DECK, source("from datetime import datetime\ndatetime.now()"), "datetime"),
    ("depends_on_neither_clock_nor_chance", DECK, source("%timeit f()"), "measures time"),
    ("depends_on_neither_clock_nor_chance", DECK, source("np.random.default_rng()"), "without a seed"),
    ("depends_on_neither_clock_nor_chance", DECK, source("np.random.default_rng(None)"), "without a seed"),
    ("depends_on_neither_clock_nor_chance", DECK, source("np.random.default_rng(seed=1)"), None),
    ("depends_on_neither_clock_nor_chance", DECK, source("np.random.rand(3)"), "numpy.random.rand"),
    ("depends_on_neither_clock_nor_chance", DECK, source("import random\nrandom.shuffle(x)"), "random.shuffle"),
    ("depends_on_neither_clock_nor_chance", DECK, source("import random\nrandom.Random(3)"), None),
    ("depends_on_neither_clock_nor_chance", DECK, source("import torch\ntorch.randn(3)"), "torch.randn"),
    ("depends_on_neither_clock_nor_chance", DECK, source("import torch\n_ = torch.manual_seed(0)\ntorch.randn(3)"), None),
    ("has_links_that_lead_somewhere", DECK, text("[gone](gone.ipynb)"), "does not exist"),
    ("has_links_that_lead_somewhere", DECK, text("[there](../notebooks/exercises/01_reads.ipynb#Exercise-2)"), None),
    ("has_links_that_lead_somewhere", DECK, text("[there](../notebooks/exercises/01_reads.ipynb#Exercise-99)"), "no such heading"),
    ("has_links_that_lead_somewhere", DECK, text("[here](#Idea-3)"), None),
    ("has_links_that_lead_somewhere", DECK, text("[out](../../)"), "outside the project"),
    ("has_links_that_lead_somewhere", DECK, text("[abs](/etc/hosts)"), "not relative"),
    ("has_links_that_lead_somewhere", DECK, text('<a href="file:///x">x</a>'), "not relative"),
    ("has_links_that_lead_somewhere", DECK, text("![map](https://example.org/map.png)"), "from the network"),
    ("has_links_that_lead_somewhere", DECK, text("[paper](https://aclanthology.org/W19-4828/) and `[x](y)`"), None),
    ("says_every_picture_in_words", SOLUTION, source("plot()", PICTURE, at=99), "without alt text or a sentence"),
    ("says_every_picture_in_words", DECK, source("plot()", PICTURE), None),
    ("says_every_picture_in_words", SOLUTION, source("p()", shown("image/png", "iVBO", **{"image/png": {"alt": "A map."}}), at=99), None),
    ("says_every_picture_in_words", DECK, source("p()", shown("text/html", "<svg width='1'></svg>")), "drawing without aria-label"),
    ("says_every_picture_in_words", DECK, source("p()", shown("text/html", "<svg aria-label='A map.'></svg>")), None),
    ("says_every_picture_in_words", DECK, source("p()", shown("image/svg+xml", "<svg width='1'></svg>")), "drawing without aria-label"),
    ("says_every_picture_in_words", DECK, source("p()", shown("text/html", "<img src='x'>")), "without alt text"),
    ("says_every_picture_in_words", DECK, text("![](a.png)"), "without alt text"),
    ("says_every_picture_in_words", DECK, text("![A map](a.png)"), None),
    ("has_rise_metadata", DECK, lambda nb, root: nb.metadata.pop("rise"), "no rise metadata"),
    ("has_rise_metadata", DECK, rise(theme=None), "rise.theme is None"),
    ("has_rise_metadata", DECK, rise(transition=None), "rise.transition is None"),
    ("has_rise_metadata", DECK, rise(theme="dracula"), "rise.theme is 'dracula'"),
    ("has_rise_metadata", DECK, rise(autorun=None), "rise.autorun is None"),
    ("has_rise_metadata", DECK, rise(transition="fade"), None),
    ("has_the_frame_of_the_course", DECK, rise(footer="bertlook · 01 What BERT reads"), "wanted is 'bertlook · lesson 1 of 14"),
    ("has_the_frame_of_the_course", DECK, renamed("02_reads.ipynb"), "lesson 2 of 14"),
    ("has_the_frame_of_the_course", DECK, rise(progress=False), "rise.progress is False"),
    ("has_the_frame_of_the_course", DECK, rise(header="a header"), "no deck of the course has a header"),
    ("has_valid_slide_types", DECK, slide(4, "slid"), "'slid'"),
    ("has_valid_slide_types", DECK, slide(1, "notes"), "first cell that is shown"),
    ("has_15_to_25_slides", DECK, cells(lambda old: old[:7]), "has 2 slides"),
    ("has_15_to_25_slides", DECK, cells(lambda old: old + [on_slide(new_markdown_cell("## More"), "subslide") for _ in range(10)]), "has 26 slides"),
    ("has_speaker_notes", DECK, cells(lambda old: [one for one in old if slide_type(one) != "notes"]), "0 of 16 slides"),
    ("belongs_to_a_lesson", DECK, cell(1, source="# What BERT reads"), "does not say 'Lesson 1'"),
    ("belongs_to_a_lesson", DECK, cell(1, source="# Lesson 11"), "does not say 'Lesson 1'"),
    ("belongs_to_a_lesson", DECK, renamed("reads.ipynb"), "not named NN_topic"),
    ("belongs_to_a_lesson", DECK, renamed(f"{course.MAP}.ipynb"), None),
    ("belongs_to_a_lesson", DECK, renamed(f"{course.GUEST}.ipynb"), None),
    ("has_15_to_25_slides", DECK, renamed(f"{course.GUEST}.ipynb"), "wanted are 12 to 14"),
    ("shows_no_code_to_guests", DECK, renamed(f"{course.GUEST}.ipynb"), "shows its code"),
    ("belongs_to_a_lesson", DECK, renamed("02_reads.ipynb"), "no notebooks/solutions/02_"),
    ("belongs_to_a_lesson", DECK, without("notebooks/exercises"), "no notebooks/exercises/01_"),
    ("has_enough_exercises", SOLUTION, no_solutions, "has 1 cells with a solution"),
    ("gets_the_right_feedback", SOLUTION, feedback("wrong"), "says wrong"),
    ("gets_the_right_feedback", EXERCISE, feedback("wrong"), "says wrong"),
    ("gets_the_right_feedback", SOLUTION, feedback(), "shows no feedback"),
    ("is_what_the_solution_gives", EXERCISE, lambda nb, root: nb.cells[0].update(source=nb.cells[0].source + " edited"), "cell 1 differs in source"),
    ("is_what_the_solution_gives", EXERCISE, cells(lambda old: old[:-1]), "19 cells, 20 were expected"),
    ("is_what_the_solution_gives", EXERCISE, without("notebooks/solutions"), "has no solution"),
    ("can_be_given_to_nbgrader", SOLUTION, lambda nb, root: [one.metadata.pop("nbgrader", None) for one in nb.cells], "--mark"),
]  # fmt: skip


@pytest.mark.parametrize(
    "name, kind, change, message", BROKEN, ids=[f"{case[0]}-{i}" for i, case in enumerate(BROKEN)]
)
def test_a_broken_notebook_is_found_out(project, name, kind, change, message):
    raw = name in ("is_valid", "is_saved_by_the_runner", "shows_a_picture_without_a_kernel")
    problems = list(RULES[name][0](project(kind, change, normalised=not raw)))
    if message is None:
        assert problems == []
    else:
        assert any(message in problem for problem in problems), problems


@pytest.mark.parametrize(
    "line, many, message",
    [
        ("from bertlook_course.render import name{}", 101, "101 names of the package in all, at most 100"),
        ("from bertlook_course.render import name{}", 100, None),
        ("from bertlook_teach.room{} import name", 13, "from 13 places, at most 12"),
        ("from bertlook_teach.room{} import name", 12, None),
        ("from bertlook_course.render import name  # {}", 101, None),
        ("from numpy import name{}", 101, None),
    ],
)
def test_too_many_names_in_all_are_found_out(project, line, many, message):
    lines = [line.format(i) for i in range(many)]
    notebooks = [project(DECK, source("\n".join(lines[i::20]))) for i in range(20)]
    found = too_many_names(notebooks)
    assert found == [] if message is None else message in found[0]


def test_every_rule_has_a_notebook_that_breaks_it():
    assert {name for name, _, _, message in BROKEN if message} == set(RULES)
