"""What a class handed in: who counts, what is left out and said, what is never run, written or believed."""

import csv
import io
import json
import os
import socket
import struct
import subprocess
import sys
import time
import zipfile
from itertools import combinations

import numpy as np
import pytest

from bertlook_teach.checks import Sheet, lesson05
from bertlook_teach.classroom import (
    class_page,
    collect,
    gather,
    no_sockets,
    run_handed_in,
    shut_in,
    student_rows,
    walled,
)
from bertlook_teach.commands.line import main
from bertlook_teach.disk import csv_text
from bertlook_teach.measures import CLASSES
from bertlook_teach.stats import agree

NAMES = list(lesson05.sheet().answers)


def sheet(right=3, mistakes=None):
    statuses = {name: "right" if i < right else "not run" for i, name in enumerate(NAMES)}
    statuses |= dict.fromkeys(mistakes or {}, "wrong")
    return Sheet("05", statuses, mistakes=mistakes or {})


def cell(source, said=None):
    outputs = (
        []
        if said is None
        else [
            {
                "output_type": "execute_result",
                "data": {"text/plain": said},
                "metadata": {},
                "execution_count": 1,
            }
        ]
    )
    return {
        "cell_type": "code",
        "source": source,
        "outputs": outputs,
        "metadata": {},
        "execution_count": None,
        "id": "c" + str(abs(hash(source)) % 10**8),
    }


def notebook(*cells):
    return json.dumps({"cells": list(cells), "metadata": {}, "nbformat": 4, "nbformat_minor": 5})


FIRST = cell("from bertlook_teach.checks import lesson05 as check")


def test_sheets_and_saved_notebooks_are_counted_with_what_the_checks_named(tmp_path):
    (tmp_path / "ada_05.json").write_text(sheet(4, {"kappa": "that is accuracy"}).to_json())
    (tmp_path / "ben").mkdir()
    wrong = cell("check.check_kappa(kappa)", "Not right yet. that is accuracy")
    (tmp_path / "ben" / "mine.ipynb").write_text(
        notebook(FIRST, wrong, cell("check.check_turned('x')", "Right. Yes."))
    )
    found = gather(tmp_path)
    assert found.students == ["ada", "ben"] and not found.notes
    ben = found.hand_ins["ben", "05"]
    assert (ben.kind, ben.sheet.right, ben.sheet.answers["kappa"]) == ("notebook", 1, "wrong")
    page = class_page(found)
    assert "that is accuracy (2)" in page and page.index('"row">kappa') < page.index('"row">turned')
    rows = student_rows(found)
    assert len(rows) == 2 * len(NAMES) and {r["mistake"] for r in rows} == {"", "that is accuracy"}


def test_a_notebook_is_not_run_unasked(tmp_path):
    mark = tmp_path / "mark"
    (tmp_path / "eve.ipynb").write_text(
        notebook(FIRST, cell(f"open({str(mark)!r}, 'w'); check.check_kappa(1)", "Right. So."))
    )
    gather(tmp_path)
    assert not mark.exists()


@pytest.mark.parametrize(
    "name, content, said",
    [
        ("a.json", sheet().to_json().replace('"right": 3', '"right": 9'), "was changed after check.sheet wrote it"),
        ("a.json", "[" * 100_000, "is not JSON"),
        ("a.json", Sheet("05", {"one": "right"}).to_json(), "not those of lesson 05"),
        ("a.json", Sheet("99", {"one": "right"}).to_json(), "no lesson '99'"),
        ("a.json", Sheet("05", {"one": "great"}).to_json(), "not a sheet as check.sheet writes it"),
        ("a.ipynb", "{}", "no list of cells"),
        ("a.ipynb", "\0", "not JSON"),
        ("a.csv", "name,mark\nada,1\n", "not a table of the labelling game"),
        ("a.csv", "game,map,label\nabcdef,7,block\n", "map '7' is not one of 1 to 1"),
        ("a.zip", "PK", "left out"),
    ],
)  # fmt: skip
def test_what_is_not_a_hand_in_is_left_out_and_said(name, content, said, tmp_path):
    (tmp_path / name).write_text(content)
    with pytest.raises(ValueError, match="nothing in .* is a hand-in") as error:
        gather(tmp_path)
    assert said in str(error.value)
    (tmp_path / "ben.json").write_text(sheet().to_json())
    found = gather(tmp_path)
    assert found.students == ["ben"] and said in " ".join(found.notes)


