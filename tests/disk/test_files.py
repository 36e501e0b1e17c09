"""Files are written whole or not at all; tables are written as they are printed."""

import errno
import os
import signal
import stat
import subprocess
import sys
import threading

import pytest

from bertlook_course.storage import (
    align,
    claim_folder,
    filling,
    folders,
    release_folders,
    save_rows,
    with_interval,
    writable_folder,
    write_json,
)
from bertlook_teach.disk import files, replacing, write_file

FOR_LINUX = pytest.mark.skipif(sys.platform == "win32", reason="needs links and permissions of POSIX")


def test_a_file_is_replaced_whole_and_nothing_else_is_left(tmp_path):
    path = tmp_path / "deep" / "a.txt"
    assert write_file(path, "one\r\n") == path and path.read_bytes() == b"one\r\n"
    with replacing(path) as file:
        file.write("two")
        assert path.read_bytes() == b"one\r\n"  # the old one until the new one is whole
    assert path.read_text() == "two" and list(path.parent.iterdir()) == [path]


@pytest.mark.parametrize("stop", [ValueError, KeyboardInterrupt])
def test_after_an_error_the_old_file_stays(tmp_path, stop):
    path = write_file(tmp_path / "a.bin", b"old")
    with pytest.raises(stop), replacing(path, "wb") as file:
        file.write(b"half")
        raise stop
    assert path.read_bytes() == b"old" and list(tmp_path.iterdir()) == [path]


@FOR_LINUX
def test_a_link_is_replaced_and_not_followed(tmp_path):
    precious = write_file(tmp_path / "precious", "mine")
    link = tmp_path / "link"
    link.symlink_to(precious)
    write_file(link, "new")
    assert precious.read_text() == "mine" and link.read_text() == "new" and not link.is_symlink()


@FOR_LINUX
def test_permissions_are_those_of_the_old_file_or_of_any_new_one(tmp_path):
    before = os.umask(0o022)
    try:
        path = write_file(tmp_path / "a", "x")
        assert stat.S_IMODE(path.stat().st_mode) == 0o644
        path.chmod(0o600)
        write_file(path, "y")
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
    finally:
        os.umask(before)


def test_two_who_write_at_once_do_not_mix(tmp_path):
    path, both = tmp_path / "a", threading.Barrier(2)

    def write(letter):
        with replacing(path) as file:
            both.wait(10)
            file.write(letter * 1000)
            both.wait(10)

    writers = [threading.Thread(target=write, args=(letter,)) for letter in "ab"]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join()
    assert path.read_text() in ("a" * 1000, "b" * 1000) and list(tmp_path.iterdir()) == [path]


@pytest.fixture
def released():
    yield
    release_folders()


@pytest.mark.usefixtures("released")
def test_a_second_run_in_one_folder_is_refused_until_the_first_has_ended(tmp_path):
    claim_folder(tmp_path / "out")
    with pytest.raises(OSError, match="another bertlook is writing into .*out.*choose another folder"):
        claim_folder(tmp_path / "out")
    release_folders()
    assert claim_folder(tmp_path / "out").is_dir()
    release_folders()
    assert not list(tmp_path.iterdir())  # nothing is left of it


@pytest.mark.usefixtures("released")
def test_the_lock_ends_with_its_process_however_that_ends(tmp_path):
    script = "import sys; from bertlook_course.storage import claim_folder; claim_folder(sys.argv[1]); print('mine', flush=True); input()"
    holder = subprocess.Popen(
        [sys.executable, "-c", script, tmp_path], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    with holder:
        assert holder.stdout.readline().strip() == b"mine"
        with pytest.raises(OSError, match="another bertlook"):
            claim_folder(tmp_path)
        holder.send_signal(getattr(signal, "SIGKILL", signal.SIGTERM))
        holder.wait()
    claim_folder(tmp_path)


@pytest.mark.usefixtures("released")
def test_what_a_killed_run_left_half_written_is_swept_away_by_the_next(tmp_path):
    for name in (".profile.csv-0123456789abcdef.part", ".0123456789abcdef.part/model", ".mine.part", "a.csv"):
        write_file(tmp_path / name, "x")
    claim_folder(tmp_path)
    assert {path.name for path in tmp_path.iterdir()} == {".bertlook-run", ".mine.part", "a.csv"}


@FOR_LINUX
@pytest.mark.usefixtures("released")
def test_a_link_in_the_place_of_the_lock_is_not_followed(tmp_path):
    precious = write_file(tmp_path / "precious", "mine")
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / ".bertlook-run").symlink_to(precious)
    with pytest.raises(OSError, match="cannot write .*bertlook-run"):
        claim_folder(tmp_path / "out")
    assert precious.read_text() == "mine"


@pytest.mark.usefixtures("released")
def test_a_file_system_without_locks_goes_without(tmp_path, monkeypatch):
    def none(file):
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr(folders, "_lock", none)
    assert claim_folder(tmp_path) == tmp_path


# --- a full disk ------------------------------------------------------------------------------------------------
class _Full:
    """A file on a disk that is full after so many bytes."""

    def __init__(self, file, room):
        self._file, self._room = file, room

    def write(self, content):
        if len(content) > self._room:
            self._file.write(content[: self._room])
            raise OSError(errno.ENOSPC, "No space left on device")
        self._room -= len(content)
        return self._file.write(content)

    def __getattr__(self, name):
        return getattr(self._file, name)

    def __enter__(self):
        self._file.__enter__()
        return self

    def __exit__(self, *error):
        return self._file.__exit__(*error)


