import json
import os
import signal
import subprocess
import sys

import made
import numpy as np
import pytest
from tiny import save_tiny_model

from bertlook_course.storage import writable_folder
from bertlook_teach import extract_attention, load_encoder, profile_heads
from bertlook_teach.measures import Profile, offset_attention, special_token_attention
from bertlook_teach.stats import REPLICATES

CORPUS = [
    ("the cat sat.", "it was tired."),
    ("a dog chased a cat", "the cat, unreally, sat"),
    ("it", "was it?"),
    ("a", "b c d"),
]
MEASURES = {"previous": lambda a: offset_attention(a, -1), "sep": lambda a: special_token_attention(a, "sep")}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return save_tiny_model(tmp_path_factory.mktemp("model"))


@pytest.fixture(scope="module")
def tiny(folder):
    return load_encoder(folder)


def test_the_mean_is_the_plain_mean_over_inputs_each_weighing_the_same(tiny):
    result = profile_heads(tiny, CORPUS, MEASURES, batch_size=3)
    for name, measure in MEASURES.items():
        one_by_one = [measure(extract_attention(tiny, *pair)) for pair in CORPUS]
        assert result.mean(name) == pytest.approx(np.mean(one_by_one, axis=0), abs=1e-6)
    assert (result.n, result.n_truncated) == (4, 0)


def test_the_interval_is_that_of_a_bootstrap_with_the_values_kept(tiny):
    """Second way: keep every value, draw resamples with replacement, take their quantiles."""
    rng = np.random.default_rng(5)
    values = rng.normal(2, 1, (200, 3, 2))
    result = Profile()
    for value in values:
        result.add({"x": value}, 4)
    low, high = result.interval("x")
    resampled = values[rng.integers(0, 200, (2000, 200))].mean(1)
    expected = np.quantile(resampled, (0.025, 0.975), axis=0)
    assert low == pytest.approx(expected[0], abs=0.05) and high == pytest.approx(expected[1], abs=0.05)
    assert high - low == pytest.approx(np.full((3, 2), 2 * 1.96 / np.sqrt(200)), rel=0.25)


def test_a_layer_mean_is_the_mean_of_its_heads_with_its_own_interval(tiny):
    result = profile_heads(tiny, CORPUS, MEASURES)
    mean, low, high = result.layer_mean("sep")
    assert mean == pytest.approx(result.mean("sep").mean(1))
    assert (low <= mean).all() and (mean <= high).all()
    head_low, head_high = result.interval("sep")
    assert (high - low <= (head_high - head_low).mean(1) + 1e-9).all()  # averaging heads cannot widen it


def test_one_input_has_a_mean_and_no_interval(tiny):
    result = profile_heads(tiny, CORPUS[:1], MEASURES)
    assert result.interval("sep") is None
    assert result.rows()[0]["sep_low"] is None
    with pytest.raises(ValueError, match="at least two inputs"):
        result.layer_mean("sep")


def test_the_batch_size_does_not_matter_and_twice_gives_the_same(tiny):
    first, second = (profile_heads(tiny, CORPUS, MEASURES, batch_size=b) for b in (1, 4))
    for name in MEASURES:
        assert first.sums[name] == pytest.approx(second.sums[name], abs=1e-5)
    again = profile_heads(tiny, CORPUS, MEASURES, batch_size=4)
    assert all((again.sums[name] == second.sums[name]).all() for name in MEASURES)


def test_two_halves_merged_are_the_whole(tiny):
    whole = profile_heads(tiny, CORPUS, MEASURES)
    left = profile_heads(tiny, CORPUS[:3], MEASURES)
    right = profile_heads(tiny, CORPUS[3:], MEASURES, first=3)
    merged = left.merge(right)
    assert (merged.n, merged.n_tokens) == (whole.n, whole.n_tokens)
    for name in MEASURES:
        assert merged.sums[name] == pytest.approx(whole.sums[name], abs=1e-4)
    assert merged.counts == pytest.approx(whole.counts)


def test_what_does_not_belong_together_is_not_merged(tiny):
    left = profile_heads(tiny, CORPUS[:3], MEASURES)
    with pytest.raises(ValueError, match="must begin where the first ends, at input 3; it begins at 0"):
        left.merge(profile_heads(tiny, CORPUS[3:], MEASURES))
    with pytest.raises(ValueError, match="different segments cannot be merged: 'standard' and 'zeros'"):
        left.merge(profile_heads(tiny, CORPUS[3:], MEASURES, first=3, segments="zeros"))
    with pytest.raises(ValueError, match="different measures"):
        left.merge(profile_heads(tiny, CORPUS[3:], {"sep": MEASURES["sep"]}, first=3))


def test_memory_is_the_sums_and_does_not_grow_with_the_corpus(tiny):
    sizes = [
        {k: v.nbytes for k, v in profile_heads(tiny, CORPUS[:2] * times, MEASURES).sums.items()}
        for times in (1, 20)
    ]
    assert sizes[0] == sizes[1] == {name: (1 + REPLICATES) * 3 * 2 * 8 for name in MEASURES}


def test_the_table_has_a_row_per_head_with_both_ways_of_naming_it(tiny, tmp_path):
    result = profile_heads(tiny, CORPUS, MEASURES, name="four pairs")
    result.save(tmp_path / "out")
    rows = made.read_rows(tmp_path / "out" / "profile.csv")
    columns = "layer head label n previous previous_low previous_high sep sep_low sep_high"
    assert list(rows[0]) == columns.split()
    assert [" ".join(list(row.values())[:3]) for row in rows][:3] == ["0 0 1-1", "0 1 1-2", "1 0 2-1"]
    assert float(rows[5]["sep"]) == pytest.approx(result.mean("sep")[2, 1], abs=1e-6)
    assert all(float(r["sep_low"]) <= float(r["sep"]) <= float(r["sep_high"]) for r in rows)
    about = json.loads((tmp_path / "out" / "profile.json").read_text())
    assert (about["model"], about["fingerprint"], about["n"]) == (tiny.name, tiny.fingerprint, 4)
    assert (about["corpus"], about["segments"]) == ("four pairs", "standard")


