"""``bertlook profile``: one bad text among many, and runs that were stopped."""

import gzip
import io
import json
import os
import threading
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from types import SimpleNamespace

import pytest
import tiny
import torch

from bertlook_bench import chunks, common
from bertlook_bench import line as cli
from bertlook_course.analyses.anatomy import measuring, report, reports
from bertlook_course.corpora import iter_texts, load_pairs
from bertlook_teach.measures import FILES, Profile, profile_heads
from bertlook_teach.model import load_encoder

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
    (folder / "texts.txt").write_text("# n = 7\n" + "\n".join(TEXTS) + "\n", encoding="utf-8")
    (folder / "good.txt").write_text("\n".join(TEXTS[::2]) + "\n", encoding="utf-8")
    return folder


def profile(folder, out, *more, texts="texts.txt"):
    words = ["--model", folder / "model", "--texts", folder / texts, "--out", out, "--quiet", *more]
    return cli.main(["profile", *map(str, words)])


def table(out):
    return (out / "profile.csv").read_text(encoding="utf-8")


class Killed(BaseException):
    """Nothing handles it, as nothing handles a kill."""


@pytest.fixture
def kept_always(monkeypatch):
    monkeypatch.setattr(reports, "TEXTS", 1)
    monkeypatch.setattr(chunks, "KEEP_EVERY", 0.0)


def killing(monkeypatch, after, what=Killed):
    """It dies when so many texts are measured."""
    add = Profile.add_many

    def once_more(profile, *args):
        if profile.n == after:
            raise what
        add(profile, *args)

    monkeypatch.setattr(Profile, "add_many", once_more)


def killed(monkeypatch, after, *given, **options):
    """A run that dies when so many texts are measured."""
    with monkeypatch.context() as patch:
        killing(patch, after)
        with pytest.raises(Killed):
            profile(*given, **options)


def test_a_notebook_gets_the_table_that_the_command_saves(folder, tmp_path):
    encoder = load_encoder(folder / "model")
    with pytest.raises(ValueError, match="^item 1 of the corpus: "):
        report(encoder, TEXTS)
    found = report(encoder, TEXTS, on_error="skip", truncate=False)
    assert repr(found).startswith(f"{encoder.name}: 4 texts, ") and repr(found).count("left out: text ") == 3
    assert found.save(tmp_path / "notebook") == f"-> {tmp_path / 'notebook' / 'profile.csv'}"
    assert profile(folder, tmp_path / "command", "--on-error", "skip", "--no-truncate") == 0
    assert table(tmp_path / "notebook") == table(tmp_path / "command")
    second = profile_heads(encoder, TEXTS[::2])
    assert found.profile.measures == second.measures
    assert found.profile.mean("next") == pytest.approx(second.mean("next"))


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
    killed(monkeypatch, after, folder, tmp_path / "a", *more)
    assert not (tmp_path / "a" / "profile.csv").exists()
    capsys.readouterr()
    assert profile(folder, tmp_path / "a", *more) == 0
    assert "of 7 chunks are done by an earlier run" in capsys.readouterr().err
    assert table(tmp_path / "a") == table(tmp_path / "whole")
    texts = [(tmp_path / name / "profile.json").read_text(encoding="utf-8") for name in ("a", "whole")]
    about = json.loads(texts[0])
    assert about == json.loads(texts[1])
    assert [text.partition(":")[0] for text in about["skipped"]] == ["text 2", "text 4", "text 6"]
    assert not (tmp_path / "a" / "unfinished").exists()


