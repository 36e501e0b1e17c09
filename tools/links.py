"""Write the links to Binder, Colab and a hub of your own, from one setting: [tool.bertlook] in pyproject.toml.

    python tools/links.py                               write them anew
    python tools/links.py --repository YOU/YOURS        set the repository first (and --ref main, a branch or tag)
    python tools/links.py --check                       write nothing, exit 1 if a link is not what would be written

Links stand in docs/deploy.md between the lines <!-- links:begin --> and <!-- links:end -->, and in notebooks in cells
tagged ``links`` (text) and ``colab`` (code that installs the package there, and does nothing elsewhere). In an exercise they say
what tools/build_exercises.py copies from its solution. While the repository is OWNER/REPO there are no links: docs/deploy.md says how to set it, the text
cells show nothing, and the code cells install a wheel that was uploaded beside the notebook.
"""

from __future__ import annotations

import argparse
import re
import sys
import tomllib
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

try:
    import nbformat
except ModuleNotFoundError:
    raise SystemExit(
        "links: this Python has no nbformat. The one that start.py made has: .venv/bin/python tools/links.py (Windows: .venv\\Scripts\\python)."
    ) from None

sys.path.insert(0, str(Path(__file__).resolve().parent))

from run_notebooks import ROOT, read, save

PLACEHOLDER = "OWNER/REPO"
BEGIN, END = "<!-- links:begin -->", "<!-- links:end -->"
# What stands in the place of links until the address is known: on the page for whoever publishes, in notebooks a comment, which shows nothing.
NO_LINKS = (
    "There are no links yet, because this copy of the course has no public address. Whoever publishes it sets the address once: "
    "`.venv/bin/python tools/links.py --repository OWNER/NAME`. Links for every lesson then appear here and in its notebooks. "
    "Until then, an exercise runs on Colab with the [wheel](hosts.md#from-a-wheel-in-an-empty-environment) uploaded beside it."
)
UNSEEN = (
    "<!-- tools/links.py writes links to Binder and Colab here once the address of the repository is set -->"
)
PAGE = "docs/deploy.md"
VERSION = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["version"]
WHEEL = f"bertlook_teach-{VERSION}-py3-none-any.whl"
BADGES = ("tests", "newest")  # workflows
FOLDERS = ("slides", "notebooks/solutions", "notebooks/exercises")


@dataclass(frozen=True)
class Home:
    """Where the repository is at home, on GitHub."""

    repository: str = PLACEHOLDER
    ref: str = "main"

    def __post_init__(self):
        if not re.fullmatch(r"[\w.-]+/[\w.-]+", self.repository):
            raise ValueError(f"a repository is written OWNER/NAME, not {self.repository!r}")
        if not re.fullmatch(r"[\w./-]+", self.ref):
            raise ValueError(f"a ref is a branch or a tag, not {self.ref!r}")

    @property
    def known(self) -> bool:
        """Whether this is more than the placeholder."""
        return self.repository != PLACEHOLDER

    def binder(self, page: str) -> str:
        """Opens a page of the Jupyter server ("rise/slides/01.ipynb", "lab/tree/notebooks/01.ipynb") on Binder."""
        return f"https://mybinder.org/v2/gh/{self.repository}/{quote(self.ref, safe='')}?urlpath={quote(page, safe='')}"

    def colab(self, notebook: str) -> str:
        """Opens a notebook on Colab."""
        return f"https://colab.research.google.com/github/{self.repository}/blob/{self.ref}/{quote(notebook)}"

    def puller(self, page: str, hub: str = "https://HUB") -> str:
        """Opens a page of a student's own server on a hub, after nbgitpuller has brought the repository there or up to date.

        >>> Home("ada/course").puller("lab/tree/course/a b.ipynb")
        'https://HUB/hub/user-redirect/git-pull?repo=https%3A%2F%2Fgithub.com%2Fada%2Fcourse&branch=main&urlpath=lab%2Ftree%2Fcourse%2Fa%20b.ipynb'
        """
        repository, branch, place = (
            quote(one, safe="") for one in (f"https://github.com/{self.repository}", self.ref, page)
        )
        return f"{hub}/hub/user-redirect/git-pull?repo={repository}&branch={branch}&urlpath={place}"

    @property
    def source(self) -> str:
        """What pip installs from: the repository, or while its address is not known a wheel beside the notebook."""
        return f"git+https://github.com/{self.repository}@{self.ref}" if self.known else WHEEL

    @property
    def install(self) -> str:
        """Code of a cell that installs the package on Colab and does nothing elsewhere."""
        wanted = f"bertlook_teach[torch] @ {self.source}" if self.known else f"{self.source}[torch]"
        return (
            "import importlib.util\n\n"
            'if importlib.util.find_spec("google") and importlib.util.find_spec("google.colab"):\n'
            + (
                ""
                if self.known
                else "    # On Colab: first upload this file to the folder of the notebook.\n"
            )
            + f'    %pip install -q "{wanted}"'
        )


def read_home(pyproject: str) -> Home:
    """The setting, from the text of pyproject.toml."""
    setting = tomllib.loads(pyproject)["tool"]["bertlook"]
    return Home(setting["repository"], setting["ref"])


