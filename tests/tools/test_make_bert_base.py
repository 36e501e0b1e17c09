"""data/bert_base is made by one command: from a folder with the numbers of the shipped recordings it makes the same files again."""

import json

import numpy as np
import pytest

from bertlook_teach import load_recording
from bertlook_teach.disk import data_path
from bertlook_teach.model import SHIPPED_RECORDINGS
from tools.make_bert_base import MARKS, main


@pytest.fixture
def source(tmp_path):
    """The numbers as they were found, as far as the recordings keep them."""
    listed, arrays = [], {}
    for name in SHIPPED_RECORDINGS:
        recording = load_recording(name)
        for text in recording:
            attention, found = recording[text], recording.source(text)
            second = attention.segment_ids.index(1) if 1 in attention.segment_ids else None
            arrays[f"{found['id']}_weights"] = attention.weights
            for vectors in ("queries", "keys"):
                if getattr(attention, vectors) is not None:
                    arrays[f"{found['id']}_{vectors}"] = getattr(attention, vectors)
            listed.append(
                {"id": found["id"], "model": name, "tokens": attention.tokens}
                | {"second_text_starts_at": second, "independent_copies": found["copies"]}
                | {"repositories": found["repositories"]}
                | {"source": {key: found[key] for key in ("repository", "path", "commit")}}
            )
    folder = tmp_path / "source"
    folder.mkdir()
    (folder / "recorded.json").write_text(json.dumps(listed), encoding="utf-8")
    np.savez(folder / "recorded.npz", **arrays)
    return folder


def test_the_command_makes_what_ships(source, tmp_path, capsys):
    out = tmp_path / "out"
    out.mkdir()
    (out / "README.md").write_text(f"# About\n{MARKS[0]}\nold\n{MARKS[1]}\nend\n", encoding="utf-8")
    assert main([str(source), "--out", str(out)]) == 0
    for name in SHIPPED_RECORDINGS:
        made, shipped = load_recording(out / f"{name}.bertlook"), load_recording(name)
        assert made.texts == shipped.texts and made.badge == shipped.badge and made.about == shipped.about
        for text in shipped:
            assert np.array_equal(made[text].weights, shipped[text].weights)
            assert made[text].words == shipped[text].words and made.source(text) == shipped.source(text)
    readme = (out / "README.md").read_text(encoding="utf-8")
    whole = data_path("bert_base", "README.md").read_text(encoding="utf-8")
    assert readme.split(MARKS[0])[1].split(MARKS[1])[0] == whole.split(MARKS[0])[1].split(MARKS[1])[0]
    assert main([str(source), "--out", str(out), "--check"]) == 0
    assert sorted(path.name for path in out.iterdir()) == [
        "README.md",
        "bert-base-cased.bertlook",
        "bert-base-uncased.bertlook",
    ]


def test_a_change_is_seen_by_check_and_nothing_is_written(source, tmp_path, capsys):
    out = tmp_path / "out"
    assert main([str(source), "--out", str(out)]) == 0
    before = {path.name: path.read_bytes() for path in out.iterdir()}
    listed = json.loads((source / "recorded.json").read_text(encoding="utf-8"))
    listed[0]["source"]["commit"] = "0" * 40
    (source / "recorded.json").write_text(json.dumps(listed), encoding="utf-8")
    assert main([str(source), "--out", str(out), "--check"]) == 1
    assert "holds something else" in capsys.readouterr().err
    assert {path.name: path.read_bytes() for path in out.iterdir()} == before