def test_ctrl_c_can_be_gone_on_from(folder, tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(reports, "TEXTS", 1)
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
    killed(monkeypatch, 1, folder, tmp_path / "a", "--batch-size", 1, texts="good.txt")
    assert profile(folder, tmp_path / "a", "--segments", "zeros", texts="good.txt") == 0
    said = capsys.readouterr().err
    assert (
        "going on" not in said
        and "unfinished run of something else (segments: 'standard' there, 'zeros' now)" in said
    )
    (folder / "late.txt").write_text("\n".join([*TEXTS[::2], TEXTS[1]]) + "\n", encoding="utf-8")
    killed(monkeypatch, 1, folder, tmp_path / "b", "--batch-size", 1, texts="late.txt")
    assert profile(folder, tmp_path / "b", texts="late.txt") == 1
    said = capsys.readouterr().err
    assert "going on: 2 of 5 chunks are done" in said and "text 5 of the corpus" in said


def test_a_damaged_rest_of_a_run_is_no_rest(folder, tmp_path, capsys, monkeypatch, kept_always):
    killed(monkeypatch, 2, folder, tmp_path / "a", texts="good.txt")
    kept = [path for path in (tmp_path / "a" / "unfinished").rglob("*") if path.is_file()]
    assert {path.suffix for path in kept} == {".npz", ".sums", ".json"}
    for path in kept:
        path.write_text("[]", encoding="utf-8")
    assert profile(folder, tmp_path / "a", texts="good.txt") == 0
    assert "going on" not in capsys.readouterr().err
    assert profile(folder, tmp_path / "b", texts="good.txt") == 0
    assert table(tmp_path / "a") == table(tmp_path / "b")


def test_a_result_that_cannot_be_written_leaves_nothing_of_it(folder, tmp_path, capsys):
    """What was measured stays in unfinished/, so that the same command goes on."""
    (tmp_path / "a" / "profile.json").mkdir(parents=True)
    assert profile(folder, tmp_path / "a", texts="good.txt") == 1
    assert "profile.json (a folder of this name is in the way)" in capsys.readouterr().err
    assert sorted(path.name for path in (tmp_path / "a").iterdir()) == ["profile.json", "unfinished"]
    (tmp_path / "a" / "profile.json").rmdir()
    assert profile(folder, tmp_path / "a", texts="good.txt") == 0
    assert sorted(path.name for path in (tmp_path / "a").iterdir()) == sorted(FILES.values())


def test_force_drops_what_other_runs_left(folder, tmp_path, capsys, monkeypatch, kept_always):
    killed(monkeypatch, 2, folder, tmp_path / "a", texts="good.txt")
    assert profile(folder, tmp_path / "a", "--force", texts="good.txt") == 0
    assert "going on" not in capsys.readouterr().err and not (tmp_path / "a" / "unfinished").exists()


def test_a_corpus_that_was_changed_is_noticed(folder, tmp_path, capsys, monkeypatch, kept_always):
    (folder / "changing.txt").write_text("\n".join(TEXTS[::2]), encoding="utf-8")
    killed(monkeypatch, 2, folder, tmp_path / "a", texts="changing.txt")
    (folder / "changing.txt").write_text("\n".join([*TEXTS[::2], "a dog sat."]), encoding="utf-8")
    assert profile(folder, tmp_path / "a", texts="changing.txt") == 0
    said = capsys.readouterr().err
    assert "unfinished run of something else (corpus_sha256: '" in said and "going on" not in said
    assert Profile.load(tmp_path / "a").n == 5


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


# --- on a device ---------------------------------------------------------------------------------------
def test_where_torch_computes_no_map_travels(monkeypatch):
    """The processor is the device: whatever leaves torch is counted, and is one number a head, measure and input."""
    encoder, texts = load_encoder("specimen", device="cpu"), load_pairs()[:6]
    travelled = []
    for name in ("cpu", "numpy", "__array__", "tolist"):
        taken = getattr(torch.Tensor, name)

        def counted(tensor, *args, taken=taken):
            travelled.append(tensor.numel())
            return taken(tensor, *args)

        monkeypatch.setattr(torch.Tensor, name, counted)
    found = measuring.measure_chunk(encoder, texts, skip=False, batch_size=4)
    numbers = sum(value.size for value in found["values"].values())
    maps = sum(36 * n**2 for n in found["n_tokens"])
    assert sum(travelled) == 2 * numbers < maps / 5  # to the processor, and to NumPy
    monkeypatch.undo()
    by_numpy = measuring.measure_chunk(load_encoder("specimen"), texts, skip=False, batch_size=4)
    assert by_numpy["n_tokens"] == found["n_tokens"]
    for name, value in found["values"].items():
        assert value == pytest.approx(by_numpy["values"][name], abs=3e-5)


@pytest.mark.parametrize("precision, least, most", [("bfloat16", 1e-5, 0.1), ("float16", 1e-6, 0.01)])
def test_half_precision_says_by_how_much_it_changes_the_table(
    folder, tmp_path, capsys, precision, least, most
):
    options = ("--device", "cpu")
    assert profile(folder, tmp_path / "single", *options, texts="good.txt") == 0
    assert "change the measures" not in capsys.readouterr().err
    assert profile(folder, tmp_path / "half", *options, "--precision", precision, texts="good.txt") == 0
    assert f"products in {precision} change the measures of the first 4 texts" in capsys.readouterr().err
    single, half = Profile.load(tmp_path / "single"), Profile.load(tmp_path / "half")
    said = half.about["precision"]
    for name in single.measures:
        changed = abs(half.mean(name) - single.mean(name)).max()
        assert changed <= said["largest_change_of_a_mean"][name] + 1e-9 <= said["largest_change"][name] + 2e-9
        assert said["largest_change"][name] < most
    assert max(said["largest_change_of_a_mean"].values()) > least


def test_a_recording_has_no_precision(tmp_path, capsys):
    code = cli.main(
        ["profile", "--model", "recorded:bert-base-uncased", "--precision", "float16", "--out", str(tmp_path)]
    )
    assert code == 1 and "a recording holds its maps as they are" in capsys.readouterr().err


def test_long_inputs_share_a_batch_with_fewer():
    lengths = [10, 512, 128, 300, 90, 128, 512, 200, 11, 128, 12, 128, 128] * 3
    found = list(measuring.batches(lengths, 4))
    assert sorted(i for batch in found for i in batch) == list(range(len(lengths)))
    for batch in found:
        assert len(batch) == 1 or len(batch) * max(lengths[i] for i in batch) ** 2 <= 4 * measuring.FULL**2
        assert len(batch) <= 4
    assert max(map(len, found)) == 4


def test_a_folder_of_too_many_files_or_closed_to_us_is_refused(tmp_path, monkeypatch):
    (tmp_path / "closed").mkdir()
    (tmp_path / ".git").mkdir()
    for name in ("a.txt", "b.txt", ".git/config"):
        (tmp_path / name).touch()
    monkeypatch.setattr(common, "MOST_FILES", 2)
    with ExitStack() as stack:
        assert common.files_of([tmp_path], stack) == [tmp_path / "a.txt", tmp_path / "b.txt"]
        with monkeypatch.context() as patch, pytest.raises(PermissionError, match="closed"):
            patch.setattr(os, "scandir", partial(_scandir, os.scandir))
            common.files_of([tmp_path], stack)
        (tmp_path / "closed" / "c.txt").touch()
        with pytest.raises(ValueError, match="holds more than 2 files"):
            common.files_of([tmp_path], stack)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="Windows has no named pipes")
