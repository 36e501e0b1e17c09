"""``bertlook site``: the whole course as one folder for any web server."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace

from bertlook_course import options
from bertlook_course.syllabus import find_root

from ..classroom import SITE_PARTS, USUAL_PARTS, build_site, deck_to_export


def add_arguments(parser: ArgumentParser) -> None:
    """The options of ``bertlook site``."""
    options.describe(
        parser,
        "Write all decks, handouts, texts, exercises, worksheets and a playground into one folder, which any web server can serve and a browser can "
        "open from disk. A second run makes only what has changed.",
        "site --out public",
        f"Parts: {', '.join(SITE_PARTS)}. The reference of the package, api, is 15 MB, and needs pdoc and the repository.",
    )
    add = parser.add_argument
    options.add_out(parser, help="folder for the site")
    add(
        "--only",
        nargs="+",
        metavar="PART",
        help="make these parts; the others stay as they are (default: all)",
    )
    add("--deck", nargs="+", metavar="NN", help="make only these decks (default: all)")
    add("--solutions", action="store_true", help="include the solutions, and the keys of the worksheets")
    add(
        "--url",
        default="",
        metavar="ADDRESS",
        help="the address where the site will be served, for sitemap.xml",
    )
    add("--no-run", action="store_true", help="use the saved outputs of the decks; their views stay pictures")
    add("--force", action="store_true", help="make everything again, even in a folder that holds other files")
    add("--quiet", action="store_true", help="show no progress bar")


def run(args: Namespace) -> int:
    """Build the site."""
    root = find_root()
    decks = [root / deck_to_export(root, one) for one in args.deck] if args.deck else None
    show = options.bar(args, "site", "part")
    chosen = {"solutions": args.solutions, "run": not args.no_run, "url": args.url, "force": args.force}
    site = build_site(root, args.out, decks=decks, parts=args.only or USUAL_PARTS, progress=show, **chosen)
    for reason in site.left_out:
        print(f"left out: {reason}")
    print(
        f"{args.out}/index.html: {len(site.made)} files made, {len(site.kept)} kept, {site.size / 1e6:.1f} MB."
    )
    return 0