def test_saved_and_loaded_is_the_same(tiny, tmp_path):
    result = profile_heads(tiny, CORPUS, MEASURES)
    again = Profile.load(result.save(tmp_path))
    assert again.rows() == result.rows() and again.about == result.about and again.n_tokens == result.n_tokens


@pytest.mark.parametrize("name", ["profile.json", "profile_sums.npz"])
@pytest.mark.parametrize("content", [b"", b"{", b"[]", b"PK\x03\x04", b'{"n": 1}'])
def test_a_damaged_profile_is_one_error(tiny, tmp_path, name, content):
    folder = profile_heads(tiny, CORPUS, MEASURES).save(tmp_path)
    assert (folder / name).is_file()
    (folder / name).write_bytes(content)
    with pytest.raises(ValueError, match="does not hold a profile as `bertlook profile` writes it"):
        Profile.load(folder)


def test_a_measure_that_gives_nan_or_another_shape_is_named(tiny):
    with pytest.raises(ValueError, match="measure 'odd' must give one finite number per head.*NaN"):
        profile_heads(tiny, CORPUS, {"odd": lambda a: np.full((3, 2), np.nan)})
    with pytest.raises(ValueError, match=r"for input 0 it gave shape \(3,\)"):
        profile_heads(tiny, CORPUS, {"odd": lambda a: np.zeros(3)})


def test_an_empty_corpus_and_an_unknown_measure_are_errors(tiny, tmp_path):
    with pytest.raises(ValueError, match="the corpus is empty"):
        profile_heads(tiny, [], MEASURES)
    with pytest.raises(ValueError, match="the profile is empty"):
        Profile().save(tmp_path)
    with pytest.raises(KeyError, match="has no measure 'cls'; it has previous, sep"):
        profile_heads(tiny, CORPUS, MEASURES).mean("cls")


def test_a_folder_that_cannot_be_written_is_refused_at_once(tmp_path):
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(OSError, match="cannot write .*choose a folder of your own"):
        writable_folder(tmp_path / "file" / "out")


# --- the command -----------------------------------------------------------------------------------------


def test_the_command_measures_a_file_of_pairs(folder, tmp_path, capsys):
    pairs = tmp_path / "pairs.txt"
    pairs.write_text("the cat sat.\nit was tired.\n\na dog\nsat\n")
    options = ["--model", folder, "--pairs", pairs, "--out", tmp_path / "out", "--quiet"]
    code, printed = made.run(capsys, "profile", *options)
    assert code == 0 and "2 texts" in printed.out
    result = Profile.load(tmp_path / "out")
    assert result.n == 2 and result.about["complete"] and len(result.about["corpus_sha256"]) == 64
    assert {"previous", "offset-8", "offset+8", "sep_to_sep", "entropy_clark"} <= set(result.measures)


def test_the_command_cuts_and_counts_what_is_too_long_or_stops(folder, tmp_path, capsys):
    texts = tmp_path / "texts.txt"
    texts.write_text("the cat\n" + "the " * 60 + "\n")
    options = ["--model", folder, "--texts", texts, "--out", tmp_path / "out", "--quiet"]
    code, printed = made.run(capsys, "profile", *options)
    assert code == 0 and "1 cut to 32 wordpieces" in printed.out
    code, printed = made.run(capsys, "profile", *options, "--no-truncate")
    assert code != 0 and "text 2 of the corpus: the text is 62 wordpieces long" in printed.err


def test_ctrl_c_keeps_what_was_measured(folder, tmp_path):
    """A real interrupt, sent to a real process once it is under way."""
    texts = tmp_path / "texts.txt"
    texts.write_text("the cat sat on a mat\n" * 200_000)
    options = ["--model", str(folder), "--texts", str(texts), "--out", str(tmp_path / "out")]
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    # A shell's background jobs ignore interrupts, and their children inherit that.
    inherited = signal.signal(signal.SIGINT, signal.default_int_handler)
    process = subprocess.Popen(
        [sys.executable, "-m", "bertlook_bench", "profile", *options],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=environment,
    )
    signal.signal(signal.SIGINT, inherited)
    seen = ""
    while "| 1" not in seen and "/200000 [00:0" not in seen.partition("0/200000")[2]:  # the bar has moved
        character = process.stderr.read(1)
        assert character, seen
        seen += character
    process.send_signal(2)
    out, _ = process.communicate(timeout=60)
    assert process.returncode == 130 and "interrupted" in out
    result = Profile.load(tmp_path / "out")
    assert 0 < result.n < 200_000 and not result.about["complete"]


def test_many_inputs_at_once_are_the_same_as_one_by_one():
    values = np.random.default_rng(0).random((5, 2, 3))
    one, many = Profile({"first": 4}), Profile({"first": 4})
    for value in values:
        one.add({"m": value}, 7, truncated=True)
    many.add_many({"m": values[:2]}, [7, 7], [True, True])
    many.add_many({"m": values[2:]}, [7] * 3, [True] * 3)
    np.testing.assert_allclose(many.sums["m"], one.sums["m"], rtol=1e-12)
    assert np.array_equal(many.counts, one.counts) and (many.n, many.n_tokens, many.n_truncated) == (5, 35, 5)
    values[1, 0, 0] = np.nan
    with pytest.raises(ValueError, match="for input 6 .*NaN"):
        many.add_many({"m": values}, [7] * 5, [False] * 5)