def test_a_file_of_another_kind_is_left_out_and_said_and_so_is_how_many_there_are(tmp_path):
    for i in range(12):
        (tmp_path / f"ada_{i:02}.html").write_text("<p>my answers</p>")
    (tmp_path / ".hidden").write_text("not said")
    with pytest.raises(ValueError, match="nothing in .* is a hand-in") as error:
        gather(tmp_path)
    lines = str(error.value).splitlines()
    assert lines[1].startswith("  ada_00.html: left out, not a file of one of these kinds: .json .ipynb")
    assert len(lines) == 11 and lines[-1] == "  ... and 3 more" and "hidden" not in str(error.value)
    with zipfile.ZipFile(tmp_path / "ben.zip", "w") as archive:
        archive.writestr("ben.json", sheet().to_json())
        archive.writestr("ben.pdf", "%PDF")
    found = gather(tmp_path)
    assert len(found.notes) == 13 and found.notes[-1].startswith("ben.zip, ben.pdf: left out")


def test_a_sheet_made_by_hand_with_the_right_digest_counts_and_the_page_says_that_this_can_be(tmp_path):
    (tmp_path / "eve.json").write_text(sheet(len(NAMES)).to_json())
    assert "is not a signature" in class_page(found := gather(tmp_path))
    assert found.hand_ins["eve", "05"].sheet.right == len(NAMES)


def test_of_two_hand_ins_of_one_name_the_newer_sheet_counts_and_this_is_said(tmp_path):
    for i, right in enumerate((5, 2)):
        path = tmp_path / "ada" / f"{i}.json"
        path.parent.mkdir(exist_ok=True)
        path.write_text(sheet(right).to_json())
        os.utime(path, (1000 + i, 1000 + i))
    (tmp_path / "ada" / "05.ipynb").write_text(notebook(FIRST, cell("check.check_kappa(k)", "Right. So.")))
    found = gather(tmp_path)
    assert found.hand_ins["ada", "05"].sheet.right == 2
    assert (
        "ada/0.json: does not count, ada has ada/1.json for lesson 05" in found.notes
        and len(found.notes) == 2
    )


def test_a_zip_is_read_and_never_unpacked_whatever_its_names_say(tmp_path):
    path = tmp_path / "in" / "class.zip"
    path.parent.mkdir()
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("../../evil/x.json", sheet().to_json())
        archive.writestr("/rooted/y.json", sheet(2).to_json())
        archive.writestr("C:\\win\\..\\z.json", sheet(1).to_json())
    found = gather(path)
    assert found.students == ["C:", "evil", "rooted"]
    assert sorted(p.name for p in tmp_path.rglob("*")) == ["class.zip", "in"]
    assert gather(path.parent).students == found.students


