"""Figures and pictures as files for papers and handouts: SVG, PDF or PNG, of a stated width, with their sentence beside.

A matplotlib figure is written by matplotlib, drawn anew at the width asked for. A picture of ours is an SVG already; a
Chromium, where there is one, turns it into PDF or PNG.
"""

from __future__ import annotations

import math
import re
import subprocess
import tempfile
from html import escape
from io import BytesIO
from pathlib import Path

from bertlook_teach.disk import write_file
from bertlook_teach.views import Picture

from ...storage import find_chromium
from .figures import FIGURE_STYLE, FORMATS, describe_layers

_MILLIMETRES = {"mm": 1.0, "cm": 10.0, "in": 25.4, "pt": 25.4 / 72}

_WIDTH = re.compile(r"(\d+(?:\.\d+)?)\s*(mm|cm|in|pt)")

_NO_DATE = b"D:19700101000000+00'00'"  # a PDF of today and of tomorrow are the same bytes

_FRAME = 200  # pixels: a window's size counts its frame, also where there is none to be seen

_SECONDS = 120  # for a browser on a machine that does much else


def save_figure(
    figure, path, *, width: str | None = None, caption: str | None = None, dpi: int = 300
) -> Path:
    """Write a figure or a picture as SVG, PDF or PNG, by the file's ending, and its sentence beside it as .txt.

    Parameters
    ----------
    figure : matplotlib.figure.Figure, Axes, pyplot, Picture, or a view with ``picture()``
        A view is written as it stands; of an explorer, the view of one head.
    path : str or Path
        Ends in .svg, .pdf or .png; missing folders are made.
    width : str, optional
        With its unit: "85mm", "3.3in", "8.5cm", "240pt". By default the figure's own. The height follows. In a matplotlib
        figure the type keeps its size in points; a picture is scaled as a whole.
    caption : str, optional
        In place of the sentence computed from the data (`caption_of`).
    dpi : int
        Pixels an inch in a PNG.

    Returns
    -------
    Path
        Where it was written. The same data give the same bytes: no file holds a date.

    Raises
    ------
    ValueError
        For any other ending, width or dpi, or if nothing is known that could be said.
    RuntimeError
        If a picture is wanted as PDF or PNG and there is no Chromium that makes one; says what to install.
    OSError
        If the file cannot be written, or if a text of its name is there that is no figure's.

    Examples
    --------
    >>> import tempfile
    >>> from bertlook_course.render import layer_curves
    >>> figure = layer_curves({"specimen": [.1, .4, .2]}, ylabel="attention to [SEP] (share)")
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = save_figure(figure, f"{folder}/sep.svg", width="85mm")
    ...     path.with_suffix(".txt").read_text()
    'attention to [SEP] (share): specimen is highest in layer 2 (0.400) and lowest in layer 1 (0.100).\\n'
    """
    path = Path(path)
    if isinstance(dpi, bool) or not isinstance(dpi, (int, float)) or not 1 <= dpi <= 5000:
        raise ValueError(f"dpi is a number of pixels an inch, for example 300; got {dpi!r}.")
    drawn_on = getattr(figure, "get_figure", getattr(figure, "gcf", None))  # of an Axes, of pyplot
    figure = drawn_on() if drawn_on else figure
    ending = path.suffix.lower()
    if ending not in FORMATS:
        raise ValueError(f"a figure is saved as one of {', '.join(FORMATS)}; got {path.name!r}.")
    beside = path.with_suffix(".txt")
    if beside.exists() and not any(path.with_suffix(one).exists() for one in FORMATS):
        raise FileExistsError(
            f"the figure's sentence would replace {beside.name}, a text that belongs to no figure; save under another name."
        )
    wide = None if width is None else _millimetres(width)
    sentence = caption or caption_of(figure)
    if hasattr(figure, "savefig"):
        data = _figure_bytes(figure, ending, wide, dpi)
    else:
        svg, wide, high = _picture_of(figure).on_paper(wide)
        if ending == ".svg":
            data = svg.encode("utf-8")
        else:
            data = _printed(svg, ending, wide, high, dpi, sentence)
    write_file(path, data)
    write_file(beside, sentence + "\n")
    return path


def caption_of(figure) -> str:
    """The sentence that says what a figure, picture or view shows, computed from what is drawn in it.

    Raises
    ------
    ValueError
        If a matplotlib figure holds no curve; pass a caption of your own then.
    """
    if not hasattr(figure, "savefig"):
        return _picture_of(figure).beneath
    said = []
    for axes in figure.axes:
        curves = {
            str(line.get_label()): line.get_ydata()
            for line in axes.lines
            if not str(line.get_label()).startswith("_") and len(line.get_ydata())
        }
        name = ", ".join(part for part in (axes.get_title(loc="left"), axes.get_ylabel()) if part)
        if curves:
            said.append(describe_layers(curves, ylabel=name or "value"))
    if not said:
        raise ValueError(
            'this figure holds no curve that could be put into words; say what it shows: save_figure(..., caption="...").'
        )
    return " ".join(said)


