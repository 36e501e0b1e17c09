"""A training that was stopped goes on after its last epoch, and ends as if nothing had happened."""

import json
import os
import signal
import subprocess
import sys
import time

import pytest
import tiny
import torch
from made import read_rows, run
from test_finetune import TASKS

from bertlook_course.analyses.finetuning import fine_tune, task_training, training
from bertlook_course.analyses.finetuning.training import Checkpoint
from bertlook_course.storage import UNFINISHED
from bertlook_teach import load_encoder


class Stopped(Exception):
    """What stands for a kill in the same process."""


@pytest.fixture(scope="module")
def encoder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("models")
    return load_encoder(tiny.save_tiny_model(folder / "bert", "bert"), device="cpu")


@pytest.fixture
def stop_after(monkeypatch):
    """Ends the training once the checkpoint of an epoch is written."""

    def stop(epoch):
        write = Checkpoint.write

        def stopping(self, tensors, record):
            write(self, tensors, record)
            if record["epochs"] == epoch:
                raise Stopped

        monkeypatch.setattr(Checkpoint, "write", stopping)

    return stop


def taught(encoder, checkpoint=None, **options):
    settings = {"epochs": 4, "progress": False, "seed": 3, "dropout": 0.3, "batch_size": 16, **options}
    return fine_tune(encoder, TASKS["classes"], checkpoint=checkpoint, **settings)


def same(one, other) -> bool:
    pairs = zip(one.model.state_dict().values(), other.model.state_dict().values(), strict=True)
    return one.history == other.history and all(torch.equal(a, b) for a, b in pairs)


@pytest.mark.parametrize("epoch", [1, 2, 3])
def test_it_ends_with_the_weights_of_an_unbroken_training(epoch, encoder, tmp_path, stop_after, monkeypatch):
    whole, path = taught(encoder), tmp_path / "kept" / "training.safetensors"
    with monkeypatch.context():
        stop_after(epoch)
        with pytest.raises(Stopped):
            taught(encoder, path)
    monkeypatch.undo()
    assert path.is_file()
    epochs = []
    monkeypatch.setattr(
        task_training,
        "_on_dev",
        lambda *given, judge=task_training._on_dev: epochs.append(1) or judge(*given),
    )
    assert same(taught(encoder, path), whole)
    assert len(epochs) == 4 - epoch and not path.exists()


def test_what_is_not_restored_is_noticed(encoder, tmp_path, stop_after, monkeypatch):
    """The comparison above can fail: without the moments of the optimizer the weights are others."""
    whole, path = taught(encoder), tmp_path / "training.safetensors"
    stop_after(2)
    with pytest.raises(Stopped):
        taught(encoder, path)
    monkeypatch.undo()
    monkeypatch.setattr(training.Stepper, "restore", lambda *given: None)
    assert not same(taught(encoder, path), whole)


@pytest.mark.parametrize("other", [{"seed": 4}, {"epochs": 5}, {"learning_rate": 1e-3}, {"truncate": True}])
def test_of_another_training_it_counts_as_none(other, encoder, tmp_path, stop_after, monkeypatch):
    path = tmp_path / "training.safetensors"
    stop_after(1)
    with pytest.raises(Stopped):
        taught(encoder, path)
    monkeypatch.undo()
    assert same(taught(encoder, path, **other), taught(encoder, **other))


@pytest.mark.parametrize("content", [b"", b"no safetensors at all", "half"])
def test_a_damaged_file_counts_as_none(content, encoder, tmp_path, stop_after, monkeypatch):
    path = tmp_path / "training.safetensors"
    stop_after(1)
    with pytest.raises(Stopped):
        taught(encoder, path)
    monkeypatch.undo()
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2] if content == "half" else content)
    assert same(taught(encoder, path), taught(encoder))


# --- the command -----------------------------------------------------------------------------------------
@pytest.fixture
def command(encoder, tmp_path):
    """The words of a command on files of its own, beside --out."""
    task = TASKS["classes"]
    for name, examples in (("train", task.train), ("dev", task.dev), ("test", task.test)):
        lines = (json.dumps({"s1": e.text, "label": e.label}) for e in examples)
        (tmp_path / f"{name}.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")
    files = [word for name in ("train", "dev", "test") for word in (f"--{name}", f"{tmp_path / name}.jsonl")]
    more = ["--seeds", "2", "--epochs", "2", "--device", "cpu", "--quiet"]
    return ["finetune", "--model", str(encoder.folder), *files, *more]


def test_killed_at_any_moment_the_same_command_ends_with_the_same_table(command, tmp_path, capsys):
    whole, broken = tmp_path / "whole", tmp_path / "broken"
    assert run(capsys, *command, "--out", whole)[0] == 0
    assert not (whole / UNFINISHED).exists()
    line = [sys.executable, "-m", "bertlook_bench", *command, "--out", str(broken)]
    for wanted in ("seed-0.safetensors", "twin-0.json"):
        process = subprocess.Popen(line, env=os.environ, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        while not list(broken.glob(f"{UNFINISHED}/*/{wanted}")) and process.poll() is None:
            time.sleep(0.005)
        os.kill(process.pid, signal.SIGKILL)
        assert process.wait() == -signal.SIGKILL, f"it ended before {wanted} was kept"
        assert not (broken / "finetune.csv").exists()
    assert run(capsys, *command, "--out", broken)[0] == 0
    assert (
        read_rows(broken / "finetune.csv") == read_rows(whole / "finetune.csv")
        and not (broken / UNFINISHED).exists()
    )
    assert sorted(p.name for p in broken.iterdir()) == sorted(p.name for p in whole.iterdir())


def test_other_settings_are_said_and_force_drops_what_is_left(
    command, tmp_path, capsys, stop_after, monkeypatch
):
    out = tmp_path / "out"
    stop_after(1)
    with pytest.raises(Stopped):
        run(capsys, *command, "--out", out)
    monkeypatch.undo()
    assert list(out.glob(f"{UNFINISHED}/*/seed-0.safetensors"))
    code, printed = run(capsys, *command, "--batch-size", "8", "--out", out)
    assert code == 0 and "an unfinished run of something else (batch_size: 32 there, 8 now)" in printed.err
    assert list(out.glob(f"{UNFINISHED}/*/seed-0.safetensors"))
    assert run(capsys, *command, "--force", "--out", out)[0] == 0
    assert not (out / UNFINISHED).exists()


def test_a_classifier_that_was_taken_away_is_taught_again(command, tmp_path, capsys, monkeypatch):
    import shutil

    out = tmp_path / "out"
    monkeypatch.setattr(
        "bertlook_course.storage.reports.save_rows", lambda *given: (_ for _ in ()).throw(Stopped)
    )
    with pytest.raises(Stopped):
        run(capsys, *command, "--out", out)
    monkeypatch.undo()
    shutil.rmtree(out / "seed-1")
    assert run(capsys, *command, "--out", out)[0] == 0
    assert (out / "seed-1").is_dir()
