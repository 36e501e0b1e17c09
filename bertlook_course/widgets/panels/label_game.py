"""Label maps by eye, and see how far you, a partner and the rule agree; move the rule's thresholds and see the maps move."""

from __future__ import annotations

import csv
import hashlib
import io
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import anywidget
import numpy as np
import traitlets

from bertlook_teach.disk import write_file
from bertlook_teach.measures import (
    CLASSES,
    DEFAULT_THRESHOLDS,
    MapScores,
    Thresholds,
    class_codes,
    stack_scores,
)
from bertlook_teach.model import head_label
from bertlook_teach.views import mime_bundle, style_source

from ...analyses.anatomy import sample_maps
from ...metrics import FEWEST_FOR_INTERVAL, Agreement, agree
from ...render import TextTable, describe_map, render_map
from ...storage import csv_rows
from ..assets import module_source, view_style

NO_LABEL = "not answered yet"

MOST_MAPS = 100_000  # of a table that is pasted


class LabelGame(anywidget.AnyWidget):
    """Say of each map which of five kinds it is; the rule's answer stays hidden until you ask for the result.

    Keys 1 to 5 label the map in view and go on to the next without a label, ``u`` takes the last label back, the arrow keys
    turn pages. Nothing is saved unless a file is named.

    Parameters
    ----------
    attentions : sequence of Attention
        The texts. Short ones (up to about 40 tokens) are easiest to see.
    n : int
        How many maps; each head and each text comes equally often, as far as ``n`` allows. See `sample_maps`.
    seed : int
        The same seed gives the same maps in the same order, so that two people can compare.
    size, font_size : float
        Of the picture, in pixels.

    Attributes
    ----------
    maps : list of (text, layer, head)
        What is labelled, in order; layer and head count from 0.
    labels : list of str or None
        Yours.
    rule : list of str
        The rule's.
    """

    _esm = module_source("label_game")
    _css = style_source() + view_style("label_game")
    _ipython_display_ = None  # ipywidgets 7 would leave out the picture for saved pages

    names = traitlets.List(traitlets.Unicode(), list(CLASSES)).tag(sync=True)
    picture = traitlets.Unicode("").tag(sync=True)
    words = traitlets.Unicode("").tag(sync=True)
    status = traitlets.Unicode("").tag(sync=True)
    message = traitlets.Unicode("").tag(sync=True)
    code = traitlets.Unicode("").tag(sync=True)
    result = traitlets.Unicode("").tag(sync=True)
    chosen = traitlets.Int(-1).tag(sync=True)

    def __init__(
        self,
        attentions: Sequence,
        *,
        n: int = 100,
        seed: int = 0,
        size: float = 330,
        font_size: float = 24,
    ):
        self.attentions = list(attentions)
        scores = stack_scores(self.attentions)  # refuses no text, and models of different shape
        self.maps = sample_maps(*scores.shape, n=min(n, int(np.prod(scores.shape))), seed=seed)
        self.scores = scores
        self.size, self.font_size = size, font_size
        self.labels: list[str | None] = [None] * len(self.maps)
        self.partner: list[str | None] | None = None
        self.position = 0
        self._history: list[tuple[int, str | None]] = []
        digest = hashlib.sha256(repr(self.maps).encode())
        for attention in self.attentions:
            digest.update(repr(attention.tokens).encode())
        self.fingerprint = digest.hexdigest()[:6]
        super().__init__()
        self.on_msg(self._heard)
        self._draw()

    # --- what can be done -------------------------------------------------------------------------------

    @property
    def rule(self) -> list[str]:
        codes = class_codes(self.scores)
        return [CLASSES[codes[place]] for place in self.maps]

    @property
    def n_labelled(self) -> int:
        return sum(label is not None for label in self.labels)

    def label(self, name: str | int) -> None:
        """Label the map in view, by name or by number from 0, and go on.

        Raises
        ------
        ValueError
            If there is no such class.
        """
        if isinstance(name, (int, np.integer)) and 0 <= name < len(CLASSES):
            name = CLASSES[name]
        if name not in CLASSES:
            raise ValueError(f"a label is one of {', '.join(CLASSES)}; got {name!r}.")
        self._history.append((self.position, self.labels[self.position]))
        self.labels[self.position] = name
        after = [*range(self.position + 1, len(self.maps)), *range(self.position)]
        self.position = next((i for i in after if self.labels[i] is None), self.position)
        done = self.n_labelled == len(self.maps)
        self.result = ""
        self._draw(f"All {len(self.maps)} maps have a label. See the result." if done else "")

    def undo(self) -> None:
        """Take the last label back and show its map again."""
        if not self._history:
            self._draw("There is no label to take back.")
            return
        self.position, before = self._history.pop()
        self.labels[self.position] = before
        self.result = ""
        self._draw()

    def turn(self, step: int) -> None:
        """Go to another map without labelling this one; the first follows the last."""
        self.position = (self.position + step) % len(self.maps)
        self.result = ""
        self._draw()

    def with_rule(self) -> Agreement | None:
        """Your labels against the rule's, over the maps labelled so far; None without any."""
        return agree(self.labels, self.rule, CLASSES) if self.n_labelled else None

    def with_partner(self) -> Agreement | None:
        """Your labels against a partner's, over the maps that both labelled; None without any."""
        shared = [a is not None and b is not None for a, b in zip(self.labels, self.partner or [])]
        return agree(self.labels, self.partner, CLASSES) if any(shared) else None

    def read_partner(self, given: str) -> None:
        """Take a partner's labels: the short code their game shows, or the text of the CSV it saved.

        Raises
        ------
        ValueError
            If it is neither, or comes from a game with other maps.
        """
        given = given.strip()
        if not given:
            raise ValueError("paste your partner's code, or the text of the CSV file.")
        self.partner = self._from_csv(given) if "," in given.splitlines()[0] else self._from_code(given)
        self._draw()

    def save(self, path: str | Path) -> Path:
        """Write the labels as a CSV file: map, text, head as printed, label, rule.

        Raises
        ------
        ValueError
            If no file is named, or nothing is labelled yet.
        FileExistsError
            If there is such a file.
        """
        if not str(path).strip():
            raise ValueError("name a file to save the labels in, for example labels.csv.")
        if not self.n_labelled:
            raise ValueError(f"{NO_LABEL}: there is no label to save.")
        path = Path(str(path).strip()).expanduser()
        if path.exists():
            raise FileExistsError(f"there is a file {path} already; choose another name.")
        return write_file(path, self.to_csv())

    def to_csv(self) -> str:
        """What `save` writes."""
        file = io.StringIO()
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["game", "map", "text", "head", "label", "rule"])
        for i, ((text, layer, head), label, rule) in enumerate(zip(self.maps, self.labels, self.rule), 1):
            writer.writerow([self.fingerprint, i, text, head_label(layer, head), label or "", rule])
        return file.getvalue()

    def show_result(self) -> None:
        """Put the result in place of the map, or the map back."""
        self.result = "" if self.result else self.result_page()
        self._draw()

    def result_page(self) -> str:
        """Agreement with the rule and, if there is one, with a partner, as HTML."""
        parts = []
        for who, other, compared in (
            ("the rule", "rule", self.with_rule()),
            ("your partner", "partner", self.with_partner()),
        ):
            if compared is None:
                if other == "rule":
                    parts.append(f"<p>{NO_LABEL.capitalize()}: label a map first.</p>")
                elif self.partner is not None:
                    parts.append("<p>No map has a label from both of you.</p>")
                continue
            parts.append(agreement_page(compared, who, other))
        return f'<div class="bl-game-result">{"".join(parts)}</div>'

    # --- state ------------------------------------------------------------------------------------------

    def _draw(self, message: str = "") -> None:
        text, layer, head = self.maps[self.position]
        attention = self.attentions[text]
        name = f"Map {self.position + 1} of {len(self.maps)}"
        two = len(set(attention.segment_ids)) > 1
        with self.hold_sync():
            self._drawn = render_map(
                attention.weights[layer, head],
                attention.tokens,
                segment_ids=attention.segment_ids,
                special=attention.special,
                title=name,
                sentence=f"{attention.n_tokens} tokens, {'two texts' if two else 'one text'}.",
                size=self.size,
                font_size=self.font_size,
            )
            self.picture = self._drawn.svg
            self.words = describe_map(attention.weights[layer, head], attention.tokens, attention.segment_ids)
            done = f"{self.n_labelled} labelled" if self.n_labelled else NO_LABEL
            self.status = f"{name}, {done}"
            label = self.labels[self.position]
            self.chosen = -1 if label is None else CLASSES.index(label)
            self.code = self._code()
            self.message = message

    def _code(self) -> str:
        digits = "".join("0" if label is None else str(CLASSES.index(label) + 1) for label in self.labels)
        return f"{self.fingerprint}-{digits}"

    def _from_code(self, given: str) -> list[str | None]:
        game, _, digits = given.partition("-")
        if not digits or set(digits) - set("012345"):
            raise ValueError(
                f"a code is six letters and digits, a hyphen, and one digit from 0 to 5 a map; got {given[:40]!r}."
            )
        self._same_game(game, len(digits))
        return [None if digit == "0" else CLASSES[int(digit) - 1] for digit in digits]

    def _from_csv(self, given: str) -> list[str | None]:
        rows = csv_rows(given, ["game", "map", "label"], MOST_MAPS)
        if not rows or not {"game", "map", "label"} <= set(rows[0]):
            raise ValueError(
                f"the CSV needs the columns game, map and label, as the game saves them; got {given.splitlines()[0][:60]!r}."
            )
        self._same_game(rows[0]["game"], len(rows))
        labels: list[str | None] = [None] * len(self.maps)
        for line, row in enumerate(rows, 2):
            label, number = row["label"].strip(), row["map"]
            if not number.isdecimal() or not 1 <= int(number) <= len(self.maps):
                raise ValueError(
                    f"line {line} of the CSV: map {number!r} is not one of 1 to {len(self.maps)}."
                )
            if label and label not in CLASSES:
                raise ValueError(f"line {line} of the CSV: {label!r} is not one of {', '.join(CLASSES)}.")
            labels[int(number) - 1] = label or None
        return labels

    def _same_game(self, game: str, n: int) -> None:
        if game.strip() != self.fingerprint or n != len(self.maps):
            raise ValueError(
                f"these labels are of another game ({game.strip()[:12]!r}, {n} maps; this one is {self.fingerprint!r}, "
                f"{len(self.maps)} maps). Both need the same model, texts, number of maps and seed."
            )

    def _heard(self, _, content: dict, buffers) -> None:
        """What the page reports; whatever goes wrong is said there."""
        kind, value = content.get("kind"), content.get("value")
        try:
            if kind == "label":
                self.label(int(value))
            elif kind == "undo":
                self.undo()
            elif kind == "turn":
                self.turn(int(value))
            elif kind == "result":
                self.show_result()
            elif kind == "partner":
                self.read_partner(str(value))
                self.result = self.result_page()
            elif kind == "save":
                path = self.save(str(value))
                self.message = f"{self.n_labelled} labels saved in {path.name}."
        except (ValueError, OSError) as error:
            said = str(error) or type(error).__name__
            self.message = f"{said[0].upper()}{said[1:]}"

    def _repr_mimebundle_(self, **kwargs):
        return mime_bundle(self, [replace(self._drawn, caption=f"{self.status}. {self.words}")])

    def __repr__(self) -> str:
        done = f"{self.n_labelled} labelled" if self.n_labelled else NO_LABEL
        return f"LabelGame({len(self.maps)} maps of {len(self.attentions)} texts, {done})"