@pytest.mark.parametrize("packed", [lambda content: content, gzip.compress], ids=["plain", "gzip"])
def test_a_pipe_is_read_whole_and_as_often_as_wanted(tmp_path, packed):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    content = "\n".join(TEXTS[::2]).encode()
    writer = threading.Thread(target=lambda: pipe.write_bytes(packed(content)))
    writer.start()
    with ExitStack() as stack:
        [copy] = common.files_of([pipe], stack)
        assert [list(iter_texts(copy)) for _ in range(2)] == [TEXTS[::2]] * 2
    writer.join()


@pytest.mark.parametrize("packed", [bytes, gzip.compress])
def test_an_error_in_standard_input_does_not_name_the_file_it_was_copied_to(
    packed, tmp_path, monkeypatch, capsys
):
    monkeypatch.setattr("sys.stdin", SimpleNamespace(buffer=io.BytesIO(packed(b"good\ncaf\xe9\n"))))
    assert cli.main(["profile", "--quiet", "--texts", "-", "--out", str(tmp_path / "out")]) == 1
    assert "profile: what was piped in is not UTF-8 (line 2: byte 0xe9)" in capsys.readouterr().err


def _scandir(scan, path):
    if Path(path).name == "closed":
        raise PermissionError(13, "Permission denied", str(path))
    return scan(path)


def test_a_line_that_is_not_a_pair_is_left_out_with_its_own_reason(folder, tmp_path, capsys):
    (tmp_path / "pairs.tsv").write_text(
        "a cat sat.\tit slept.\na cat.\t\na cat.\na\tb\tc\n", encoding="utf-8"
    )
    more = ["--pairs", tmp_path / "pairs.tsv", "--out", tmp_path / "out", "--on-error", "skip", "--quiet"]
    assert cli.main(["profile", "--model", *map(str, (folder / "model", *more))]) == 0
    said = capsys.readouterr().err
    assert "text 2: the second text of the pair is empty" in said
    assert "text 3: an input is a text, a pair of texts" in said and "text 4: an input is a text" in said