@pytest.fixture
def full(monkeypatch):
    """``full(room)``: from now on every file has so much room."""
    return lambda room: monkeypatch.setattr(
        files, "open", lambda *a, **o: _Full(open(*a, **o), room), raising=False
    )


@pytest.mark.parametrize(
    "write", [lambda at: write_file(at, "new" * 99), lambda at: write_json(at, list(range(999)))]
)
def test_a_full_disk_leaves_the_old_file_and_nothing_beside_it(tmp_path, full, write):
    path = write_file(tmp_path / "a", "old")
    full(10)
    with pytest.raises(OSError, match=r"cannot write .*a \(No space left on device\); make room"):
        write(path)
    assert path.read_text() == "old" and list(tmp_path.iterdir()) == [path]


def test_a_full_disk_leaves_the_files_of_one_result_together(tmp_path, full):
    """CSV and JSON are of one run or of the one before, never one of each."""
    save_rows(tmp_path, "t", [{"a": 1}], {"run": "old"})
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    full(30)  # enough for the table, not for what it is about
    with pytest.raises(OSError, match="No space left"):
        save_rows(tmp_path, "t", [{"a": 2}], {"run": "new" * 99})
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before


class SafetensorError(Exception):
    """As safetensors raises it."""


SafetensorError.__module__ = "safetensors_rust"


@pytest.mark.parametrize(
    "error",
    [SafetensorError("I/O error: File too large (os error 27)"), OSError(errno.ENOSPC, "No space left")],
)
def test_a_folder_is_filled_whole_or_not_at_all(tmp_path, error):
    write_file(tmp_path / "out" / "a", "old")
    with (
        pytest.raises(OSError, match=r"cannot write .*out \(.*(large.*raise that limit|space.*make room)"),
        filling(tmp_path / "out") as part,
    ):
        write_file(part / "a", "new")
        raise error
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["a"]
    with filling(tmp_path / "out") as part:
        write_file(part / "a", "new")
        write_file(part / "b", "new")
        assert (tmp_path / "out" / "a").read_text() == "old"
    assert {path.name: path.read_text() for path in (tmp_path / "out").iterdir()} == {"a": "new", "b": "new"}


def test_what_cannot_be_written_says_what_to_do(tmp_path):
    write_file(tmp_path / "file", "in the way")
    advice = r"cannot write .* \(.+\); choose a folder of your own, for example in "
    for write in (
        lambda: writable_folder(tmp_path / "file" / "out"),
        lambda: write_file(tmp_path / "file" / "out", "x"),
        lambda: write_file(tmp_path, "a folder, not a file"),
        lambda: save_rows(tmp_path / "file", "name", [{"a": 1}], {}),
    ):
        with pytest.raises(OSError, match=advice):
            write()
    assert [p.name for p in tmp_path.iterdir()] == ["file"]


def test_an_error_about_another_file_is_left_as_it_is(tmp_path):
    with pytest.raises(FileNotFoundError, match="No such file") as raised, replacing(tmp_path / "a") as file:
        file.write((tmp_path / "nowhere").read_text())
    assert raised.value.filename == str(tmp_path / "nowhere") and not list(tmp_path.iterdir())


def test_a_table_on_the_screen_and_in_files(tmp_path):
    assert align([["head", "n"], ["1-2", None], ["1-10", 7]]) == "head  n\n1-2\n1-10  7"
    assert with_interval(-0.0123, -0.02, 0.01, digits=2, sign="+") == "-1.23 [-2.00, +1.00]"
    said = save_rows(tmp_path, "t", [{"a": 1 / 3, "b": None, "c": ("x", "y")}], {"n": 1})
    assert (tmp_path / "t.csv").read_text() == "a,b,c\n0.333333,,x / y\n"
    assert '"b": null' in (tmp_path / "t.json").read_text() and str(tmp_path / "t.csv") in said


def test_a_folder_in_the_place_of_one_file_leaves_every_file_of_the_result_as_it_was(tmp_path):
    save_rows(tmp_path, "t", [{"a": 1}], {"run": "old"})
    before = (tmp_path / "t.csv").read_bytes()
    (tmp_path / "t.json").unlink()
    (tmp_path / "t.json").mkdir()
    with pytest.raises(
        OSError, match=r"cannot write .*t\.json \(a folder of this name is in the way\); choose"
    ):
        save_rows(tmp_path, "t", [{"a": 2}], {"run": "new"})
    assert (tmp_path / "t.csv").read_bytes() == before
    assert sorted(path.name for path in tmp_path.iterdir()) == ["t.csv", "t.json"]


def test_all_files_of_a_result_are_on_the_disk_before_the_first_gets_its_name(tmp_path, monkeypatch):
    """A kill between two names would leave files of two runs, so nothing that takes time stands between them."""
    done = []
    for name in ("fsync", "replace"):
        own = getattr(os, name)
        monkeypatch.setattr(
            files.os, name, lambda *given, name=name, own=own: (done.append(name), own(*given))[1]
        )
    monkeypatch.setattr(files.shutil, "copymode", lambda *given: done.append("copymode"))
    for _ in range(2):
        done.clear()
        files.write_files({tmp_path / str(i): "x" for i in range(3)})
        assert done[-3:] == ["replace"] * 3 and done.count("fsync") == 3
