"""Chunks: the same total on any number of workers, after any kill; what is missing or another's is said."""

import os
import signal
import socket
import subprocess
import sys
import time
from argparse import Namespace
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from random import Random

import pytest
import tiny
from jobs import Here, killing_always, killing_once, odd, slow, twice

from bertlook_bench import chunks
from bertlook_bench import line as cli
from bertlook_bench.models import Model
from bertlook_course.analyses.anatomy import measure_chunk, reports
from bertlook_course.corpora import load_treebank
from bertlook_teach.disk import install_command
from bertlook_teach.model import load_encoder

TEXTS = [f"{'the cat sat on a mat. ' * (1 + i % 4)}a dog chased it." for i in range(24)]

# The command, killed by the system just before or after some file gets its name.
CHILD = """
import os, signal, sys
from bertlook_bench import chunks, line
from bertlook_course.analyses.anatomy import reports
reports.TEXTS, chunks.KEEP_EVERY, left = 2, 0.0, int(sys.argv[1])
replace = os.replace
def counted(source, target):
    global left
    left -= 1
    if left == 0:
        os.kill(os.getpid(), signal.SIGKILL)
    replace(source, target)
    if left == 1 and len(target.name) % 2:
        os.kill(os.getpid(), signal.SIGKILL)
os.replace = counted
raise SystemExit(line.main(sys.argv[2:]))
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("chunks")
    tiny.save_tiny_model(folder / "model")
    (folder / "texts.txt").write_text("\n".join(TEXTS) + "\n", encoding="utf-8")
    return folder


@pytest.fixture
def small(monkeypatch):
    monkeypatch.setattr(reports, "TEXTS", 2)


def words(folder, out, *more):
    given = ["profile", "--model", folder / "model", "--texts", folder / "texts.txt", "--out", out, *more]
    return [str(word) for word in given]


def result(out):
    return (out / "profile.csv").read_bytes(), (out / "profile.json").read_bytes()


@pytest.mark.skipif(os.name == "nt", reason="Windows has no SIGKILL")
def test_killed_by_the_system_again_and_again_it_ends_with_the_identical_table(folder, tmp_path, small):
    assert cli.main(words(folder, tmp_path / "whole", "--quiet")) == 0
    places, kills = Random(21), 0
    for _ in range(4):
        command = [sys.executable, "-c", CHILD, str(places.randint(3, 30))]
        command += words(folder, tmp_path / "a", "--quiet")
        path = os.pathsep.join([str(Path(chunks.__file__).parents[2]), *sys.path])
        done = subprocess.run(command, env={**os.environ, "PYTHONPATH": path}, check=False)
        assert done.returncode in (0, -signal.SIGKILL)
        kills += done.returncode != 0
    assert kills >= 2
    assert cli.main(words(folder, tmp_path / "a", "--quiet")) == 0
    assert result(tmp_path / "a") == result(tmp_path / "whole")
    assert not (tmp_path / "a" / "unfinished").exists()


def test_progress_counts_what_an_earlier_run_has_done(folder, tmp_path, small, capsys):
    args = Namespace(force=False, quiet=False, workers=None, scheduler=None)
    with chunks.Run(args, tmp_path, {"command": "a"}) as run:
        stream = run.results(twice, Here(), range(10), total=10, size=2)
        assert [next(stream), next(stream)] == [[0, 2], [4, 6]]
        stream.close()
    capsys.readouterr()
    with chunks.Run(args, tmp_path, {"command": "a"}) as run:
        assert [n for chunk in run.results(twice, Here(), range(10), total=10, size=2) for n in chunk] == [
            *range(0, 20, 2)
        ]
        said = capsys.readouterr().err
        assert "2 of 5 chunks are done by an earlier run" in said and "| 5/5 " in said
    with chunks.Run(args, tmp_path, {"command": "b"}):
        said = capsys.readouterr().err
        assert "command: 'a' there, 'b' now" in said and "--force" in said
    chunks.Run(Namespace(force=True), tmp_path, {"command": "b"})
    assert len(list((tmp_path / "unfinished").iterdir())) == 1


def test_an_error_counts_items_of_the_corpus(tmp_path, small):
    args = Namespace(force=False, quiet=True)
    with chunks.Run(args, tmp_path, {}) as run, pytest.raises(ValueError, match="^item 5 of the corpus: odd"):
        list(run.results(odd, Here(), [0, 2, 4, 6, 8, 9], size=2))


def test_a_full_disk_is_said_and_what_was_kept_stays(tmp_path, small, monkeypatch):
    args = Namespace(force=False, quiet=True)
    with chunks.Run(args, tmp_path, {}) as run:
        stream = run.results(twice, Here(), range(6), size=2)
        next(stream)

        def full(descriptor):
            raise OSError(28, "No space left on device")

        with monkeypatch.context() as patch:
            patch.setattr(os, "fsync", full)
            with pytest.raises(OSError, match="No space left on device.*choose a folder"):
                next(stream)
        assert [path.stem[-7:] for path in run.kept.glob("*.npz")] == ["0000000"]


def test_a_batch_pads_at_most_a_tenth(monkeypatch):
    encoder = load_encoder("specimen")
    lengths = []
    attend = type(encoder).attend

    def counted(encoder, ids, mask, *more, **options):
        lengths.append((ids.size, int(mask.sum())))
        return attend(encoder, ids, mask, *more, **options)

    monkeypatch.setattr(type(encoder), "attend", counted)
    texts = [" ".join(sentence.words) for sentence in load_treebank()[: reports.TEXTS]]
    measure_chunk(encoder, texts, skip=False, batch_size=8, segments="standard", truncate=True)
    places, read = map(sum, zip(*lengths))
    assert len(lengths) <= 1.2 * reports.TEXTS // 8 and (places - read) / places <= 0.10


def test_a_folder_without_files_is_no_corpus(tmp_path):
    from bertlook_bench.common import files_of

    with ExitStack() as stack, pytest.raises(ValueError, match="holds no file"):
        files_of([tmp_path], stack)


# --- Dask ----------------------------------------------------------------------------------------------
@contextmanager
def cluster_of(n_workers):
    """A scheduler of others with so many workers."""
    distributed = pytest.importorskip("distributed")
    options = {"threads_per_worker": 1, "dashboard_address": None, "memory_limit": 0}
    with chunks._own_main(), distributed.LocalCluster(n_workers=n_workers, **options) as cluster:
        yield cluster


def test_without_dask_it_says_what_to_install(folder, tmp_path, monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "distributed", None)
    assert cli.main(words(folder, tmp_path, "--workers", 2, "--quiet")) == 1
    assert install_command("scale") in capsys.readouterr().err


def test_what_workers_import_of_the_tests_imports_no_torch():
    told = "import sys, jobs; print('torch' in sys.modules)"
    path = str(Path(__file__).parents[1])
    done = subprocess.run([sys.executable, "-c", told], cwd=path, capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"


@pytest.mark.skipif(os.name == "nt", reason="Windows has no SIGKILL")
def test_the_total_is_the_same_on_1_2_and_4_workers_and_with_one_killed(folder, tmp_path, small, capsys):
    pytest.importorskip("distributed")
    assert cli.main(words(folder, tmp_path / "0", "--quiet")) == 0
    for workers in (1, 2, 4):
        out = tmp_path / str(workers)
        assert cli.main(words(folder, out, "--quiet", "--workers", workers)) == 0
        assert result(out)[0] == result(tmp_path / "0")[0]
    args = Namespace(force=False, quiet=True, workers=2, scheduler=None)
    with chunks.Run(args, tmp_path, {}) as run:
        found = run.results(killing_once, Here(), range(12), size=2, marker=str(tmp_path / "marker"))
        assert [n for chunk in found for n in chunk] == [*range(0, 24, 2)]
    assert (tmp_path / "marker").exists()


@pytest.mark.skipif(os.name == "nt", reason="Windows has no SIGKILL")
def test_a_chunk_that_ends_every_worker_stops_the_run_and_says_what_to_do(tmp_path, small):
    pytest.importorskip("distributed")
    args = Namespace(force=False, quiet=True, workers=2, scheduler=None)
    # Dask suspects every chunk that a lost worker held, so the one it names may be innocent.
    said = "(chunk [1-6], or one.* beside it, ended its worker several times|no worker is left).*--batch-size"
    with chunks.Run(args, tmp_path, {}) as run, pytest.raises(RuntimeError, match=said):
        list(run.results(killing_always, Here(), range(12), size=2))
    assert (run.kept / "run.json").exists()


def test_a_run_without_any_worker_ends_and_does_not_wait_for_ever(tmp_path, monkeypatch):
    """Seen once in a suite that hung: each worker had ended, none was started again, and a result was lost with the last."""
    monkeypatch.setattr(chunks, "PATIENCE", 0.05)
    monkeypatch.setattr(chunks, "WORKERLESS", 0.3)
    run = chunks.Run(Namespace(force=False, quiet=True, scheduler=None), tmp_path, {})
    asked = []

    def never(timeout):
        asked.append(timeout)
        raise TimeoutError

    monkeypatch.setattr(run, "_workers", list)
    with pytest.raises(RuntimeError, match="no worker is left.*--batch-size"):
        run._while_workers(never)
    assert len(asked) > 2
    answers = iter([TimeoutError, TimeoutError, "done"])

    def late(timeout):
        found = next(answers)
        if found is TimeoutError:
            raise found
        return found

    monkeypatch.setattr(run, "_workers", lambda: [{}])
    assert run._while_workers(late) == "done"


def test_a_scheduler_of_others_is_used_and_its_faults_are_said(folder, tmp_path, small, capsys, monkeypatch):
    pytest.importorskip("distributed")
    monkeypatch.setattr(chunks, "PATIENCE", 1.0)
    assert cli.main(words(folder, tmp_path / "a", "--quiet", "--scheduler", "tcp://127.0.0.1:9")) == 1
    assert "there is no Dask scheduler at tcp://127.0.0.1:9" in capsys.readouterr().err
    with cluster_of(0) as cluster:
        address = cluster.scheduler_address
        assert cli.main(words(folder, tmp_path / "a", "--quiet", "--scheduler", address)) == 1
        assert f"has no worker; start one there: dask worker {address}" in capsys.readouterr().err
        cluster.scale(1)
        monkeypatch.setattr(chunks, "PATIENCE", 60.0)
        model = Model(str(tmp_path / "nowhere"), "cpu", "encoder", "0")
        args = Namespace(force=False, quiet=True, scheduler=address)
        with (
            chunks.Run(args, tmp_path, {}) as run,
            pytest.raises(RuntimeError, match="cannot load the model"),
        ):
            list(run.results(twice, model, range(3), size=2))
        assert cli.main(words(folder, tmp_path / "a", "--quiet", "--scheduler", address)) == 0
    assert cli.main(words(folder, tmp_path / "b", "--quiet")) == 0
    assert result(tmp_path / "a") == result(tmp_path / "b")


@pytest.mark.parametrize(
    ("says", "said"),
    [
        (None, "no answer within 1 seconds"),
        (b"HTTP/1.1 400 Bad Request\r\n\r\n" + b"x" * 500, "the server there is not a Dask scheduler"),
        (b"SSH-2.0-OpenSSH_9\r\n", "the server there is not a Dask scheduler"),
        (bytes(400), "the server there is not a Dask scheduler"),
    ],
)
def test_another_server_at_the_address_of_a_scheduler_is_said(
    says, said, folder, tmp_path, capsys, monkeypatch
):
    """One that says nothing was waited for without end, a web server's words were taken for a length of exabytes."""
    pytest.importorskip("distributed")
    monkeypatch.setattr(chunks, "PATIENCE", 1.0)
    with socket.create_server(("127.0.0.1", 0)) as server, ThreadPoolExecutor() as pool:

        def answer():
            with ExitStack() as held, suppress(OSError):
                while True:
                    there, _ = server.accept()
                    held.enter_context(there)
                    if says is not None:
                        there.sendall(says)
                        there.shutdown(socket.SHUT_RDWR)

        pool.submit(answer)
        address, start = f"tcp://127.0.0.1:{server.getsockname()[1]}", time.monotonic()
        code = cli.main(words(folder, tmp_path / "a", "--quiet", "--scheduler", address))
        server.shutdown(socket.SHUT_RDWR)
    errors = capsys.readouterr().err
    assert code == 1 and f"there is no Dask scheduler at {address} ({said})" in errors, errors
    assert "Traceback" not in errors and time.monotonic() - start < 60


