"""``bertlook show``: a recorded input as a page that is live without Python."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace

from bertlook_course import options

_WIDEST = 100  # characters of a text in the list


def add_arguments(parser: ArgumentParser) -> None:
    """The options of ``bertlook show``."""
    options.describe(
        parser,
        "Write one input of a recording as an HTML page: a map of all heads and what the chosen one looks at, without Jupyter, Python or "
        "network. Without --out it lists what was recorded.",
        "show my.bertlook --input 2 --out page.html",
    )
    parser.add_argument(
        "recording",
        metavar="FILE",
        help="a .bertlook file, a folder of them, bert-base-uncased or bert-base-cased",
    )
    parser.add_argument(
        "--input", type=int, default=1, metavar="N", help="which input, counted from 1 (default: 1)"
    )
    parser.add_argument("--head", metavar="L-H", help="the head shown first, such as 8-10 (default: 1-1)")
    parser.add_argument("--out", metavar="FILE", help="the page to write, *.html")


def run(args: Namespace) -> int:
    """``bertlook show``: returns the exit code."""
    from bertlook_teach.model import load_recording

    options.at_least(args, input=1)
    recording = load_recording(args.recording.removeprefix("recorded:"))
    if args.input > len(recording):
        raise ValueError(f"--input {args.input}: {recording.name} was recorded on {len(recording)} inputs.")
    if args.out is None and (args.head or args.input != 1):
        raise ValueError("--head and --input choose what a page shows; name the page with --out.")
    if args.out is None:
        print(f"{recording.badge}: {recording.note}")
        for number, (text, attention) in enumerate(recording.items(), 1):
            cut = f"  (cut to {attention.n_tokens} wordpieces)" if attention.truncated else ""
            print(f"{number:4}  {_in_a_line(text)}{cut}")
        return 0
    from .view import write_page

    chosen = recording.texts[args.input - 1]
    texts = (chosen,) if isinstance(chosen, str) else chosen
    title = f"{' / '.join(texts)} ({recording.badge})"
    page = write_page(recording, texts, args.head, args.out, title=title, norms=False)
    read = recording[chosen]
    cut = f"; the model read its first {read.n_tokens} wordpieces, the rest was cut" if read.truncated else ""
    print(f"{recording.badge}, input {args.input} of {len(recording)}{cut} -> {page}")
    return 0


def _in_a_line(text: str | tuple[str, str]) -> str:
    line = " ".join((text if isinstance(text, str) else " / ".join(text)).split())
    return line if len(line) <= _WIDEST else f"{line[:_WIDEST]} ..."
