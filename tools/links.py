"""Write the links to Binder and Colab, from one setting: [tool.bertlook] in pyproject.toml.

    python tools/links.py                               write them anew
    python tools/links.py --repository YOU/YOURS        set the repository first (and --ref main, a branch or tag)
    python tools/links.py --from-git                    set it from the address of the git remote "origin"
    python tools/links.py --check                       write nothing, exit 1 if a link is not what would be written

Links stand in README.md between the lines <!-- links:begin --> and <!-- links:end -->, and in notebooks in cells
tagged ``links`` (text) and ``colab`` (code that installs the package there, and does nothing elsewhere). In an exercise they say
what tools/build_exercises.py copies from its solution. While the repository is OWNER/REPO a line says how to set it, rather than broken links.
"""

from __future__ import annotations

import argparse
import re
import subprocess
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
NO_LINKS = (  # what stands in the place of links until the address is known
    "*Run it on Binder or Colab: not yet. Whoever publishes this repository sets its address once, "
    "`python tools/links.py --repository YOU/YOURS`.*"
)
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

    @property
    def install(self) -> str:
        """Code of a cell that installs the package on Colab and does nothing elsewhere."""
        return (
            "import importlib.util\n\n"
            'if importlib.util.find_spec("google") and importlib.util.find_spec("google.colab"):\n'
            f'    %pip install -q "bertlook_teach[torch] @ git+https://github.com/{self.repository}@{self.ref}"'
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


def home_from_git(address: str, ref: str = "main") -> Home:
    """From the address of a git remote, in either of GitHub's two forms.

    >>> home_from_git("git@github.com:ada/bertlook.git").repository
    'ada/bertlook'
    """
    found = re.search(r"github\.com[:/]([\w.-]+/[\w.-]+?)(?:\.git)?/?$", address)
    if not found:
        raise ValueError(f"the git remote is not on GitHub, where Binder and Colab would look: {address!r}")
    return Home(found.group(1), ref)


def readme_block(home: Home, root: Path = ROOT) -> str:
    """What stands in the README between the markers: a line for each deck and each exercise notebook."""
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
    return "\n".join(lines)


def write_readme(readme: str, block: str) -> str:
    """The README with a block between its markers."""
    if readme.count(BEGIN) != 1 or readme.count(END) != 1 or readme.index(BEGIN) > readme.index(END):
        raise ValueError(f"README.md should have the lines {BEGIN} and {END}, once each and in this order")
    before, rest = readme.split(BEGIN)
    after = rest.split(END)[1]
    return f"{before}{BEGIN}\n{block}\n{END}{after}"


def notebook_text(home: Home, path: str) -> str:
    """What a cell tagged ``links`` says. A solution's cell speaks of the exercise made from it."""
    if not home.known:
        return NO_LINKS
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
    readme = root / "README.md"
    old = readme.read_text(encoding="utf-8")
    new = write_readme(old, readme_block(home, root))
    if new != old:
        stale.append("README.md")
        if not check:
            readme.write_text(new, encoding="utf-8")
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
        "--from-git", action="store_true", help='take the repository from the git remote "origin"'
    )
    parser.add_argument(
        "--check", action="store_true", help="write nothing; exit 1 if something would change"
    )
    args = parser.parse_args(argv)
    pyproject = ROOT / "pyproject.toml"
    text = pyproject.read_text(encoding="utf-8")
    try:
        home = read_home(text)
        ref = args.ref or home.ref
        if args.from_git:
            command = ["git", "remote", "get-url", "origin"]
            remote = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
            if remote.returncode:
                raise ValueError(f"there is no git remote named origin: {remote.stderr.strip()}")
            home = home_from_git(remote.stdout.strip(), ref)
        else:
            home = Home(args.repository or home.repository, ref)
        if not args.check:
            pyproject.write_text(write_home(text, home), encoding="utf-8")
        stale = update(ROOT, home, check=args.check)
    except ValueError as error:
        print(f"links: {error}", file=sys.stderr)
        return 1
    for name in stale:
        print(f"{'would change' if args.check else 'wrote'} {name}")
    if not home.known and not args.check:
        print(f"The repository is still {PLACEHOLDER}: no links. Set it with --repository or --from-git.")
    return 1 if args.check and stale else 0


if __name__ == "__main__":
    raise SystemExit(main())
