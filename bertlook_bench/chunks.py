"""A corpus in chunks: measured in this process, by processes of this computer, or by a Dask cluster; each finished chunk is kept.

One function measures a chunk wherever it runs. Results come back in the order of the corpus, so a total is the same sum in the same order
however many workers there were, and however often a run was stopped.
"""

from __future__ import annotations

import asyncio
import hashlib
import re
import sys
import threading
import time
from argparse import ArgumentParser, Namespace
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any

from bertlook_course.storage import Unfinished, cut, pack, unpack
from bertlook_teach.disk import install_command, write_file

from . import common
from .models import Model, measured

KEEP_EVERY = 60.0  # seconds until the sums of the chunks so far take their place on disk

AHEAD = 3  # chunks a worker has waiting

PATIENCE = 5.0  # seconds until a scheduler counts as not there

WORKERLESS = 20.0  # seconds without any worker of ours until a run ends; one is started again in two or three

SPAWN = "distributed.nanny.pre-spawn-environ"  # variables of the environment of Dask's processes


# --- options -------------------------------------------------------------------------------------------
def add_scale(parser: ArgumentParser) -> None:
    """``--workers``, ``--scheduler`` and ``--force``."""
    where = parser.add_mutually_exclusive_group()
    where.add_argument(
        "--workers",
        type=int,
        metavar="N",
        help="measure in N processes on this computer (needs the extra scale)",
    )
    where.add_argument(
        "--scheduler",
        metavar="ADDRESS",
        help="measure on the workers of this Dask scheduler, tcp://HOST:8786 (needs the extra scale)",
    )
    common.add_force(parser)


# --- where it runs -------------------------------------------------------------------------------------
@contextmanager
def _client(args: Namespace) -> Iterator:
    """A Dask client, or None where everything runs in this process.

    Raises
    ------
    ImportError, ValueError, OSError, RuntimeError
        If Dask is missing, the number of workers is none, or the scheduler is not there, has no workers or other versions.
    """
    workers, address = getattr(args, "workers", None), getattr(args, "scheduler", None)
    if workers is None and address is None:
        yield None
        return
    if workers is not None and workers < 1:
        raise ValueError(f"--workers must be at least 1; got {workers}.")
    try:
        import dask
        from distributed import Client, LocalCluster
    except ImportError:
        raise ImportError(
            f"--workers and --scheduler need Dask, which is not installed: {install_command('scale')}. "
            "Without these options the command runs as it is."
        ) from None
    import logging

    for name in ("distributed", "distributed.client"):  # what fails is said once, in our words
        logging.getLogger(name).setLevel(logging.CRITICAL)
    with ExitStack() as stack:
        if address is None:
            stack.enter_context(_own_main())
            # Dask has glibc give every freed array back to the system at once; measuring frees thousands, and that took half of the time.
            given = dask.config.get(SPAWN)
            kept = {name: value for name, value in given.items() if name != "MALLOC_TRIM_THRESHOLD_"}
            stack.enter_context(dask.config.set({SPAWN: kept}))
            cluster = stack.enter_context(
                LocalCluster(
                    n_workers=workers,
                    threads_per_worker=1,
                    dashboard_address=None,
                    memory_limit=0,
                    silence_logs=logging.CRITICAL,
                )
            )
            client = stack.enter_context(Client(cluster))
        else:
            _ask_who_is_there(address)
            client = stack.enter_context(Client(address, timeout=PATIENCE))
            try:
                client.wait_for_workers(1, timeout=PATIENCE)
            except OSError:  # a TimeoutError is one
                raise OSError(
                    f"the scheduler at {address} has no worker; start one there: dask worker {address}"
                ) from None
            _same_versions(client, address)
        yield client


def _ask_who_is_there(address: str) -> None:
    """Raise an error if no scheduler answers. Dask's client would wait for ever for a silent server, and read the answer of another one as a length."""
    from distributed import rpc

    async def ask() -> str:
        async with rpc(address) as there:
            return str((await there.identity()).get("type"))

    why = "the server there is not a Dask scheduler"
    try:
        found = asyncio.run(asyncio.wait_for(ask(), PATIENCE))
        if found == "Scheduler":
            return
        why = f"a {found.lower()} of Dask answers"
    except ValueError as error:
        raise ValueError(
            f"--scheduler is an address such as tcp://HOST:8786; got {address!r} ({error})."
        ) from None
    except OSError:
        why = f"no answer within {PATIENCE:g} seconds"
    except Exception:  # noqa: BLE001, S110 - what another server says can be taken for anything
        pass
    raise OSError(
        f"there is no Dask scheduler at {address} ({why}). Start one with `dask scheduler`, whose first lines give the address, "
        "or use --workers N on this computer."
    )