def write_home(pyproject: str, home: Home) -> str:
    """The text of pyproject.toml with another setting."""
    table = re.compile(r'^(\[tool\.bertlook\]\n)repository = "[^"]*"\nref = "[^"]*"\n', re.MULTILINE)
    text, found = table.subn(rf'\g<1>repository = "{home.repository}"\nref = "{home.ref}"\n', pyproject)
    if found != 1:
        raise ValueError(
            "pyproject.toml should have a table [tool.bertlook] with repository and ref, in this order"
        )
    return text


def links_block(home: Home, root: Path = ROOT) -> str:
    """What stands on the page between the markers: a line for each deck and each exercise notebook."""
    if not home.known:
        return NO_LINKS
    workflows = f"https://github.com/{home.repository}/actions/workflows"
    badges = " ".join(
        f"[![{name}]({workflows}/{name}.yml/badge.svg)]({workflows}/{name}.yml)" for name in BADGES
    )
    lines = [badges, "", "Without installing anything (starting takes a few minutes):", ""]
    for deck in sorted((root / "slides").glob("[0-9][0-9]_*.ipynb")):
        line = f"- lesson {deck.name[:2]}: [slides on Binder]({home.binder(f'rise/slides/{deck.name}')})"
        exercise = root / "notebooks" / "exercises" / deck.name
        if exercise.is_file():
            path = exercise.relative_to(root).as_posix()
            line += (
                f", exercises on [Binder]({home.binder(f'lab/tree/{path}')}) or [Colab]({home.colab(path)})"
            )
        lines.append(line)
    name = home.repository.partition("/")[2]  # nbgitpuller's folder
    place = f"lab/tree/{name}/notebooks/exercises/01_what_bert_reads.ipynb"
    lines += [
        "",
        "On a hub with [nbgitpuller](https://nbgitpuller.readthedocs.io), a link brings the course to a student, up to date, and opens a notebook. "
        + "Write your hub in place of `HUB`, and the notebook that is wanted at the end:",
        "",
        f"```\n{home.puller(place)}\n```",
    ]
    return "\n".join(lines)


def write_page(page: str, block: str) -> str:
    """The page with a block between its markers."""
    if page.count(BEGIN) != 1 or page.count(END) != 1 or page.index(BEGIN) > page.index(END):
        raise ValueError(f"{PAGE} should have the lines {BEGIN} and {END}, once each and in this order")
    before, rest = page.split(BEGIN)
    after = rest.split(END)[1]
    return f"{before}{BEGIN}\n{block}\n{END}{after}"


def notebook_text(home: Home, path: str) -> str:
    """What a cell tagged ``links`` says. A solution's cell speaks of the exercise made from it."""
    if not home.known:
        return UNSEEN
    path = path.replace("notebooks/solutions/", "notebooks/exercises/")
    if path.startswith("slides/"):
        return f"Run these slides on [Binder]({home.binder(f'rise/{path}')})."
    return f"Run this notebook on [Binder]({home.binder(f'lab/tree/{path}')}) or [Colab]({home.colab(path)})."


def write_notebook(notebook: nbformat.NotebookNode, home: Home, path: str) -> bool:
    """Write the tagged cells; return whether anything changed."""
    changed = False
    for cell in notebook.cells:
        tags = cell.metadata.get("tags", [])
        if "links" in tags and cell.cell_type == "markdown":
            source = notebook_text(home, path)
        elif "colab" in tags and cell.cell_type == "code":
            source = home.install
        else:
            continue
        changed |= cell.source != source
        cell.source = source
    return changed


def update(root: Path, home: Home, *, check: bool = False) -> list[str]:
    """Write every link under ``root``; return the files that were (or with ``check``, would be) changed."""
    stale = []
    page = root / PAGE
    old = page.read_text(encoding="utf-8")
    new = write_page(old, links_block(home, root))
    if new != old:
        stale.append(PAGE)
        if not check:
            page.write_text(new, encoding="utf-8")
    for folder in FOLDERS:
        for path in sorted((root / folder).glob("*.ipynb")):
            name = path.relative_to(root).as_posix()
            notebook = read(path)
            if write_notebook(notebook, home, name):
                stale.append(name)
                if not check:
                    save(notebook, path)
    return stale


def main(argv: list[str] | None = None) -> int:
    """Return the exit code."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--repository", metavar="OWNER/NAME")
    parser.add_argument("--ref", metavar="REF", help="a branch or tag (otherwise as it is set)")
    parser.add_argument(
        "--check", action="store_true", help="write nothing; exit 1 if something would change"
    )
    args = parser.parse_args(argv)
    pyproject = ROOT / "pyproject.toml"
    text = pyproject.read_text(encoding="utf-8")
    try:
        home = read_home(text)
        home = Home(args.repository or home.repository, args.ref or home.ref)
        if not args.check:
            pyproject.write_text(write_home(text, home), encoding="utf-8")
        stale = update(ROOT, home, check=args.check)
    except ValueError as error:
        print(f"links: {error}", file=sys.stderr)
        return 1
    for name in stale:
        print(f"{'would change' if args.check else 'wrote'} {name}")
    if not home.known and not args.check:
        print(f"The repository is still {PLACEHOLDER}: no links. Set it with --repository.")
    return 1 if args.check and stale else 0


if __name__ == "__main__":
    raise SystemExit(main())
