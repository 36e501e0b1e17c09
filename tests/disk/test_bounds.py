"""Small files that ask for gigabytes: each is refused in one line, and costs little memory.

A child process reads them one after the other and says what each was answered and how far its memory had grown by then.
"""

import gzip
import io
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import numpy as np
import pytest

from bertlook_course.checks import Sheet, lesson05
from bertlook_course.storage import csv_rows
from bertlook_teach.disk import bounds, data_path, load_arrays, open_zip, parse_json, save_arrays

MOST = 200  # MB that a refusal may take

SHEET = Sheet("05", dict.fromkeys(lesson05.sheet().answers, "right")).to_json()


# --- the files: name -> (function that writes it below a folder, who reads it) ----------------------------------
def zeros(path, member, unpacked=150_000_000):
    """An archive with one member of zeros: 1,000 times smaller than what it unpacks to."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive, archive.open(member, "w") as file:
        np.lib.format.write_array_header_1_0(
            file, {"descr": "|u1", "fortran_order": False, "shape": (unpacked,)}
        )
        for _ in range(unpacked // 10_000_000):
            file.write(bytes(10_000_000))


def zipped(path, line, times):
    """A .gz of one line, again and again."""
    with gzip.open(path, "wb", compresslevel=6) as file:
        for _ in range(times // 10_000):
            file.write(line.encode() * 10_000)


def overlapping(path):
    """4,000 entries of 19 MB, all on the same few bytes."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("a/1.ipynb", b" " * 19_000_000)
        for i in range(2, 4000):
            twin = zipfile.ZipInfo(f"a/{i}.ipynb")
            entry = archive.infolist()[0]
            for name in ("compress_type", "CRC", "compress_size", "file_size", "header_offset"):
                setattr(twin, name, getattr(entry, name))
            archive.filelist.append(twin)
    path.write_bytes(file.getvalue())