def agreement_page(compared: Agreement, who: str, column: str) -> str:
    """One comparison as HTML: how many, three measures with intervals, and the confusion matrix."""
    same = int(np.trace(compared.confusion))
    short = ("vert.", "diag.", "v.+d.", "block", "heter.")
    table = TextTable(
        [f"you \\ {column}", *short],
        [[name, *map(str, row)] for name, row in zip(CLASSES, compared.confusion)],
    )
    said = (
        f"You and {who} agree on <b>{same} of {compared.n}</b> maps. Accuracy {compared.said('accuracy')}, "
        f"macro-F1 {compared.said('macro_f1')}, kappa {compared.said('kappa')}."
    )
    if compared.n < FEWEST_FOR_INTERVAL:
        said += f" Intervals need {FEWEST_FOR_INTERVAL} maps."
    return f"<p>{said}</p>{table._repr_html_()}"


def example_maps(
    scores: MapScores, thresholds: Thresholds = DEFAULT_THRESHOLDS, *, each: int = 3
) -> list[tuple[int, int, int]]:
    """Some maps of every class that occurs, from the faintest to the clearest of its kind: the faint ones move first."""
    codes = class_codes(scores, thresholds)
    v, d, b = (np.asarray(values) for values in (scores.vertical, scores.diagonal, scores.block))
    spread = np.where(np.asarray(scores.spread) >= thresholds.spread, b / thresholds.block, 0)
    clearness = {
        0: v,
        1: d,
        2: np.minimum(v, d),
        3: b,
        4: np.maximum.reduce([v / thresholds.vertical, d / thresholds.diagonal, spread]),
    }
    chosen = []
    for code, values in clearness.items():
        places = np.argwhere(codes == code)
        order = places[np.argsort(values[codes == code], kind="stable")]
        for position in sorted(
            {round(x) for x in np.linspace(0, len(order) - 1, each)} if len(order) else ()
        ):
            chosen.append(tuple(int(i) for i in order[position]))
    return chosen
