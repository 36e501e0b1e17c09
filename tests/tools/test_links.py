"""The links to Binder and Colab: right in a fork, and those in the files are those that would be written."""

import shutil
import subprocess
import sys
from pathlib import Path
from urllib.parse import parse_qs, unquote, urlsplit

import nbformat
import pytest
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook

from tools import links

ROOT = Path(__file__).resolve().parents[2]
FORK = links.Home("ada/attention.course", "spring/2027")
MARKED = f"# Title\n\n{links.BEGIN}\nold\n{links.END}\n\nMore.\n"


def project(tmp_path, home=FORK):
    """A small project with one deck, one solution and its exercise."""
    (tmp_path / "docs").mkdir()
    (tmp_path / links.PAGE).write_text(MARKED, encoding="utf-8")
    for folder in ("slides", "notebooks/solutions", "notebooks/exercises"):
        cells = [
            new_markdown_cell("old", metadata={"tags": ["links"]}, id="a"),
            new_code_cell("old", metadata={"tags": ["colab"]}, id="b"),
            new_markdown_cell("mine", id="c"),
        ]
        path = tmp_path / folder / "01_first deck.ipynb"
        path.parent.mkdir(parents=True)
        nbformat.write(new_notebook(cells=cells), path)
    return tmp_path


def test_the_links_in_the_repository_are_up_to_date():
    command = [sys.executable, "tools/links.py", "--check"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr + "\nRun: python tools/links.py"


def test_the_placeholder_stands_only_where_the_tool_writes_it():
    notebooks = [
        *(ROOT / "slides").glob("[0-9][0-9]_*.ipynb"),
        *(ROOT / "notebooks").glob("*/[0-9][0-9]_*.ipynb"),
    ]
    assert len(notebooks) >= 43
    for path in notebooks:
        cells = nbformat.read(path, as_version=4).cells
        others = [cell for cell in cells if not {"links", "colab"} & set(cell.metadata.get("tags", []))]
        assert not any(links.PLACEHOLDER in cell.source or links.BEGIN in cell.source for cell in others), (
            path.name
        )
        assert sum("links" in cell.metadata.get("tags", []) for cell in cells) == 1, path.name
        colab = sum("colab" in cell.metadata.get("tags", []) for cell in cells)
        assert colab == (path.parent.name != "slides"), path.name
    written = {ROOT / "pyproject.toml", ROOT / "tools" / "links.py", Path(__file__)}
    for path in ROOT.rglob("*"):
        if path.suffix in (".md", ".py", ".toml", ".yml", ".cff") and not path.is_relative_to(ROOT / ".venv"):
            assert path in written or links.PLACEHOLDER not in path.read_text(encoding="utf-8"), path


def test_a_binder_link_opens_the_slides():
    assert FORK.binder("rise/slides/01_a.ipynb") == (
        "https://mybinder.org/v2/gh/ada/attention.course/spring%2F2027?urlpath=rise%2Fslides%2F01_a.ipynb"
    )


def test_a_colab_link_opens_the_notebook():
    assert FORK.colab("notebooks/exercises/01_a.ipynb") == (
        "https://colab.research.google.com/github/ada/attention.course/blob/spring/2027/notebooks/exercises/01_a.ipynb"
    )


def test_a_link_for_nbgitpuller_names_repository_branch_and_the_notebook_in_its_folder(tmp_path):
    """What nbgitpuller 1.2 takes: `repo`, `branch`, and `urlpath` below a folder named as the last part of `repo`."""
    [address] = [
        line
        for line in links.links_block(FORK, project(tmp_path)).splitlines()
        if line.startswith("https://HUB")
    ]
    path, query = urlsplit(address).path, parse_qs(urlsplit(address).query)
    assert path == "/hub/user-redirect/git-pull"
    assert query == {
        "repo": ["https://github.com/ada/attention.course"],
        "branch": ["spring/2027"],
        "urlpath": ["lab/tree/attention.course/notebooks/exercises/01_what_bert_reads.ipynb"],
    }
    assert (ROOT / query["urlpath"][0].partition("attention.course/")[2]).is_file()


def test_every_file_is_written_once_and_then_agrees(tmp_path):
    root = project(tmp_path)
    names = [links.PAGE, *(f"{folder}/01_first deck.ipynb" for folder in links.FOLDERS)]
    assert links.update(root, FORK, check=True) == names
    assert (root / links.PAGE).read_text(encoding="utf-8") == MARKED  # only checked
    assert links.update(root, FORK) == names
    assert links.update(root, FORK) == []
    assert links.update(root, links.Home("eve/fork")) == names  # another home, other links


def test_once_the_address_is_set_no_notebook_says_the_placeholder(tmp_path):
    """Exercises too: it is they that the page's links to Colab open."""
    for name in ("slides", "notebooks"):
        shutil.copytree(ROOT / name, tmp_path / name, ignore=shutil.ignore_patterns(".ipynb_checkpoints"))
    (tmp_path / "docs").mkdir()
    shutil.copy(ROOT / links.PAGE, tmp_path / links.PAGE)
    links.update(tmp_path, FORK)
    notebooks = [
        *tmp_path.glob("slides/[0-9][0-9]_*.ipynb"),
        *tmp_path.glob("notebooks/*/[0-9][0-9]_*.ipynb"),
    ]
    assert len(notebooks) >= 43
    for path in [tmp_path / links.PAGE, *notebooks]:
        text = path.read_text(encoding="utf-8")
        assert (
            links.PLACEHOLDER not in text and "Whoever publishes" not in text and links.UNSEEN not in text
        ), path
        assert FORK.repository in text, path
    for exercise in tmp_path.glob("notebooks/exercises/*.ipynb"):  # as they are generated
        pair = [
            nbformat.read(path, as_version=4).cells
            for path in (exercise, tmp_path / "notebooks/solutions" / exercise.name)
        ]
        tagged = [
            [cell.source for cell in cells if {"links", "colab"} & set(cell.metadata.get("tags", []))]
            for cells in pair
        ]
        assert tagged[0] == tagged[1] and len(tagged[0]) == 2


def test_a_python_without_nbformat_names_the_one_that_has_it():
    done = subprocess.run(
        [sys.executable, "-S", "-I", "tools/links.py"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert (
        done.returncode == 1
        and ".venv/bin/python tools/links.py" in done.stderr
        and "Traceback" not in done.stderr
    )


def test_what_is_written(tmp_path):
    root = project(tmp_path)
    links.update(root, FORK)
    page = (root / links.PAGE).read_text(encoding="utf-8")
    assert page.startswith("# Title\n") and page.endswith("\n\nMore.\n") and "old" not in page
    assert "rise/slides/01_first deck.ipynb" in unquote(unquote(page))
    deck = nbformat.read(root / "slides" / "01_first deck.ipynb", as_version=4)
    assert "urlpath=rise%2Fslides%2F01_first%20deck.ipynb" in deck.cells[0].source
    solution = nbformat.read(root / "notebooks" / "solutions" / "01_first deck.ipynb", as_version=4)
    assert "blob/spring/2027/notebooks/exercises/01_first%20deck.ipynb" in solution.cells[0].source
    assert "git+https://github.com/ada/attention.course@spring/2027" in solution.cells[1].source
    assert solution.cells[2].source == "mine"


@pytest.mark.parametrize("home", [FORK, links.Home()], ids=["known", "not known"])
def test_the_cell_for_colab_does_nothing_elsewhere(home):
    from IPython.core.inputtransformer2 import TransformerManager

    code = TransformerManager().transform_cell(home.install)
    subprocess.run([sys.executable, "-c", code], check=True)


def test_without_a_home_there_are_no_links(tmp_path):
    root = project(tmp_path)
    links.update(root, links.Home())
    for path in [root / links.PAGE, *root.rglob("*.ipynb")]:
        text = path.read_text(encoding="utf-8")
        assert "mybinder.org" not in text
        assert "colab.research" not in text
        assert links.PLACEHOLDER not in text
        assert ("tools/links.py --repository" in text) == (
            path.suffix == ".md"
        )  # for who publishes, not for who learns
    install = (
        nbformat.read(root / "notebooks" / "solutions" / "01_first deck.ipynb", as_version=4).cells[1].source
    )
    assert f'%pip install -q "{links.WHEEL}[torch]"' in install and "upload this file" in install


@pytest.mark.parametrize(
    "repository", ["ada", "https://github.com/ada/course", "ada/course/more", 'a"/b', ""]
)
def test_a_repository_is_owner_and_name(repository):
    with pytest.raises(ValueError, match="OWNER/NAME"):
        links.Home(repository)


def test_the_setting_is_rewritten_and_nothing_else():
    text = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    changed = links.write_home(text, FORK)
    assert links.read_home(changed) == FORK
    assert links.write_home(changed, links.read_home(text)) == text
    with pytest.raises(ValueError, match="tool.bertlook"):
        links.write_home("[tool.other]\n", FORK)


@pytest.mark.parametrize("page", ["no markers", MARKED + links.BEGIN, f"{links.END}\n{links.BEGIN}"])
def test_a_page_without_its_markers_is_refused(page):
    with pytest.raises(ValueError, match="links:begin"):
        links.write_page(page, "new")