def crowd(path, text, n):
    """Many entries that each unpack to a thousand times their size."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for i in range(n):
            archive.writestr(f"s{i}/05.ipynb", text)


def chain(n, between="\n"):
    return "".join(f"{i}\tw\t_\t_\t_\t_\t{i - 1}\t_\t_\t_{between}" for i in range(1, n + 1)) + "\n"


def model(folder, **files):
    shutil.copytree(data_path("model"), folder, ignore=shutil.ignore_patterns("*.md", "*.toml", "*.csv"))
    for name, content in files.items():
        (folder / name.replace("_txt", ".txt").replace("_json", ".json")).write_text(content)


WIDE = "game,map,label," + ",".join("abcdefgh"[i % 8] for i in range(8000)) + "\n" + "g,1,\n" * 8000

FILES = {
    "collect/table.csv": (lambda p: p.write_text(WIDE), "gather"),
    "collect/long.csv": (lambda p: p.write_text("game,map,label\n" + "g,1,\n" * 8_000_000), "gather"),
    "collect/cells.ipynb": (lambda p: p.write_text('{"cells":[' + "{}," * 6_000_000 + "{}]}"), "gather"),
    "collect/codes.txt": (lambda p: p.write_text("abc123-12345 " * 3_500_000), "gather"),
    "collect/codes_small.txt": (
        lambda p: p.write_text("".join(f"{i:06x}-12345 " for i in range(70_000))),
        "gather",
    ),
    "collect/deep.json": (lambda p: p.write_text("[" * 900_000), "gather"),
    "collect/overlapping.zip": (overlapping, "gather"),
    "collect/crowd.zip": (lambda p: crowd(p, b" " * 19_000_000, 8), "gather"),
    "collect/entries.zip": (lambda p: crowd(p, b"x", 30_000), "gather"),
    "bomb.bertlook": (lambda p: zeros(p, "about.npy"), "load_recording"),
    "bomb.npz": (lambda p: zeros(p, "weights.npy"), "attention"),
    "packed.npz": (lambda p: zeros(p, "tree.npy"), "unpack"),
    "texts.txt.gz": (lambda p: zipped(p, "ab\n", 20_000_000), "read_texts"),
    "comments.conllu.gz": (lambda p: zipped(p, "# a comment\n", 5_000_000), "read_conllu"),
    "words.conllu.gz": (lambda p: zipped(p, "1\ta\t_\t_\t_\t_\t0\t_\t_\t_\n\n", 2_000_000), "read_conllu"),
    "chain.conllu": (lambda p: p.write_text(chain(60_000)), "read_conllu"),
    "phrases.jsonl": (lambda p: p.write_text("[" + "{}," * 3_000_000 + "{}]\n"), "read_keyphrases"),
    "negation.jsonl": (lambda p: p.write_text('{"words": [' + "[]," * 3_000_000 + "[]]}\n"), "read_negation"),
    "mentions.jsonl": (lambda p: p.write_text('{"tokens": [' + "1," * 4_000_000 + "1]}\n"), "read_coreference"),
    "examples.jsonl": (lambda p: p.write_text('{"s1": [' + "[]," * 3_000_000 + "[]]}\n"), "read_examples"),
    "words": (lambda p: model(p, vocab_txt="\n".join(map(str, range(3_000_000)))), "load_encoder"),
    "config": (lambda p: model(p, config_json="[" + "{}," * 8_000_000 + "{}]"), "load_encoder"),
    "tokens": (lambda p: model(p, tokenizer_json='{"a": [' + "{}," * 8_000_000 + "{}]}"), "load_encoder"),
}  # fmt: skip

CHILD = """
import resource, sys, time, warnings
from pathlib import Path
import bertlook_teach
from bertlook_teach import Attention, load_encoder, load_recording
from bertlook_press.classroom import gather
from bertlook_course.corpora import read_conllu, read_coreference, read_examples, read_keyphrases, read_negation, read_texts
from bertlook_course.storage import unpack
read_conllu(bertlook_teach.disk.data_path("treebank", "treebank.conllu")); load_encoder("specimen"); load_recording()
attention, packed = Attention.load, lambda path: unpack(path.read_bytes())
readers = dict(globals(), unpack=packed)
used = lambda: int(next(line for line in open("/proc/self/status") if line.startswith("VmSize")).split()[1]) * 1024
resource.setrlimit(resource.RLIMIT_AS, (used() + 3_000_000_000,) * 2)
for line in sys.stdin:
    name, path = line.rstrip().split(" ", 1)
    # ru_maxrss never falls, so that what the files before took is not counted twice.
    before, start = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, time.monotonic()
    try:
        found = readers[name](Path(path))
        said = " ".join(found.notes) if name == "gather" else f"READ {type(found).__name__}"
        students = found.students if name == "gather" else None
    except (ValueError, OSError) as error:
        said, students = str(error), None
    except Exception as error:
        said, students = f"RAW {type(error).__name__}: {error}", None
    grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    print([said[:2000], students, grown / 1000, time.monotonic() - start], flush=True)
