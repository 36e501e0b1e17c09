"""What commands read: each kind of data adds its options, and reads what they name."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from itertools import islice

from bertlook_course.storage import digest_of
from bertlook_teach.disk import data_path
from bertlook_teach.model import load_encoder

from .. import common


@dataclass(frozen=True)
class Given:
    """What a command was given.

    Attributes
    ----------
    items : tuple
        What the report takes after the encoder.
    about : dict
        What the result says of it.
    same : function -> dict
        What tells these data from others, for a run that is gone on with.
    model : optional
        Where the data say which model it is, or load it.
    kind : str
        Of that model, as in `Model`.
    lines : list of str
        What is to be said of the data below the table.
    """

    items: tuple
    about: dict = field(default_factory=dict)
    same: Callable[[], dict] = dict
    model: object = None
    kind: str = "encoder"
    lines: Sequence[str] = ()


class Corpus:
    """Sentences or texts of files, read anew each time and never held: as many as wanted, and what was left out.

    Parameters
    ----------
    read : function of a list, in which it names what cannot be read -> iterable
    limit : int or None
    """

    def __init__(self, read: Callable[[list], Iterable], limit: int | None = None):
        self._read, self._limit, self.broken = read, limit, []
        self.digest = digest_of(self._counted())

    def _counted(self) -> Iterator:
        self._n = 0
        for item in islice(self._read(self.broken), self._limit):
            self._n += 1
            yield item

    def __iter__(self) -> Iterator:
        return islice(self._read([]), self._limit)

    def __len__(self) -> int:
        return self._n


@dataclass(frozen=True)
class Data:
    """What a command reads. Each kind adds its options, and reads what they name.

    Attributes
    ----------
    least : dict of option -> least value, or that and what it means
        ``{"limit": (2, "two texts, for intervals")}``.
    """

    least: Mapping = field(default_factory=dict)

    def add_model(self, parser: ArgumentParser, recorded: bool) -> None:
        """``--model``, or what stands in its place."""
        common.add_model(parser, common.MODELS_TOO_RECORDED if recorded else common.MODELS)

    def add(self, parser: ArgumentParser) -> None:
        """The options that say where the data are."""

    def check(self, args: Namespace) -> None:
        """Refuse options that do not go together."""

    def read(self, args: Namespace, stack: ExitStack) -> Given:
        """Read what the options name."""
        raise NotImplementedError

    def load(self, args: Namespace, recorded: bool):
        """The model of ``--model``."""
        load = common.load_model if recorded else load_encoder
        return load(args.model, device=args.device)


class Treebank(Data):
    """The sentences of ``--data``, the shipped treebank by default."""

    def add(self, parser: ArgumentParser) -> None:
        common.add_treebank(parser)

    def read(self, args: Namespace, stack: ExitStack) -> Given:
        from bertlook_course.corpora import iter_conllu

        paths = common.files_of(args.data or [data_path("treebank", "treebank.conllu")], stack)

        def sentences(broken: list) -> Iterator:
            return (s for path in paths for s in iter_conllu(path, on_error=args.on_error, skipped=broken))

        corpus = Corpus(sentences, args.limit)
        common.say_skipped(corpus.broken)
        about = {"treebank": [path.name for path in paths], "broken": list(map(str, corpus.broken))}
        return Given((corpus,), about, lambda: {"corpus_sha256": corpus.digest})