def test_a_file_too_large_or_a_link_is_left_out(tmp_path, monkeypatch):
    monkeypatch.setattr(collect, "MOST_BYTES", 2000)
    (tmp_path / "ada.json").write_text(sheet().to_json())
    (tmp_path / "ben.json").write_text(" " * 3000)
    with zipfile.ZipFile(tmp_path / "bomb.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("x.json", " " * 10_000_000)
    (tmp_path / "eve.json").symlink_to(tmp_path / "ada.json")
    found = gather(tmp_path)
    assert found.students == ["ada"] and len(found.notes) == 3
    assert sum("larger than" in note for note in found.notes) == 2


def test_nothing_from_a_file_becomes_markup_or_a_formula(tmp_path):
    evil = "<img src=x onerror=alert(1)>"
    (tmp_path / f"=1+1{evil[:20]}.json").write_text(
        sheet(2, {"kappa": evil, "block": "=cmd|' /C calc'!A0"}).to_json()
    )
    (tmp_path / "<b>.json").write_text("{")
    page = class_page(found := gather(tmp_path))
    assert "<img" not in page and "<b>" not in page and "&lt;img" in page
    assert "default-src 'none'" in page
    table = list(csv.reader(io.StringIO(csv_text(student_rows(found)))))
    assert any("cmd" in cell for row in table for cell in row)
    assert not any(cell.startswith("=") for row in table for cell in row)


def test_the_game_is_gathered_from_codes_and_tables(tmp_path):
    (tmp_path / "ada.txt").write_text("my code: abc123-12345\nand an earlier one abc123-12000")
    (tmp_path / "ben.txt").write_text("abc123-12300")
    table = io.StringIO()
    writer = csv.writer(table)
    writer.writerow(["game", "map", "text", "head", "label", "rule"])
    kinds = list(CLASSES)
    for i, (label, rule) in enumerate(zip(["vertical", "block", "block", "", ""], kinds), 1):
        writer.writerow(["abc123", i, 0, "1-1", label, rule])
    (tmp_path / "eve.csv").write_text(table.getvalue())
    found = gather(tmp_path)
    (game,) = collect.games(found)
    assert (game.name, game.students, len(game.kappas)) == ("abc123", 3, 3)
    assert game.with_rule == [1.0, 1.0, pytest.approx(1 / 3)]
    assert [i for i, *_ in game.split[:2]] == [2, 3] and game.split[0][2] == "diagonal"
    assert "Maps on which the class is most divided" in class_page(found)


def test_the_kappas_of_a_class_are_those_of_each_two_students():
    draw = np.random.default_rng(0)
    found = collect.Gathered()
    for student in "abcdef":
        digits = draw.integers(0, 6, 12) if student != "f" else np.full(12, 2)
        found.labels[student, "abc123"] = collect.Labels(student, "abc123", bytes(digits.tolist()), (), "")
    found.labels["g", "abc123"] = collect.Labels(
        "g", "abc123", bytes([2] * 12), (), ""
    )  # with f: not defined
    (game,) = collect.games(found)
    expected = []
    for one, other in combinations(found.labels.values(), 2):
        both = [(CLASSES[a - 1], CLASSES[b - 1]) for a, b in zip(one.digits, other.digits) if a and b]
        expected.append(agree(*zip(*both), CLASSES, replicates=1).kappa)
    assert None in expected
    assert game.kappas.tolist() == pytest.approx([kappa for kappa in expected if kappa is not None])


# ---- running ---------------------------------------------------------------------------------------------
def can_shut_in(folder):
    try:
        shut_in(folder)
    except OSError:
        return False
    return True


@pytest.fixture
def shut(tmp_path):
    if not can_shut_in(tmp_path):
        pytest.skip("user namespaces are not allowed here")
    return tmp_path


def test_a_notebook_that_is_run_reaches_no_file_and_no_network(shut):
    mark = shut / "mark"
    mark.write_text("kept")
    code = f"""
import os, socket
def tries(what):
    try: what(); return "did"
    except OSError: return "could not"
said = [tries(lambda: os.remove({str(mark)!r})), tries(lambda: open({str(shut / "new")!r}, "w")),
        tries(lambda: socket.create_connection(("192.0.2.1", 80), 2)), tries(lambda: open("here", "w"))]
said"""
    raises, after = cell("1 / 0"), cell("'went on'")
    done = json.loads(run_handed_in(notebook(cell(code), raises, after).encode(), seconds=120))
    (said,) = done["cells"][0]["outputs"][0]["data"]["text/plain"]
    assert said == "['could not', 'could not', 'could not', 'did']"
    assert done["cells"][2]["outputs"] and mark.read_text() == "kept"


def test_what_the_checks_say_now_counts_and_not_what_the_notebook_says(shut):
    lying = cell("check.check_useful(['QQP', 'MRPC'])", "Right. Believe me.")
    (shut / "eve.ipynb").write_text(notebook(FIRST, lying))
    assert gather(shut).hand_ins["eve", "05"].sheet.right == 1
    found = gather(shut, lambda content: run_handed_in(content, seconds=120))
    held = found.hand_ins["eve", "05"]
    assert (held.kind, held.sheet.answers["useful"]) == (
        "notebook, run here",
        "wrong",
    ) and held.sheet.mistakes


def test_a_notebook_without_end_is_ended_with_all_it_started(shut):
    code = "import subprocess, time\nsubprocess.Popen(['sleep', '98765'], start_new_session=True)\nwhile True: time.sleep(1)"
    start = time.monotonic()
    with pytest.raises(ValueError, match="longer than 8 seconds"):
        run_handed_in(notebook(cell(code)).encode(), seconds=8)
    assert time.monotonic() - start < 60  # it would be endless
    while "sleep 98765" in processes() and time.monotonic() - start < 60:
        time.sleep(0.05)  # the system ends what is left of a namespace a moment after its first process
    assert "sleep 98765" not in processes()


def processes():
    return subprocess.run(["ps", "axo", "args"], capture_output=True, text=True, check=True).stdout


def test_a_notebook_that_is_run_reaches_no_socket_no_device_and_no_setting_of_the_system(shut):
    """A socket with a name answers without any network, and the disk's being read-only stops nobody from writing to it."""
    heard, name = socket.socket(socket.AF_UNIX), str(shut / "bus")
    heard.bind(name)
    heard.listen()
    datagrams = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    datagrams.bind(name + "-datagrams")
    code = f"""
import ctypes, os, socket
def tries(what):
    try: what(); return "did"
    except OSError: return "could not"
def device(): os.listdir("/dev").index("shm"); os.close(os.open("/dev/zero", os.O_RDONLY)); os.stat("/dev/tty"); os.stat("/dev/fuse")
def ring():
    if ctypes.CDLL(None).syscall(425, 8, bytes(256)) == -1: raise OSError
said = [tries(lambda: socket.socket(socket.AF_UNIX).connect({name!r})),
        tries(lambda: socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)[0].sendto(b"x", {name + "-datagrams"!r})),
        tries(ring), tries(device), tries(lambda: open("/proc/sys/kernel/hostname", "r+")), tries(lambda: socket.socketpair())]
said"""
    done = json.loads(run_handed_in(notebook(cell(code)).encode(), seconds=120))
    (said,) = done["cells"][0]["outputs"][0]["data"]["text/plain"]
    assert said == str(["could not"] * 5 + ["did"])
    heard.close(), datagrams.close()


@pytest.mark.parametrize("machine", ["x86_64", "aarch64"])
def test_the_filter_of_calls_lets_the_internet_through_and_no_other_socket(machine):
    _, opens, pair, ring, foreign = no_sockets._CALLS[machine]
    stream, datagram, flags = 1, 2, 0o2000000
    allowed = [
        (opens, 2),
        (opens, 10),
        (opens, 16),
        (pair, 1, stream),
        (pair, 1, stream | flags),
        (0,),
        (foreign - 1,),
    ]
    forbidden = [
        (opens, 1),
        (opens, 40),
        (opens, 0),
        (pair, 1, datagram),
        (pair, 1, 5 | flags),
        (ring,),
        (foreign + opens, 2),
    ]
    assert [filtered(machine, *call) for call in allowed] == [True] * len(allowed)
    assert [filtered(machine, *call) for call in forbidden] == [False] * len(forbidden)
    assert not filtered(
        machine, 0, mark=0x40000003
    )  # a call in the way of another processor, whose numbers mean other things


def filtered(machine, number, *arguments, mark=None):
    """Does the filter let a call through? What Linux does with the program, step by step."""
    code = no_sockets.program(machine)
    lines = [struct.unpack_from("=HBBI", code, place) for place in range(0, len(code), 8)]
    mark = no_sockets._CALLS[machine][0] if mark is None else mark
    call = struct.pack("<IIQ6Q", number, mark, 0, *arguments, *[0] * (6 - len(arguments)))
    place = held = 0
    while True:
        what, yes, no, value = lines[place]
        place += 1
        if what == no_sockets._RETURN:
            return value == no_sockets._ALLOW
        if what == no_sockets._LOAD:
            held = struct.unpack_from("<I", call, value)[0]
        elif what == no_sockets._AND:
            held &= value
        else:
            place += yes if (held == value if what == no_sockets._EQUAL else held >= value) else no


def test_a_notebook_that_fills_the_disk_is_ended(shut, monkeypatch):
    monkeypatch.setattr(walled, "MOST_WRITTEN", 20_000_000)
    code = "import time\nfor i in range(100):\n    open(f'{i}', 'wb').write(bytes(1_000_000))\n    time.sleep(.01)\ntime.sleep(60)"
    start = time.monotonic()
    with pytest.raises(ValueError, match="wrote more than 19 MB"):
        run_handed_in(notebook(cell(code)).encode(), seconds=60)
    assert time.monotonic() - start < 50


def test_a_run_whose_starter_is_gone_ends_itself(tmp_path):
    """The starter ends what takes too long; where it was killed nobody else would."""
    (tmp_path / "in.ipynb").write_text(notebook(cell("1")))
    code = """
import sys, time
from bertlook_teach.classroom import rerun
rerun.execute, rerun.GRACE = lambda *_, **__: time.sleep(1000), 1.0
sys.exit(rerun.main("in.ipynb", "out.ipynb", "2"))"""
    ended = subprocess.run(
        [sys.executable, "-c", code], check=False, cwd=tmp_path, timeout=120, capture_output=True
    )
    assert ended.returncode == 1 and not (tmp_path / "out.ipynb").exists()


def test_a_notebook_that_prints_a_gigabyte_is_ended(shut):
    code = "for _ in range(1000): print('x' * 1_000_000)"
    with pytest.raises(ValueError, match="printed without end"):
        run_handed_in(
            notebook(cell(code)).encode(), seconds=300
        )  # 20 s, on a machine that is full ten times that


def test_without_walls_nothing_is_run_unless_that_is_asked_for(tmp_path, monkeypatch):
    monkeypatch.setattr(sys, "platform", "win32")
    with pytest.raises(OSError, match="needs Linux .*--unprotected"):
        run_handed_in(notebook(cell("1")).encode())


def test_the_current_folder_need_not_be_one_that_can_be_written(shut, monkeypatch, capsys):
    (shut / "in").mkdir()
    (shut / "in" / "ben.json").write_text(sheet().to_json())
    monkeypatch.chdir("/proc")
    assert main(["collect", str(shut / "in"), "--run", "--out", str(shut / "out")]) == 0
    assert "1 students, 1 lessons" in capsys.readouterr().out