"""


@pytest.fixture(scope="module")
def child():
    if not sys.platform.startswith("linux"):
        pytest.skip("memory is measured as Linux counts it")
    process = subprocess.Popen(
        [sys.executable, "-c", CHILD], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )

    def ask(reader, path):
        process.stdin.write(f"{reader} {path}\n")
        process.stdin.flush()
        return eval(process.stdout.readline())

    yield ask
    process.stdin.close()
    process.wait()


@pytest.mark.parametrize("name", FILES)
def test_a_file_that_asks_for_gigabytes_is_refused_in_one_line(name, child, tmp_path):
    write, reader = FILES[name]
    path = tmp_path / name
    path.parent.mkdir(exist_ok=True)
    write(path)
    if reader == "gather":  # the rest of the class goes on
        (path.parent / "ada.json").write_text(SHEET)
        path = path.parent
    said, students, grown, seconds = child(reader, path)
    assert not said.startswith(("READ", "RAW")) and "\n" not in said, said[:300]
    assert grown < MOST, said[:300]
    assert seconds < 60, said[:300]  # 5 on a quiet machine; without a bound, minutes
    if reader == "gather":
        assert "ada" in students and said
    else:
        assert Path(name).name.split(".")[0] in said


# --- what is not refused -------------------------------------------------------------------------------------------
def test_what_compresses_well_is_written_so_that_it_can_be_read(tmp_path):
    """Uniform attention of 512 tokens is 150 MB of one number."""
    even = np.full((4, 4, 1024, 1024), 1 / 1024, np.float32)
    path = tmp_path / "even.npz"
    with path.open("wb") as file:
        save_arrays(file, {"weights": even, "about": np.array("x")})
    again = load_arrays(path)
    assert (again["weights"] == even).all() and str(again["about"]) == "x"


def test_the_bound_is_said_and_what_lies_below_it_is_read():
    with pytest.raises(bounds.TooLarge, match=r"holds some 11 values of JSON; at most 10 are read"):
        parse_json("[" + "1," * 9 + "[1]]", 10)
    assert parse_json("[" + "1," * 8 + "[1]]", 10)[-1] == [1]
    with pytest.raises(ValueError, match="nested too deeply"):
        parse_json("[" * 200_000)
    assert csv_rows("a,b,c\n1,2\n\n,3,4\n", ["a", "c"], 2) == [{"a": "1", "c": ""}, {"a": "", "c": "4"}]
    with pytest.raises(bounds.TooLarge, match="more than 1 rows"):
        csv_rows("a\n1\n2\n", ["a"], 1)
    with pytest.raises(bounds.TooLarge, match="larger than 3 kB"):
        bounds.read_bounded(io.BytesIO(b"x" * 3001), 3000)
    assert bounds.read_bounded(io.BytesIO(b"x" * 3000), 3000) == b"x" * 3000


@pytest.mark.parametrize("n", [2, 3, 70_000])
def test_marks_are_counted_across_the_blocks_that_are_read(n, tmp_path):
    path = tmp_path / "a"
    path.write_bytes(b"xPK\1\2" * n + b"PK")
    with path.open("rb") as file:
        assert bounds.count_in(file, b"PK\1\2") == n
        assert bounds.count_in(file, b"P", b"x") == 2 * n + 1


def test_an_archive_with_a_few_files_is_opened_and_one_with_too_many_is_not(tmp_path):
    path = tmp_path / "a.zip"
    with zipfile.ZipFile(path, "w") as archive:
        for i in range(5):
            archive.writestr(f"{i}.txt", "x" * i)
    with open_zip(path, 5) as archive:
        assert len(archive.infolist()) == 5
    with pytest.raises(bounds.TooLarge, match="holds 5 files; at most 4"), open_zip(path, 4):
        pass


def test_a_gz_of_a_text_is_read_however_long_it_is(tmp_path):
    """Sentences shrink to a tenth, and that is no reason to refuse them."""
    from bertlook_course.corpora import load_texts, read_texts

    path = tmp_path / "a.txt.gz"
    draw = np.random.default_rng(0)
    words = sorted({word for text in load_texts() for word in text.split()})
    with gzip.open(path, "wt", encoding="utf-8") as file:
        file.writelines(" ".join(text) + "\n" for text in draw.choice(words, (30_000, 25)))
    assert len(read_texts(path)) == 30_000 and path.stat().st_size < 5_000_000


@pytest.mark.parametrize(
    "header", [b"(" * 900, b"{'descr':" + b"-" * 900, b"[" * 900, b"\xff" * 900, b"{}" + b" " * 900, b"1.e"]
)
def test_a_header_that_numpy_stumbles_over_is_one_error(header, tmp_path):
    path = tmp_path / "a.npz"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("a.npy", b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header)
    with pytest.raises(ValueError, match="."):
        load_arrays(path)