# --- the two ways -----------------------------------------------------------------------------------------------------
def _figure_bytes(figure, ending: str, wide: float | None, dpi: int) -> bytes:
    import matplotlib

    metadata = {
        ".svg": {"Date": None, "Creator": "bertlook_teach"},
        ".pdf": {
            "CreationDate": None,
            "ModDate": None,
            "Creator": "bertlook_teach",
            "Producer": "matplotlib",
        },
        ".png": {"Software": "bertlook_teach"},
    }[ending]
    file, before = BytesIO(), tuple(figure.get_size_inches())
    try:
        if wide is not None:
            figure.set_size_inches(wide / 25.4, wide / 25.4 * before[1] / before[0])
        with matplotlib.rc_context(FIGURE_STYLE):
            figure.savefig(file, format=ending[1:], metadata=metadata, dpi=dpi)
    finally:
        figure.set_size_inches(*before)
    return file.getvalue()


def _printed(svg: str, ending: str, wide: float, high: float, dpi: int, sentence: str) -> bytes:
    """A picture on a page of its own size, printed or photographed by a browser without a window."""
    chromium = find_chromium()
    if chromium is None:
        raise RuntimeError(
            f"to make a {ending[1:].upper()} of a picture a Chromium or Chrome is needed, and none was found. Install one, or name "
            "it in the variable BERTLOOK_CHROMIUM; or save as .svg, which needs nothing and which Inkscape and LaTeX's svg "
            "package turn into PDF."
        )
    box = f"width:{wide}mm;height:{high}mm"
    page = (
        f'<!doctype html><html lang="en"><meta charset="utf-8"><title>{escape(sentence)}</title>'
        f"<style>@page{{size:{wide}mm {high}mm;margin:0}}html,body{{margin:0;overflow:hidden}}svg{{display:block;{box}}}</style>"
        f"{svg}</html>"
    )
    with tempfile.TemporaryDirectory(prefix="bertlook-figure-") as folder:
        source, made = Path(folder) / "page.html", Path(folder) / f"made{ending}"
        source.write_text(page, encoding="utf-8")
        across, down = (math.ceil(size / 25.4 * 96) for size in (wide, high))
        if ending == ".pdf":
            how = [f"--print-to-pdf={made}", "--no-pdf-header-footer"]
        else:
            how = [
                f"--screenshot={made}",
                f"--window-size={max(across, 500)},{down + _FRAME}",
                f"--force-device-scale-factor={dpi / 96}",
                "--hide-scrollbars",
            ]
        quiet = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking"]
        command = [str(chromium), *quiet, f"--user-data-dir={folder}/profile", *how, source.as_uri()]
        try:
            done = subprocess.run(command, capture_output=True, timeout=_SECONDS, check=False)
        except subprocess.TimeoutExpired:
            raise RuntimeError(
                f"{chromium} did not finish in {_SECONDS} s. Save as .svg, or try once more."
            ) from None
        if not made.is_file():
            said = done.stderr.decode("utf-8", "replace").strip().splitlines()
            raise RuntimeError(
                f"{chromium} made no {ending[1:].upper()} ({said[-1] if said else 'it said nothing'}). Save as .svg, or name another "
                "Chromium in the variable BERTLOOK_CHROMIUM."
            )
        data = made.read_bytes()
    return _undated(data) if ending == ".pdf" else _cut(data, wide, high, dpi)


def _undated(pdf: bytes) -> bytes:
    """A PDF whose dates are all the same; no place in the file moves."""
    return re.sub(rb"(/(?:CreationDate|ModDate) \()D:[^)]{21}(\))", rb"\g<1>" + _NO_DATE + rb"\g<2>", pdf)


def _cut(png: bytes, wide: float, high: float, dpi: int) -> bytes:
    """The photograph without the rest of the window; it knows its size on paper."""
    from matplotlib import image

    across, down = (max(1, round(size / 25.4 * dpi)) for size in (wide, high))
    file = BytesIO()
    about = {"metadata": {"Software": "bertlook_teach"}, "pil_kwargs": {"compress_level": 9}}
    image.imsave(file, image.imread(BytesIO(png))[:down, :across, :3], format="png", dpi=dpi, **about)
    return file.getvalue()


# --- sizes ------------------------------------------------------------------------------------------------------------
def _picture_of(figure) -> Picture:
    """A picture, or the one of a view as it stands; of a box of views, that of one head or of its only view."""
    if isinstance(figure, Picture):
        return figure
    inside = {name: one for name, one in getattr(figure, "__dict__", {}).items() if _is_view(one)}
    only = next(iter(inside.values())) if len(inside) == 1 else figure
    view = figure if _is_view(figure) else inside.get("head_view", only)
    picture = view.picture() if _is_view(view) else None
    if not isinstance(picture, Picture):
        which = f" Of this one give {' or '.join(f'.{name}' for name in inside)}." if inside else ""
        raise TypeError(
            f"save_figure takes a matplotlib figure, a Picture, or a view with picture(); got {type(figure).__name__}.{which}"
        )
    return picture


def _is_view(one) -> bool:
    return callable(getattr(one, "picture", None))


def _millimetres(width: str) -> float:
    found = _WIDTH.fullmatch(str(width).strip())
    if not found or float(found[1]) <= 0:
        raise ValueError(
            f'a width is a number with its unit, such as "85mm", "8.5cm", "3.3in", "240pt"; got {width!r}.'
        )
    return float(found[1]) * _MILLIMETRES[found[2]]