@contextmanager
def _own_main() -> Iterator[None]:
    """New processes import the main module of this one; it may be a notebook's, a test's or none, and is not needed."""
    main = sys.modules["__main__"]
    kept = {name: getattr(main, name) for name in ("__file__", "__spec__") if hasattr(main, name)}
    for name in kept:
        setattr(main, name, None)
    if "__file__" in kept:
        del main.__file__
    try:
        yield
    finally:
        for name, value in kept.items():
            setattr(main, name, value)


def _same_versions(client, address: str) -> None:
    """Refuse workers on which a number could come out otherwise.

    Raises
    ------
    RuntimeError
    """
    names = ("bertlook_teach", "numpy", "tokenizers")
    found = client.get_versions(packages=[*names])
    ours = found["client"]["packages"]
    for worker, theirs in found["workers"].items():
        for name in ("python", "distributed", *names):
            here, there = ours.get(name), theirs["packages"].get(name)
            if name == "python":
                here, there = (".".join(v.split(".")[:2]) for v in (here, there))
            if here != there:
                raise RuntimeError(
                    f"the worker {worker} of {address} has {name} {there or '(none)'}, this computer has {here}. Install the same versions on both: "
                    f"{install_command('scale')}."
                )


# --- a run ---------------------------------------------------------------------------------------------
class Run(Unfinished):
    """One command on one corpus, in chunks that are kept under a digest of all that decides their numbers.

    Parameters
    ----------
    args : Namespace
        With ``workers``, ``scheduler``, ``force`` and ``quiet``.
    folder : Path
        The folder of the result, claimed by this process.
    same : dict
        What decides the numbers: command, models, corpus, settings. Versions are added.
    """

    def __init__(self, args: Namespace, folder: Path, same: dict):
        super().__init__(folder, same, force=args.force)
        self._args = args
        self._failed = 0  # number of the chunk that is looked into
        self._stack = ExitStack()

    def __enter__(self):
        self._client = self._stack.enter_context(_client(self._args))
        if self._client:
            over = threading.Event()
            self._stack.callback(over.set)
            threading.Thread(target=self._watch, args=[over], daemon=True).start()
        return self

    def _workers(self) -> list[dict]:
        return list(self._client.scheduler_info(n_workers=-1)["workers"].values())

    def _watch(self, over: threading.Event) -> None:
        """Say it when no worker is left, since nothing goes on then."""
        with suppress(Exception):  # a scheduler that is lost is said by who waits for its chunk
            while not over.wait(PATIENCE):
                if not self._workers():
                    print("no worker is left; the run waits until one is started.", file=sys.stderr)
                    return

    def __exit__(self, *error) -> None:
        self._stack.__exit__(*error)

    def results(
        self,
        job: Callable,
        model: Model,
        items: Iterable,
        *,
        size: int,
        total: int | None = None,
        label: str = "",
        begin: int = 0,
        **options,
    ) -> Iterator:
        """Results of all chunks in the order of the corpus, those of an earlier run from disk.

        Parameters
        ----------
        job : function of a module: (model, items, **options) -> what `bertlook_course.storage.pack` takes
        model : Model
        items : iterable
            The corpus, read as chunks are handed out.
        size : int
            Items in a chunk. The same for any number of workers, or a run could not be gone on with by more of them.
        total : int, optional
            Number of items, for the bar.
        label : str
            Tells the parts of a run apart: the model, the measure.
        begin : int
            Chunks before this one are not wanted: the caller has what they add.
        """
        prefix = _prefix(label)

        def path(number: int) -> Path:
            return self.kept / f"{prefix}{number:07}.npz"

        there = {_number(path) for path in self.kept.glob(f"{prefix}*.npz")}
        there = {number for number in there if number >= begin and _whole(path(number))}
        count = None if total is None else -(-total // size)
        if there or begin:
            text = f"{begin + len(there)} of {count or '?'} chunks are done"
            print(f"going on{f' with {label}' if label else ''}: {text} by an earlier run.", file=sys.stderr)
        bar = common.bar(self._args, label or None, "chunk", count)(initial=begin + len(there))
        chunks = enumerate(cut(items, size))
        todo = ((number, chunk) for number, chunk in chunks if number >= begin)
        make = self._on_cluster if self._client else self._here
        waiting: dict[int, bytes | None] = {}
        wanted = begin
        try:
            for number, content in make(job, model, todo, there, options, waiting):
                if content is not None:
                    write_file(path(number), content)
                waiting[number], new = content, content is not None
                while wanted in waiting:
                    content = waiting.pop(wanted)
                    yield unpack(path(wanted).read_bytes() if content is None else content)
                    wanted += 1
                bar.update(new)
        except ValueError as error:  # of one item of one chunk
            raise ValueError(
                re.sub(
                    r"^item (\d+) of",
                    lambda found: f"item {int(found[1]) + self._failed * size} of",
                    str(error),
                )
            ) from None
        finally:
            bar.close()

    def added(
        self, job: Callable, model: Model, items: Iterable, sums, add: Callable, **how
    ) -> tuple[Any, bool]:
        """Results of all chunks added to sums, which take their place on disk every `KEEP_EVERY` seconds; and whether no Ctrl-C stopped it.

        Parameters
        ----------
        job, model, items
            As of `results`, which takes ``how``.
        sums
            Of nothing yet, as a value that `bertlook_course.storage.pack` takes.
        add : function of the sums and the result of a chunk
        """
        done = 0
        for path in sorted(self.kept.glob("*.sums"), reverse=True):
            with suppress(OSError, ValueError):
                sums, done = unpack(path.read_bytes()), _number(path)
                break
        last = time.monotonic()
        try:
            for found in self.results(job, model, items, begin=done, **how):
                add(sums, found)
                done += 1
                if time.monotonic() - last >= KEEP_EVERY:
                    self._replace_chunks(sums, done)
                    last = time.monotonic()
        except KeyboardInterrupt:
            return sums, False
        return sums, True

    def _replace_chunks(self, sums, done: int) -> None:
        """Write the sums of the first chunks, then take these away: a kill in between leaves both, and the sums count."""
        write_file(self.kept / f"{_prefix('')}{done:07}.sums", pack(sums))
        for path in self.kept.glob(f"{_prefix('')}*"):
            if _number(path) < done:
                path.unlink()

    def _here(self, job, model, todo, there, options, waiting) -> Iterator[tuple[int, bytes | None]]:
        for number, chunk in todo:
            self._failed = number
            yield number, None if number in there else measured(job, model, chunk, options)

    def _on_cluster(self, job, model, todo, there, options, waiting) -> Iterator[tuple[int, bytes | None]]:
        """As they are done; a bounded number of chunks is on the way or waits for one before it."""
        from distributed import CancelledError, KilledWorker

        threads = sum(worker["nthreads"] for worker in self._workers())
        most, numbers, running = AHEAD * max(threads, 1), {}, set()
        more = True
        while more or numbers:
            while more and len(numbers) + sum(c is not None for c in waiting.values()) < most:
                found = next(todo, None)
                if found is None:
                    more = False
                elif found[0] in there:
                    yield found[0], None
                else:
                    future = self._client.submit(measured, job, model, found[1], options, pure=False)
                    numbers[future.key] = found[0]
                    running.add(future)
            if not numbers:
                continue
            future = self._first_done(running)
            running.remove(future)
            number = self._failed = numbers.pop(future.key)
            try:
                content = self._while_workers(future.result)
            except KilledWorker:
                raise RuntimeError(
                    f"chunk {number + 1}, or one that waited beside it, ended its worker several times, most often because memory ran out. Take a "
                    "smaller --batch-size or fewer workers; the same command continues from here."
                ) from None
            except CancelledError:
                raise OSError(
                    f"the Dask scheduler was lost while chunk {number + 1} was measured. Start it again, with its workers; the same command "
                    "continues from here."
                ) from None
            yield number, content

    def _first_done(self, running: set):
        from distributed import CancelledError, wait

        try:
            found = self._while_workers(lambda timeout: wait(running, timeout, "FIRST_COMPLETED")).done
        except CancelledError:  # the scheduler was lost; what is asked of such a one says so
            found = (future for future in running if future.cancelled())
        return next(iter(found))

    def _while_workers(self, ask: Callable):
        """``ask(timeout=...)`` again and again until it answers. A result can be lost with its worker after it was said to be there, and where no
        worker of ours was started again, Dask would wait for one for ever; to another's scheduler workers may come later.
        """
        seen = time.monotonic()
        while True:
            try:
                return ask(timeout=PATIENCE)
            except TimeoutError:
                if self._args.scheduler or self._workers():
                    seen = time.monotonic()
                elif time.monotonic() - seen > WORKERLESS:
                    raise RuntimeError(
                        "no worker is left: they ended several times, most often because memory ran out. Take a smaller --batch-size or fewer workers; "
                        "the same command continues from here."
                    ) from None


def _prefix(label: str) -> str:
    """How the names of what is kept of one part of a run begin."""
    safe = "".join(c if c.isalnum() else "-" for c in label)[:40]
    return f"{safe}-{hashlib.sha256(label.encode()).hexdigest()[:8]}-"


def _number(path: Path) -> int:
    """Of a kept chunk its number; of kept sums how many chunks they are of."""
    return int(path.stem.rpartition("-")[2])


def _whole(path: Path) -> bool:
    """Whether a kept chunk can be read; a damaged one is measured again."""
    try:
        unpack(path.read_bytes())
    except (OSError, ValueError):
        return False
    return True
