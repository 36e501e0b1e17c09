"""What an analysis reports, and how it does its work: here and silently in a notebook, with bars, resuming and workers on the command line."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import wraps
from itertools import islice
from pathlib import Path

from bertlook_teach import __version__
from bertlook_teach.disk import Table

from .printing import align, save_rows, with_interval


@dataclass(frozen=True, eq=False, repr=False)
class Report(Table):
    """The result of an analysis: printed it says what a reader wants to know, saved it holds every number.

    Every analysis has a function ``report(encoder, data, *, twin=None, ..., batch_size=8, work=IN_PLACE) -> Report``. The same names mean
    the same in all of them: ``twin`` is the random twin of ``encoder``, which gets the same chance as the model and is left out if None;
    ``batch_size`` is how many inputs are computed at once; ``work`` is how the work is done, see `Work`. Data that are read more than
    once may be a list, or anything that has a length and can be iterated over again and again.

    Attributes
    ----------
    text : str
        What is printed.
    tables : dict of name -> rows
        A row is a dict of plain values. ``save`` writes NAME.csv and NAME.json for each.
    about : dict
        The model, the data, the protocol.
    about_table : dict of name -> dict
        What differs in ``about`` for one of the tables.
    finished : bool
        False where a fit has not converged, so that its numbers may still change.
    interrupted : bool
        Whether Ctrl-C stopped it, so that it holds only the first part of the data.
    notes : list of str
        What has to be said beside the text, such as what was left out. The command line prints it as it does errors.
    """

    text: str
    tables: Mapping[str, Sequence[Mapping]]
    about: dict
    about_table: Mapping[str, Mapping] = field(default_factory=dict)
    finished: bool = True
    interrupted: bool = False
    notes: Sequence[str] = ()

    @property
    def rows(self) -> Sequence[Mapping]:
        """The rows of the first table."""
        return next(iter(self.tables.values()))

    def __repr__(self) -> str:
        return "\n".join([self.text, *self.notes])

    def save(self, folder: str | Path) -> str:
        """Write every table as CSV and as JSON, and say where they are.

        Raises
        ------
        OSError
            If the folder cannot be written to.
        """
        return "\n".join(
            save_rows(folder, name, rows, {**self.about, **self.about_table.get(name, {})})
            for name, rows in self.tables.items()
        )


class Work:
    """How a report does its work: in this process, silently, keeping nothing.

    The command line passes another one, which shows bars, keeps what is done so that a stopped run can be resumed, and can
    hand chunks to the workers of a Dask cluster. Numbers are the same.

    Parameters
    ----------
    out : path, optional
        The folder for what a report saves besides its tables, such as tuned models.

    Attributes
    ----------
    folder : Path or None
        For temporary files; None is the system's place for them.
    shows : bool
        Whether progress is shown, for what has a bar of its own.
    """

    folder: Path | None = None
    shows = False

    def __init__(self, out: str | Path | None = None):
        self.out = None if out is None else Path(out)

    def say(self, text: str) -> None:
        """What is being done now."""

    def bar(self, what: str | None = None, unit: str = "text", total: int | None = None) -> Callable:
        """A function that takes a stream and gives it back, showing how far it has been read."""
        return lambda stream: stream

    def chunks(
        self,
        job: Callable,
        model,
        items: Iterable,
        *,
        size: int,
        total: int | None = None,
        label: str | None = None,
        **options,
    ) -> Iterator:
        """The result of ``job(model, chunk, **options)`` for each chunk of ``size`` items, in the order of the items.

        Parameters
        ----------
        job : function of a module, so that a worker can import it
        model : an encoder, its twin, or what stands on one
        items : iterable
            Read as chunks are wanted.
        size : int
        total : int, optional
            Number of items, for a bar.
        label : str, optional
            Tells parts of the work apart (default: the model's name).
        """
        for chunk in cut(items, size):
            yield job(model, chunk, **options)

    def add_up(
        self, job: Callable, model, items: Iterable, sums, add: Callable, **how
    ) -> tuple[object, bool]:
        """The results of all chunks added up, for a corpus that is too large to keep the result of every chunk.

        Parameters
        ----------
        job, model, items
            As of `chunks`, which takes ``how``.
        sums
            Sums of nothing yet, as a value that `bertlook_course.storage.pack` takes.
        add : function of the sums and the result of a chunk
            Changes the sums.

        Returns
        -------
        sums
        complete : bool
            False where Ctrl-C stopped work that is kept: the sums are those of the chunks until then.
        """
        for found in self.chunks(job, model, items, **how):
            add(sums, found)
        return sums, True

    def kept(self, name: str, make: Callable, *, result: Path | None = None, **options):
        """What ``make`` gives, a plain value. Where work is kept, it is made once, with a path for what it wants to keep meanwhile.

        Parameters
        ----------
        name : str
        make : function of a path or None
        result : Path, optional
            What must exist for a kept value to count.
        options
            What decides the value, besides models and data.
        """
        return make(None)


IN_PLACE = Work()


def cut(items: Iterable, size: int) -> Iterator[list]:
    """Lists of so many items; the last may be shorter."""
    stream = iter(items)
    for item in stream:
        yield [item, *islice(stream, size - 1)]


def at_least(**bounds: int | tuple[int, str]) -> Callable:
    """Let a report refuse numbers that are too small: ``at_least(seeds=1)`` or ``at_least(limit=(2, "two texts, for intervals"))``.

    The command line reads the bounds from the attribute ``least``, so that it can refuse before anything is loaded.
    """

    def mark(report: Callable) -> Callable:
        @wraps(report)
        def checked(*given, **options):
            refuse_below(options, bounds)
            return report(*given, **options)

        checked.least = bounds
        return checked

    return mark


def refuse_below(options: Mapping, bounds: Mapping, name: Callable[[str], str] = str) -> None:
    """Refuse options below their least values; ``name`` makes an option's name in the message.

    Raises
    ------
    ValueError
        With option, least value and what was given.
    """
    for key, bound in bounds.items():
        number, what = bound if isinstance(bound, tuple) else (bound, str(bound))
        value = options.get(key)
        if value is not None and value < number:
            raise ValueError(f"{name(key)} must be at least {what}; got {value}.")


def trim_memory() -> None:
    """Give the system back what the C library keeps of freed arrays, where it can (glibc): of batches of many lengths that is most of what a long run holds."""
    with suppress(OSError, TypeError, AttributeError):  # another C library, another system
        ctypes.CDLL(None).malloc_trim(0)


def trimmed(items: Iterable) -> Iterator:
    """The items as they are; after each, `trim_memory`."""
    for item in items:
        yield item
        trim_memory()


def about(encoder, items: Mapping[str, object]) -> dict[str, object]:
    """What a result is about: the model, these items, the version."""
    return {"model": encoder.name, "fingerprint": encoder.fingerprint, **items, "version": __version__}


def attributes(row: object, names: str) -> dict[str, object]:
    """Attributes of a result as a row of a table; names in one string, blanks between them."""
    return {name: getattr(row, name) for name in names.split()}


def interval(key: str = "", *, value: str | None = None, **how) -> Callable[[Mapping], str]:
    """A cell of `tabulate`: a value and its interval, empty where there is none.

    ``interval("f1")`` reads the keys f1, f1_low and f1_high, ``interval(value="f1")`` f1, low and high. ``how`` goes to `with_interval`.
    """
    names = (value, "low", "high") if value else (key, f"{key}_low", f"{key}_high")

    def cell(row: Mapping) -> str:
        return "" if row[names[0]] is None else with_interval(*(row[name] for name in names), **how)

    return cell


def tabulate(rows: Iterable[Mapping], cells: Mapping[str, str | Callable[[Mapping], object]]) -> str:
    """Rows as a table of plain characters.

    Parameters
    ----------
    rows : iterable of dicts
    cells : dict of heading -> key of a row, a format of a row such as "{loss:.4f}", or a function of a row

    Examples
    --------
    >>> row = {"head": "1-2", "f1": 0.5, "low": 0.4, "high": 0.6, "p": 0.04}
    >>> print(tabulate([row], {"head": "head", "F1 [95 %]": interval(value="f1"), "p": "{p:.3f}"}))
    head  F1 [95 %]          p
    1-2   50.0 [40.0, 60.0]  0.040
    """

    def shown(row: Mapping, cell):
        if callable(cell):
            return cell(row)
        return cell.format_map(row) if "{" in cell else row[cell]

    return align([[*cells], *([shown(row, cell) for cell in cells.values()] for row in rows)])
