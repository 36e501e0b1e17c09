"""``bertlook view``: one sentence in a model, as a page that is live without Python."""

from __future__ import annotations

import os
from argparse import ArgumentParser, Namespace
from pathlib import Path

from bertlook_course import options

_WIDEST = 100  # characters of a title


def add_arguments(parser: ArgumentParser) -> None:
    """The options of ``bertlook view``."""
    options.describe(
        parser,
        "Let a model read a sentence, or a pair of sentences, and write what its heads look at as one HTML page: a map of all heads and the chosen "
        "one, without Jupyter, Python or network.",
        'view "The cat sat." --model specimen --out page.html',
        "What was recorded is shown by `bertlook show`.",
    )
    parser.add_argument("text", metavar="TEXT", help="the sentence, in quotes")
    parser.add_argument(
        "text_pair", nargs="?", metavar="TEXT", help="a second sentence, read after the first"
    )
    parser.add_argument(
        "--model",
        metavar="NAME",
        default="specimen",
        help="specimen, minilm, a hub name or a folder, with -random for its random twin (default: specimen)",
    )
    parser.add_argument("--head", metavar="L-H", help="the head shown first, such as 8-10 (default: 1-1)")
    parser.add_argument("--out", metavar="FILE", required=True, help="the page to write, *.html")


def run(args: Namespace) -> int:
    """``bertlook view``: returns the exit code."""
    from bertlook_teach.model import load_encoder

    if args.model.startswith("recorded:"):
        raise ValueError(
            f"{args.model} holds what was recorded and reads no sentence; bertlook show {args.model.partition(':')[2]} shows its inputs."
        )
    for text in (args.text, args.text_pair):
        if text and Path(text).suffix and os.path.isfile(text):  # a sentence may be too long for a path
            raise ValueError(
                f"{text} is a file, and a sentence was expected, in quotes; one page shows one sentence of it."
            )
    texts = [text for text in (args.text, args.text_pair) if text is not None]
    page = write_page(load_encoder(args.model), texts, args.head, args.out)
    print(f"{args.model}, {len(texts)} text{'s' * (len(texts) > 1)} -> {page}")
    return 0


def write_page(encoder, texts, head: str | None, out: str, *, title: str = "", **view) -> Path:
    """An explorer of these texts as a page; ``head`` is a printed name, None for the first.

    Raises
    ------
    ValueError
        If the model has no such head, or the page's name does not end in .html.
    """
    from bertlook_teach.model import parse_head_label
    from bertlook_teach.views import HeadExplorer

    from ..pages import save_page

    layer, number = parse_head_label(head) if head else (0, 0)
    if not (layer < encoder.n_layers and number < encoder.n_heads):
        raise ValueError(
            f"no head {head}: {encoder.name} has {encoder.n_layers} layers of {encoder.n_heads} heads."
        )
    if Path(out).suffix.lower() not in (".html", ".htm"):  # before a model reads
        raise ValueError(f"a page is an .html file; got {out!r}.")
    explorer = HeadExplorer(encoder, *texts, layer=layer, head=number, **view)
    said = " / ".join(texts)
    said = said if len(said) <= _WIDEST else f"{said[:_WIDEST]} ..."
    badge = explorer.head_view.badge
    return save_page(explorer, out, title=title or (f"{said} ({badge})" if badge else said))
