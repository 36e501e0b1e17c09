"""``bertlook profile``: one bad text among many, and runs that were stopped."""

import gzip
import io
import json
from types import SimpleNamespace

import pytest
import tiny

from bertlook_teach.commands import chunks
from bertlook_teach.commands import line as cli
from bertlook_teach.commands import profile as command
from bertlook_teach.measures import Profile

TEXTS = [
    "the cat sat.",
    "\U0001f600",
    "a dog chased it.",
    "cat " * 60,
    "the mat.",
    "\U0001f600 \U0001f600",
    "it sat on a mat.",
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("profile")
    tiny.save_tiny_model(folder / "model")
    (folder / "texts.txt").write_text("# seven\n" + "\n".join(TEXTS) + "\n", encoding="utf-8")
    (folder / "good.txt").write_text("\n".join(TEXTS[::2]) + "\n", encoding="utf-8")
    return folder


def profile(folder, out, *more, texts="texts.txt"):
    words = [
        "profile",
        "--model",
        folder / "model",
        "--texts",
        folder / texts,
        "--out",
        out,
        "--quiet",
        *more,
    ]
    return cli.main([str(word) for word in words])


def table(out):
    return (out / "profile.csv").read_text(encoding="utf-8")


class Killed(BaseException):
    """Nothing handles it, as nothing handles a kill."""


@pytest.fixture
def kept_always(monkeypatch):
    monkeypatch.setattr(chunks, "CHUNK", 1)
    monkeypatch.setattr(command, "KEEP_EVERY", 0.0)


def killing(monkeypatch, after, what=Killed):
    """It dies when so many texts are measured."""
    add = Profile.add_many

    def once_more(profile, *args):
        if profile.n == after:
            raise what
        add(profile, *args)

    monkeypatch.setattr(Profile, "add_many", once_more)


def test_one_bad_text_stops_it_and_is_named(folder, tmp_path, capsys):
    assert profile(folder, tmp_path / "a", "--batch-size", 1) == 1
    assert "text 2 of the corpus" in capsys.readouterr().err


def test_bad_texts_are_left_out_named_and_counted_if_wanted(folder, tmp_path, capsys):
    assert profile(folder, tmp_path / "a", "--on-error", "skip", "--no-truncate") == 0
    said = capsys.readouterr()
    assert "left out: text 2: " in said.err and "left out: text 4: the text is 62 wordpieces long" in said.err
    assert "3 texts left out in all." in said.err and "4 texts" in said.out
    about = json.loads((tmp_path / "a" / "profile.json").read_text(encoding="utf-8"))
    assert [text.partition(":")[0] for text in about["skipped"]] == ["text 2", "text 4", "text 6"]
    assert about["n"] == 4 and not (tmp_path / "a" / "unfinished").exists()
    assert profile(folder, tmp_path / "b", texts="good.txt") == 0
    assert table(tmp_path / "a") == table(tmp_path / "b")


@pytest.mark.parametrize("after", [1, 2, 3])
def test_a_run_that_was_killed_is_gone_on_with(folder, tmp_path, capsys, monkeypatch, kept_always, after):
    more = ["--on-error", "skip", "--no-truncate", "--batch-size", 1]
    assert profile(folder, tmp_path / "whole", *more) == 0
    with monkeypatch.context() as patch:
        killing(patch, after)
        with pytest.raises(Killed):
            profile(folder, tmp_path / "a", *more)
    assert not (tmp_path / "a" / "profile.csv").exists()
    capsys.readouterr()
    assert profile(folder, tmp_path / "a", *more) == 0
    assert "of 7 chunks are done by an earlier run" in capsys.readouterr().err
    assert table(tmp_path / "a") == table(tmp_path / "whole")
    one, other = (
        json.loads((tmp_path / d / "profile.json").read_text(encoding="utf-8")) for d in ("a", "whole")
    )
    assert one == other
    assert not (tmp_path / "a" / "unfinished").exists()


def test_ctrl_c_can_be_gone_on_from(folder, tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(chunks, "CHUNK", 1)
    with monkeypatch.context() as patch:
        killing(patch, 2, KeyboardInterrupt)
        assert profile(folder, tmp_path / "a", "--batch-size", 1, texts="good.txt") == 130
    assert Profile.load(tmp_path / "a").n == 2
    assert profile(folder, tmp_path / "a", "--batch-size", 1, texts="good.txt") == 0
    assert "going on: 3 of 4 chunks are done" in capsys.readouterr().err
    assert Profile.load(tmp_path / "a").n == 4


def test_another_run_begins_anew_and_an_error_counts_as_the_file_does(
    folder, tmp_path, capsys, monkeypatch, kept_always
):
    with monkeypatch.context() as patch:
        killing(patch, 1)
        with pytest.raises(Killed):
            profile(folder, tmp_path / "a", "--batch-size", 1, texts="good.txt")
    assert profile(folder, tmp_path / "a", "--segments", "zeros", texts="good.txt") == 0
    said = capsys.readouterr().err
    assert (
        "going on" not in said
        and "unfinished run of something else (segments: 'standard' there, 'zeros' now)" in said
    )
    (folder / "late.txt").write_text("\n".join([*TEXTS[::2], TEXTS[1]]) + "\n", encoding="utf-8")
    with monkeypatch.context() as patch:
        killing(patch, 1)
        with pytest.raises(Killed):
            profile(folder, tmp_path / "b", "--batch-size", 1, texts="late.txt")
    assert profile(folder, tmp_path / "b", texts="late.txt") == 1
    said = capsys.readouterr().err
    assert "going on: 2 of 5 chunks are done" in said and "text 5 of the corpus" in said


def test_a_damaged_rest_of_a_run_is_no_rest(folder, tmp_path, capsys, monkeypatch, kept_always):
    with monkeypatch.context() as patch:
        killing(patch, 2)
        with pytest.raises(Killed):
            profile(folder, tmp_path / "a", texts="good.txt")
    for path in [*(tmp_path / "a").rglob("*.npz"), *(tmp_path / "a").rglob("run.json")]:
        path.write_text("[]", encoding="utf-8")
    assert profile(folder, tmp_path / "a", texts="good.txt") == 0
    assert "going on" not in capsys.readouterr().err
    assert profile(folder, tmp_path / "b", texts="good.txt") == 0
    assert table(tmp_path / "a") == table(tmp_path / "b")


def test_half_a_file_of_a_run_killed_while_it_wrote_its_result_is_in_nobodys_way(folder, tmp_path):
    (tmp_path / "a" / "writing").mkdir(parents=True)
    (tmp_path / "a" / "writing" / ".profile.csv-0.part").write_text("half", encoding="utf-8")
    assert profile(folder, tmp_path / "a", texts="good.txt") == 0
    assert not (tmp_path / "a" / "writing").exists()


def test_force_drops_what_other_runs_left(folder, tmp_path, capsys, monkeypatch, kept_always):
    with monkeypatch.context() as patch:
        killing(patch, 2)
        with pytest.raises(Killed):
            profile(folder, tmp_path / "a", texts="good.txt")
    assert profile(folder, tmp_path / "a", "--force", texts="good.txt") == 0
    assert "going on" not in capsys.readouterr().err and not (tmp_path / "a" / "unfinished").exists()


def test_one_line_that_is_not_utf_8_is_named_or_left_out(folder, tmp_path, capsys):
    (folder / "latin.txt").write_bytes("the cat sat.\na d\u00f6g.\nthe mat.\n".encode("latin-1"))
    assert profile(folder, tmp_path / "a", texts="latin.txt") == 1
    assert "line 2" in capsys.readouterr().err
    assert profile(folder, tmp_path / "a", "--on-error", "skip", texts="latin.txt") == 0
    said = capsys.readouterr().err
    assert "left out: text 2: " in said and "1 texts left out in all." in said


def test_one_broken_line_among_100_000_is_named_before_anything_is_measured(folder, tmp_path, capsys):
    lines = [b"the cat sat.\n"] * 100_000
    lines[70_000] = "a d\u00f6g.\n".encode("latin-1")
    (folder / "many.txt").write_bytes(b"".join(lines))
    assert profile(folder, tmp_path / "a", texts="many.txt") == 1
    assert "line 70001" in capsys.readouterr().err and not (tmp_path / "a" / "unfinished").exists()


def test_a_folder_gz_and_standard_input_are_corpora(folder, tmp_path, monkeypatch):
    assert profile(folder, tmp_path / "whole", texts="good.txt") == 0
    lines = (folder / "good.txt").read_bytes()
    inside = tmp_path / "parts"
    inside.mkdir()
    first, rest = lines.split(b"\n", 1)
    (inside / "a.txt").write_bytes(first + b"\n")
    (inside / "b.txt.gz").write_bytes(gzip.compress(rest))
    words = ["profile", "--model", str(folder / "model"), "--quiet", "--texts"]
    assert cli.main([*words, str(inside), "--out", str(tmp_path / "folder")]) == 0
    monkeypatch.setattr("sys.stdin", SimpleNamespace(buffer=io.BytesIO(gzip.compress(lines))))
    assert cli.main([*words, "-", "--out", str(tmp_path / "stdin")]) == 0
    assert table(tmp_path / "folder") == table(tmp_path / "stdin") == table(tmp_path / "whole")
