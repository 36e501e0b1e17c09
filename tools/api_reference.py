"""Write the reference of the package, one page a module, from its docstrings.

    python tools/api_reference.py --out site/api

Needs pdoc (`pip install -c constraints.txt -e '.[docs]'`). Exits with 1 if pdoc has a warning: an annotation that does not resolve, a module that cannot be read.
"""

from __future__ import annotations

import argparse
import importlib
import logging
import pkgutil
import sys
import warnings
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

import bertlook_teach

PACKAGES = ("bertlook_teach", "bertlook_course", "bertlook_press", "bertlook_bench")


def modules() -> list[str]:
    """Every module of the packages whose name, and whose packages' names, are public."""
    found = []
    for package in PACKAGES:
        below = pkgutil.walk_packages([str(ROOT / package)], f"{package}.")
        found += [package, *(info.name for info in below if "._" not in info.name)]
    return found


def prepare(module) -> None:
    """Make a module readable for pdoc, which asks neither its ``__getattr__`` nor knows where a dataclass stands."""
    for name in getattr(module, "__all__", ()):
        setattr(module, name, getattr(module, name))
    for thing in vars(module).values():
        if isinstance(thing, type) and thing.__module__ == module.__name__:
            for made in {"__init__", "__new__"} & set(vars(thing)):  # of a dataclass, of a NamedTuple
                getattr(thing, made).__module__ = thing.__module__


def write(out: Path) -> list[str]:
    """Write the pages, without sources and search, which make them much larger; return what pdoc warned of."""
    import pdoc
    import pdoc.extract
    import pdoc.render

    heard = []

    class Listener(logging.Handler):
        def emit(self, record):
            heard.append(record.getMessage())

    pdoc.render.configure(
        docformat="numpy",
        show_source=False,
        search=False,
        footer_text="bertlook " + bertlook_teach.__version__,
    )
    names = modules()
    for name in names:
        prepare(importlib.import_module(name))
    logging.getLogger().addHandler(Listener(logging.WARNING))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        # pdoc adds what lies below a package; what a door does not hand on is named by ourselves.
        below = {name: set(pdoc.extract.walk_specs([name])) - {name} for name in names}
        pdoc.pdoc(
            *(name for name in names if not any(name in those for those in below.values())),
            output_directory=out,
        )
    return sorted({str(warning.message) for warning in caught} | set(heard))


def main(argv: list[str] | None = None) -> int:
    """Return the exit code."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--out", type=Path, required=True, metavar="DIR", help="the folder for the pages")
    args = parser.parse_args(argv)
    try:
        said = write(args.out)
    except ModuleNotFoundError as error:
        if error.name != "pdoc":
            raise
        print("api_reference: pdoc is missing: pip install pdoc", file=sys.stderr)
        return 1
    for warning in said:
        print(f"api_reference: {warning}", file=sys.stderr)
    print(f"{args.out / 'index.html'}: {len(list(args.out.rglob('*.html')))} pages, {len(said)} warnings")
    return 1 if said else 0


if __name__ == "__main__":
    raise SystemExit(main())
