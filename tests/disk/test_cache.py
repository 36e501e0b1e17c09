"""Results kept on disk: the same comes back, nothing old is ever shown, and nothing in a file is run."""

from __future__ import annotations

import io
import os
from pathlib import Path

import numpy as np
import pytest

from bertlook_course.analyses.finetuning import Tagger
from bertlook_course.analyses.negation import tune
from bertlook_course.claims import Evidence, Resources, collect_evidence, evidence_table
from bertlook_course.claims import evidence as evidence_module
from bertlook_course.metrics import CannotDecide
from bertlook_course.storage import cache as store
from bertlook_course.storage import opened, pack, packing, store_folder, unpack


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A store of its own; elsewhere in the tests nothing is kept."""
    monkeypatch.setattr(store, "store_folder", store_folder)
    monkeypatch.setenv("BERTLOOK_CACHE", str(tmp_path / "kept"))
    return tmp_path / "kept"


class Counted:
    """A function that says how often it was called."""

    def __init__(self, result):
        self.calls, self.result = 0, result

    def __call__(self):
        self.calls += 1
        return self.result


# --- to bytes and back; values of any kind, and damaged files, in test_fuzz_store.py ----------------------


def test_a_dataclass_comes_back_with_its_fields():
    found = unpack(pack(Evidence("some", 2, {"x": np.eye(2)}, {"x": np.array([0, 1])})))
    assert type(found) is Evidence and (found.name, found.n) == ("some", 2)
    np.testing.assert_array_equal(found.values["x"], np.eye(2))


@pytest.mark.parametrize("value", [object(), {1, 2}, np.array([None]), Path("x"), lambda: 1])
def test_what_cannot_be_kept_is_refused_by_name(value):
    with pytest.raises(TypeError, match="cannot be kept"):
        pack([value])


def test_equal_arrays_lie_in_the_file_once():
    noise = np.random.default_rng(0).normal(size=5000)
    assert len(pack([noise, noise.copy(), noise + 0])) < 1.1 * len(pack([noise]))


@pytest.mark.parametrize("bits, error", [(10, 2**-11), (15, 2**-16), (23, 2**-24)])
def test_fewer_bits_round_and_make_the_file_smaller(bits, error):
    numbers = np.random.default_rng(0).normal(size=(50, 100)) * 10.0 ** np.arange(-4, 6, 0.1)
    found = unpack(pack(numbers, bits=bits))
    assert found.dtype == numbers.dtype and found.shape == numbers.shape
    assert np.abs(found / numbers - 1).max() <= error * 1.001
    assert len(pack(numbers, bits=bits)) < len(pack(numbers)) * (bits + 10) / 64


@pytest.mark.parametrize(
    "array",
    [
        np.array([0.0, 3.0, -2.0, 40000.0]),  # counts, though of a kind that could be anything
        np.array([2**40, -(2**40)]),
        np.array([np.nan, np.inf, -np.inf, 1.5], np.float32),
        np.array([1e300, 0.5]),
        np.array([True, False]),
        np.array(["a", "ünï"]),
        np.zeros((3, 0)),
    ],
)
def test_whole_numbers_infinities_and_texts_stay_exact_with_few_bits(array):
    found = unpack(pack(array, bits=8))
    assert found.dtype == array.dtype and found.shape == array.shape and found.tobytes() == array.tobytes()


def test_a_note_lies_beside_it_and_is_read_before_it():
    note, value = opened(pack([1], note={"of": "what"}))
    assert note == {"of": "what"} and value() == [1]


def members(**parts):
    """The bytes of a file with these members, its checksum right."""
    texts = {"tree": "null", "arrays": "[]", "note": "{}"} | {
        k: v for k, v in parts.items() if isinstance(v, str)
    }
    arrays = {k: v for k, v in parts.items() if not isinstance(v, str)}
    plain = {k: v for k, v in arrays.items() if not v.dtype.hasobject}
    texts["checksum"] = packing._checksum(texts, plain)
    file = io.BytesIO()
    np.savez(file, **{k: np.frombuffer(v.encode(), np.uint8) for k, v in texts.items()}, **arrays)
    return file.getvalue()


@pytest.mark.parametrize(
    "tree",
    [
        '{"class": ["subprocess", "Popen"], "fields": {}}',
        '{"class": ["urllib.parse", "ParseResult"], "items": [1, 2, 3, 4, 5, 6]}',
        '{"class": ["bertlook_course.storage.cache", "cached"], "fields": {}}',
        '{"class": ["bertlook_course.storage.cache", "os.PathLike"], "items": []}',
        '{"class": ["bertlook_teach.nowhere", "X"], "fields": {}}',
        '{"class": ["bertlook_course.claims.verdicts", "Evidence"], "fields": {"name": "a"}}',
    ],
)
def test_a_file_can_name_only_our_own_dataclasses(tree):
    with pytest.raises(
        ValueError, match="is not a part of|is not a dataclass|there is no class|has other fields"
    ):
        unpack(members(tree=tree))


def test_no_pickle_is_read():
    with pytest.raises(ValueError, match="pickle"):
        unpack(
            members(tree='{"array": 0}', arrays='[["f8", 0, [1], "<f8"]]', f8=np.array([print], dtype=object))
        )


def test_what_does_not_fit_its_table_of_arrays_is_refused():
    three = packing._shuffled(np.arange(3.0))
    table = '[["f8", 0, [{}], "<f8"]]'.format
    assert unpack(members(tree='{"array": 0}', arrays=table(3), f8=three)).tolist() == [0, 1, 2]
    for size, words in ((4, "of shape .4,. has 3 numbers"), (2, "more numbers than its table")):
        with pytest.raises(ValueError, match=words):
            unpack(members(tree='{"array": 0}', arrays=table(size), f8=three))


def test_a_part_of_another_file_is_found_out():
    with np.load(io.BytesIO(pack({"x": np.arange(3.0) / 7}))) as file:
        parts = {name: file[name] for name in file.files}
    file = io.BytesIO()
    np.savez(file, **(parts | {"f8": packing._shuffled(np.arange(3.0) / 6)}))
    with pytest.raises(ValueError, match="do not belong together"):
        unpack(file.getvalue())


# --- kept -------------------------------------------------------------------------------------------------


def test_it_is_made_once(folder):
    make = Counted({"x": np.arange(3)})
    for _ in range(3):
        np.testing.assert_array_equal(store.cached("a thing", ("key", 1), make, version=1)["x"], np.arange(3))
    assert make.calls == 1
    assert [file.name.startswith("a-thing-") for file in folder.iterdir()] == [True]


def test_another_name_version_key_or_package_is_another_result(folder, monkeypatch):
    make = Counted(1)
    store.cached("a", (1,), make, version=1)
    store.cached("a", (1,), make, version=2)
    store.cached("b", (1,), make, version=1)
    store.cached("a", ("1",), make, version=1)
    monkeypatch.setattr(store, "__version__", "another")
    store.cached("a", (1,), make, version=1)
    assert make.calls == 5


def test_other_data_are_another_result(folder, monkeypatch):
    make = Counted(1)
    store.cached("a", (1,), make, version=1)
    monkeypatch.setattr(store.shipped_evidence, "data_digest", lambda: "0" * 32)
    store.cached("a", (1,), make, version=1)
    assert make.calls == 2


def test_a_file_that_cannot_be_touched_is_read_all_the_same(folder, monkeypatch):
    store.cached("a", (), Counted(5), version=1)

    def refuse(*arguments):
        raise PermissionError

    monkeypatch.setattr(os, "utime", refuse)
    assert store.cached("a", (), Counted(6), version=1) == 5


def test_a_damaged_file_is_said_and_made_anew(folder):
    make = Counted([1, 2])
    store.cached("a", (), make, version=1)
    (file,) = folder.iterdir()
    file.write_bytes(file.read_bytes()[:-30])
    with pytest.warns(UserWarning, match="kept result a-v1-.* is damaged"):
        assert store.cached("a", (), make, version=1) == [1, 2]
    assert store.cached("a", (), make, version=1) == [1, 2]
    assert make.calls == 2


def test_where_nothing_can_be_written_nothing_is_kept(folder):
    folder.write_text("a file stands here")
    make = Counted(5)
    assert store.cached("a", (), make, version=1) == store.cached("a", (), make, version=1) == 5
    assert make.calls == 2


@pytest.mark.skipif(not hasattr(os, "getuid"), reason="folders have no owner here that could be asked")
def test_a_folder_that_others_can_write_to_is_not_believed(folder, monkeypatch):
    """A file of the right name and checksum that somebody else left there would be taken for a result."""
    make = Counted(5)
    store.cached("a", (), make, version=1)
    [file] = folder.glob("*.npz")
    planted = pack(666, note=opened(file.read_bytes())[0])
    file.write_bytes(planted)
    assert store.cached("a", (), make, version=1) == 666  # in a folder of one's own nobody else wrote it
    folder.chmod(0o777)
    assert store.cached("a", (), make, version=1) == 5
    folder.chmod(0o755)
    monkeypatch.setattr(os, "getuid", lambda: folder.stat().st_uid + 1)
    assert store.cached("a", (), make, version=1) == 5 and make.calls == 3
    assert file.read_bytes() == planted  # nor written to
    from bertlook_press.classroom import Failed, kept

    with pytest.raises(Failed, match="somebody else's"):
        kept()


def test_off_means_off(folder, monkeypatch):
    monkeypatch.setenv("BERTLOOK_CACHE", "off")
    make = Counted(5)
    assert store.cached("a", (), make, version=1) == store.cached("a", (), make, version=1) == 5
    assert make.calls == 2 and not folder.exists()


def test_what_a_killed_process_left_half_written_is_swept_away(folder):
    folder.mkdir(parents=True)
    old, new = folder / "a.part", folder / "b.part"  # the second may still be written
    for file in (old, new):
        file.write_bytes(b"half")
    os.utime(old, (0, 0))
    store.cached("a", (), lambda: 1, version=1)
    assert not old.exists() and new.exists()


def test_an_error_is_raised_and_not_kept(folder):
    def fails():
        raise CannotDecide("too short")

    for _ in range(2):
        with pytest.raises(CannotDecide, match="too short"):
            store.cached("a", (), fails, version=1)
    assert not folder.exists()


def test_the_files_not_used_for_longest_go_first(folder, monkeypatch):
    one = 1.1 * len(pack(np.zeros(1000)))
    monkeypatch.setattr(store, "MOST_BYTES", 2.5 * one)
    for number in range(2):
        store.cached(f"number {number}", (), lambda: np.zeros(1000), version=1)
    for file, age in zip(sorted(folder.iterdir()), (10, 20)):
        os.utime(file, (age, age))
    store.cached("number 0", (), Counted(None), version=1)  # read again, so it is the newer one
    store.cached("number 2", (), lambda: np.zeros(1000), version=1)
    assert [file.name[:8] for file in sorted(folder.iterdir())] == ["number-0", "number-2"]


def test_the_folder_is_the_one_that_is_named(monkeypatch, tmp_path):
    monkeypatch.delenv("BERTLOOK_CACHE")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert store_folder() == tmp_path / "bertlook"
    monkeypatch.delenv("XDG_CACHE_HOME")
    assert store_folder() == Path.home() / ".cache" / "bertlook"


# --- what is kept -----------------------------------------------------------------------------------------


def test_evidence_of_the_lessons_is_kept_and_the_same(folder, specimen, monkeypatch):

    inputs = Resources(limit=3)
    monkeypatch.setattr(evidence_module, "_kept", store.Memory())
    first = collect_evidence("norms", specimen, inputs)
    assert [file.name.split("-")[1] for file in folder.iterdir()] == ["norms"]
    monkeypatch.setattr(evidence_module, "_kept", store.Memory())
    second = collect_evidence("norms", specimen, inputs)
    assert second is not first and second.n == first.n == 3
    for name, values in first.values.items():
        np.testing.assert_array_equal(second.values[name], values)
    monkeypatch.setattr(evidence_module, "_kept", store.Memory())
    collect_evidence("norms", specimen, Resources(limit=2))
    assert len(list(folder.iterdir())) == 2


def test_a_collector_that_says_no_version_is_not_kept_on_disk(folder, specimen):
    own = {"norms": lambda encoder, resources: iter([{"x": np.ones(2)}])}
    assert collect_evidence("norms", specimen, Resources(limit=2), evidence=own).n == 1
    assert not folder.exists()


def test_a_collector_is_kept_under_its_own_name_whatever_the_table_calls_it(folder, specimen):
    table = evidence_table()
    for name in ("reading", "surface"):
        collect_evidence(name, specimen, Resources(limit=2), evidence={name: table["surface"]})
    assert [file.name.split("-")[1] for file in folder.iterdir()] == ["surface"]


def test_the_doctor_says_what_is_kept_and_where_it_cannot_be(folder, monkeypatch):
    from bertlook_press.classroom import Failed, kept

    assert "nothing yet" in kept()
    store.cached("a", (), lambda: np.zeros(250_000), version=1)
    assert kept().startswith("1 results, 2 MB")
    monkeypatch.setenv("BERTLOOK_CACHE", str(next(folder.glob("*.npz"))))
    with pytest.raises(Failed, match="cannot be written"):
        kept()
    monkeypatch.setenv("BERTLOOK_CACHE", "off")
    assert "says off" in kept()


def test_a_tuned_model_comes_back_as_it_was(specimen):
    made = tune(specimen, "negation", epochs=1)
    found = Tagger.from_weights(specimen, unpack(pack(made.weights())))
    words = [["It", "was", "not", "late", "."]]
    np.testing.assert_array_equal(found.probabilities(words)[0], made.probabilities(words)[0])
    assert found.encoder.fingerprint == made.encoder.fingerprint != specimen.fingerprint
    assert (found.labels, found.losses, found.about) == (made.labels, made.losses, made.about)
    assert found.encoder.name == made.encoder.name and not found.model.training