def test_that_no_worker_is_left_is_said(tmp_path, small, monkeypatch):
    said = []
    monkeypatch.setattr(chunks, "PATIENCE", 2.0)
    with cluster_of(1) as cluster:

        def ended(words, file):
            said.append(words)
            cluster.close()

        args = Namespace(force=False, quiet=True, scheduler=cluster.scheduler_address)
        with chunks.Run(args, tmp_path, {}) as run:
            stream = run.results(slow, Here(), range(80), size=2)
            next(stream)
            monkeypatch.setattr("builtins.print", ended)
            cluster.scale(0)
            with pytest.raises(OSError, match="scheduler was lost"):
                list(stream)
    assert said == ["no worker is left; the run waits until one is started."]


def test_a_scheduler_that_is_lost_in_the_middle_is_said(tmp_path, small):
    with cluster_of(1) as cluster:
        args = Namespace(force=False, quiet=True, scheduler=cluster.scheduler_address)
        with chunks.Run(args, tmp_path, {}) as run:
            stream = run.results(slow, Here(), range(40), size=2)
            assert next(stream) == [0, 1]
            cluster.close()
            with pytest.raises(OSError, match="scheduler was lost while chunk .* the same command continues"):
                list(stream)
        assert len(list(run.kept.glob("*.npz"))) >= 1


def test_workers_of_other_versions_or_with_another_model_are_refused():
    ours = {"python": "3.12.1", "distributed": "1", "bertlook_teach": "1", "numpy": "2", "tokenizers": "3"}
    for name, theirs in {"numpy": "1", "bertlook_teach": None, "python": "3.11.9"}.items():
        found = {"client": {"packages": ours}, "workers": {"tcp://b": {"packages": {**ours, name: theirs}}}}
        with pytest.raises(RuntimeError, match=f"worker tcp://b of tcp://a has {name}.*same versions"):
            chunks._same_versions(Namespace(get_versions=lambda packages, found=found: found), "tcp://a")
    with pytest.raises(RuntimeError, match="another model under the name specimen"):
        Model("specimen", "cpu", "encoder", "0").load()
