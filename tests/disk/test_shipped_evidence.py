"""Evidence that ships: found on every computer, never where it does not fit, and no version is forgotten."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from bertlook_course.claims import Evidence, Resources, collect_evidence, evidence_table
from bertlook_course.claims.evidence import collect, evidence
from bertlook_course.metrics import CannotDecide
from bertlook_course.storage import cache as store
from bertlook_course.storage import pack, packing, shipped_evidence
from bertlook_course.storage.shipped_evidence import differences, evidence_folder
from bertlook_teach.model import random_twin

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools"))

import make_evidence

AGAIN = "run tools/make_evidence.py"


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Shipped evidence of a test's own, empty."""
    monkeypatch.setattr(shipped_evidence, "evidence_folder", evidence_folder)
    monkeypatch.setenv("BERTLOOK_EVIDENCE", str(tmp_path / "evidence"))
    monkeypatch.setattr(store, "_origins", {})
    return tmp_path / "evidence"


@pytest.fixture
def real(monkeypatch):
    """What ships with the course."""
    monkeypatch.setattr(shipped_evidence, "evidence_folder", evidence_folder)
    monkeypatch.delenv("BERTLOOK_EVIDENCE", raising=False)
    store.forget()
    yield evidence_folder()
    store.forget()


@pytest.fixture(scope="module")
def models(specimen):
    return make_evidence.load_models() | {"specimen": specimen, "specimen-random": random_twin(specimen)}


def kept(value, key=("key",), version=1, **options):
    return store.cached("a thing", key, lambda: value, version=version, **options)


def ship(value, key=("key",), version=1) -> Path:
    with store.shipping():
        kept(value, key, version)
    [file] = shipped_evidence.evidence_folder().glob("*.npz")
    return file


# --- found where it fits ----------------------------------------------------------------------------------


def test_what_is_shipped_is_not_made_again(folder):
    ship({"x": np.arange(3)})
    np.testing.assert_array_equal(kept(None)["x"], np.arange(3))
    assert store.origins() == {"a thing": "shipped evidence"}


def test_it_comes_before_the_readers_own_cache(folder, tmp_path, monkeypatch):
    monkeypatch.setattr(store, "store_folder", lambda: tmp_path / "cache")
    assert kept(1) == 1 == kept(2)  # kept in the cache
    ship(3)
    assert kept(4) == 3


def test_what_nobody_shipped_is_computed_without_a_word(folder, recwarn):
    ship(1)
    assert kept(2, ("another key",)) == 2 and not recwarn
    assert store.origins() == {"a thing": "computed here"}


def test_off_means_off(folder, monkeypatch):
    ship(1)
    monkeypatch.setenv("BERTLOOK_EVIDENCE", "off")
    assert kept(2) == 2


def test_what_is_too_large_does_not_ship(folder):
    with store.shipping():
        assert kept(1, ships=False) == 1
    assert not folder.exists()


def test_whoever_ships_gets_what_every_reader_gets(folder):
    with store.shipping():
        found = kept(np.array([1 / 3]))
    assert found[0] == kept(None)[0] == np.float32(1 / 3)


@pytest.mark.parametrize("n, bits", [(100, 23), (60_000, 18)])
def test_the_larger_the_file_the_fewer_the_digits(folder, n, bits):
    numbers = np.random.default_rng(0).random(n)
    with store.shipping():
        found = kept(numbers)
    error = np.abs(found / numbers - 1).max()
    assert 2.0 ** -(bits + 2) < error < 2.0**-bits


def test_a_reason_why_something_cannot_be_decided_ships_too(folder, specimen):
    few = Resources(limit=2)
    for make in (True, False):
        with store.shipping(make=make), pytest.raises(CannotDecide, match="no question of the task"):
            collect_evidence("layers", specimen, few)


def test_what_is_not_shipped_can_be_refused(folder, monkeypatch):
    with (
        store.shipping(make=False),
        pytest.raises(store.NotShipped, match="'a thing', version 1, is not shipped"),
    ):
        kept(1)
    with store.shipping(make=False), pytest.raises(store.NotShipped, match="too large"):
        kept(1, ships=False)
    monkeypatch.setenv("BERTLOOK_EVIDENCE", "off")
    with store.shipping(make=False), pytest.raises(store.NotShipped):
        kept(1)
    with pytest.raises(ValueError, match="says off"), store.shipping():
        pass


def test_everything_can_be_computed_again(folder, tmp_path, monkeypatch):
    monkeypatch.setattr(store, "store_folder", lambda: tmp_path / "cache")
    file = ship(1)
    kept(5, ("another key",))  # in the reader's cache
    with store.recomputing() as again:
        assert (kept(2), kept(6, ("another key",))) == (2, 6)
        assert shipped_evidence.read(again / file.name).value() == 2
    assert (kept(3), kept(7, ("another key",))) == (1, 5)
    assert not again.exists()


def test_a_process_forgets_what_it_knew_before_it_computes_again():
    memory = store.Memory()
    memory.once("a", lambda: 1)
    with store.recomputing():
        assert memory.once("a", lambda: 2) == 2
    assert memory.once("a", lambda: 3) == 3


# --- and nowhere else: each is said, and computed ---------------------------------------------------------


def other_weights(file):
    file.unlink()
    ship("wrong", ("other weights",)).rename(file)


def another_version(file):
    file.unlink()
    ship("wrong", version=2)


def other_data(file):
    file.unlink()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(shipped_evidence, "data_digest", lambda: "0" * 32)
        ship("wrong")


def half_written(file):
    file.write_bytes(file.read_bytes()[: file.stat().st_size // 2])


def another_format(file):
    note = {"format": shipped_evidence.FORMAT + 1}
    file.write_bytes(pack("wrong", note=note))


def rewritten(file, **changes):
    """The same note, and so the right stamp, beside other content."""
    with np.load(file) as old:
        parts = {name: old[name] for name in old.files}
    np.savez(file, **(parts | {name: change(parts[name]) for name, change in changes.items()}))


def a_foreign_class(file):
    def change(tree):
        text = re.sub(r'"bertlook_\w+\.[\w.]+"', '"subprocess"', tree.tobytes().decode(), count=1)
        return np.frombuffer(text.encode(), np.uint8)

    rewritten(file, tree=change)


def a_foreign_class_in_earnest(file):
    """Not only changed by accident: the checksum is right as well."""
    with np.load(file) as old:
        parts = {name: old[name] for name in old.files}
    texts = {name: parts.pop(name).tobytes().decode() for name in ("tree", "arrays", "note", "checksum")}
    del texts["checksum"]
    texts["tree"] = '{"class": ["subprocess", "Popen"], "fields": {"args": "true"}}'
    texts["checksum"] = packing._checksum(texts, parts)
    np.savez(file, **{k: np.frombuffer(v.encode(), np.uint8) for k, v in texts.items()}, **parts)


def arrays_of_another_shape(file):
    def change(table):
        return np.frombuffer(table.tobytes().decode().replace("[3, 2]", "[4, 2]").encode(), np.uint8)

    rewritten(file, arrays=change)


def a_folder(file):
    file.unlink()
    file.mkdir()


BAD = [
    (other_weights, "does not hold what its name says"),
    (another_version, "has another version than 1"),
    (other_data, "was made from other data"),
    (half_written, "is damaged"),
    (lambda file: file.write_bytes(file.read_bytes()[:-1]), "is damaged"),
    (lambda file: file.write_bytes(b""), "is damaged"),
    (another_format, "has format 3, not 2"),
    (lambda file: file.write_bytes(pack("wrong")), "has format None, not 2"),
    (a_foreign_class, "is damaged .its parts do not belong together"),
    (a_foreign_class_in_earnest, "subprocess is not a part of bertlook_teach"),
    (arrays_of_another_shape, "is damaged"),
    (lambda file: rewritten(file, f4=lambda numbers: numbers[:, :-2]), "is damaged"),
    (a_folder, "cannot be read"),
]


@pytest.mark.parametrize("spoil, words", BAD, ids=lambda value: getattr(value, "__name__", None))
def test_what_does_not_fit_is_said_and_computed(folder, spoil, words):
    value = Evidence("some", 3, {"x": np.arange(6.0).reshape(3, 2) / 7}, {"x": np.arange(3)})
    spoil(ship(value))
    with pytest.warns(UserWarning, match=f"(?s)kept result a-thing-v.*{words}.*computed here instead"):
        assert kept("right") == "right"
    assert store.origins() == {"a thing": "computed here"}


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="this user may read everything")
def test_a_file_that_may_not_be_read_is_said_and_computed(folder):
    ship(1).chmod(0)
    with pytest.warns(UserWarning, match="cannot be read"):
        assert kept(2) == 2


def test_an_error_of_the_system_is_said_and_computed(folder, monkeypatch):
    file = ship(1)
    read = Path.read_bytes

    def refuse(path):
        if path == file:
            raise PermissionError(13, "Permission denied")
        return read(path)

    monkeypatch.setattr(Path, "read_bytes", refuse)
    with pytest.warns(UserWarning, match="cannot be read .Permission denied"):
        assert kept(2) == 2


def test_what_the_result_cannot_be_made_of_is_said_and_computed(folder):
    ship([1, 2])

    def back(packed):
        raise KeyError("a layer")

    with pytest.warns(UserWarning, match="is of no use .'a layer'"):
        assert store.cached("a thing", ("key",), lambda: 3, back=back, version=1) == 3


def test_what_does_not_fit_is_made_anew_by_the_command(folder):
    half_written(ship(1))
    with pytest.warns(UserWarning, match="damaged"):
        ship(2)
    assert kept(3) == 2


# --- the stamp --------------------------------------------------------------------------------------------


def a_collector(name: str, version: int):
    @evidence(name, version=version)
    def lengths(encoder, resources):
        yield from ({"characters": len(text)} for text in resources.texts)

    return name, lengths


def test_a_version_makes_its_own_files_stale_and_no_others(folder, specimen):
    few = Resources(limit=3)
    with store.shipping():
        for name in ("lengths", "others"):
            collect(*a_collector(name, 1), specimen, few)
    files = sorted(file.name for file in folder.iterdir())
    with store.shipping(make=False):
        collect(*a_collector("lengths", 1), specimen, few)
        collect(*a_collector("others", 1), specimen, few)
        with pytest.raises(store.NotShipped, match="'evidence lengths', version 2"):
            collect(*a_collector("lengths", 2), specimen, few)
    with store.shipping():
        collect(*a_collector("lengths", 2), specimen, few)
    now = sorted(file.name for file in folder.iterdir())
    assert [name.replace("-v2-", "-v1-") for name in now] == files  # in the place of version 1
    assert [name.startswith("evidence-lengths-v2-") for name in now] == [True, False]


def test_every_source_may_change_its_prose(tmp_path):
    """All packages with a comment more in every file, and a word more in its docstring: all that ships is found as it was."""
    for package in ROOT.glob("bertlook_*"):
        shutil.copytree(package, tmp_path / package.name, ignore=shutil.ignore_patterns("__pycache__"))
    for file in tmp_path.rglob("*.py"):
        text = file.read_text(encoding="utf-8").replace('"""', '"""Now: ', 1)
        file.write_text(
            text + "\n# A comment, and a function that nothing calls.\ndef _unrelated(): pass\n",
            encoding="utf-8",
        )
    shutil.copytree(ROOT / "data", tmp_path / "data")
    code = (
        "import sys, bertlook_teach, make_evidence as m\n"
        "print(bertlook_teach.__file__, m.problems(m.parts(), m.load_models()), sep='\\n')"
    )
    (tmp_path / "tools").mkdir()
    shutil.copy(ROOT / "tools" / "make_evidence.py", tmp_path / "tools")
    paths = os.pathsep.join([str(tmp_path), str(tmp_path / "tools")])
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=False,
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": paths},
    )
    helper = tmp_path / "bertlook_teach" / "__init__.py"
    assert done.stdout.splitlines() == [str(helper), "[]"], done.stderr[-2000:]


def test_another_name_version_key_or_data_is_another_file():
    stamps = [
        shipped_evidence.Stamp(name, version, key, data)
        for name in ("a", "b")
        for version in (1, 2)
        for key in ("('k',)", "('l',)")
        for data in ("0" * 32, "1" * 32)
    ]
    assert len({stamp.file_name for stamp in stamps}) == 16


def test_the_data_are_the_shipped_texts_and_not_how_their_lines_end(tmp_path, monkeypatch):
    for name in shipped_evidence.INPUTS:
        shutil.copytree(shipped_evidence.data_path(name), tmp_path / name)
    digest = shipped_evidence.data_digest.__wrapped__
    before = digest()
    monkeypatch.setattr(shipped_evidence, "data_path", lambda *parts: tmp_path.joinpath(*parts))
    (tmp_path / "texts" / "README.md").write_text("Other words.")
    for file in (tmp_path / "negation").iterdir():
        file.write_bytes(file.read_bytes().replace(b"\r\n", b"\n").replace(b"\n", b"\r\n"))
    assert digest() == before
    file = next(file for file in sorted((tmp_path / "texts").iterdir()) if file.suffix != ".md")
    file.write_bytes(file.read_bytes() + b"changed\n")
    assert digest() != before


def test_a_collector_is_kept_under_the_name_that_it_has_in_the_table():
    table = evidence_table()
    assert {name: collector.kept_as[0] for name, collector in table.items()} == {name: name for name in table}


# --- models -----------------------------------------------------------------------------------------------


def test_a_twin_is_the_same_twin_on_a_processor_that_draws_other_last_digits(models):
    code = (
        "from bertlook_teach.model import load_encoder, random_twin; s = load_encoder('specimen')\n"
        "print(s.fingerprint, random_twin(s).fingerprint, random_twin(s, keep_embeddings=True).fingerprint)"
    )
    plain = {**os.environ, "ATEN_CPU_CAPABILITY": "default"}
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT, env=plain
    )
    specimen, twin = models["specimen"], models["specimen-random"]
    found = done.stdout.split()
    assert found == [m.fingerprint for m in (specimen, twin, random_twin(specimen, keep_embeddings=True))]
    assert len(set(found)) == 3


# --- compared ---------------------------------------------------------------------------------------------


def test_what_is_computed_again_may_differ_by_the_tolerance():
    from bertlook_course.analyses.negation import TagScore

    one = {
        "x": np.linspace(1, 2, 100),
        "n": 3,
        "score": TagScore(0.5, 0.1, 0.9, 0.75, 12),
        "t": [("a", None)],
    }
    assert differences(one, one) == []
    near = one | {"x": one["x"] * (1 + shipped_evidence.TOLERANCE / 2)}
    assert differences(one, near) == []
    for change, words in (
        ({"x": one["x"] * (1 + 2 * shipped_evidence.TOLERANCE)}, "x: 0.06 away, mean size 1.5"),
        ({"x": one["x"][:-1]}, "x: float64 of shape .100,., now float64 of shape .99,."),
        ({"x": np.full(100, np.nan)}, "x: numbers where there were none"),
        ({"n": 4}, "n: 3, now 4"),
        ({"score": one["score"]._replace(low=0.2)}, "score.1: 0.1 away"),
        ({"t": [("b", None)]}, "t.0.0: 'a', now 'b'"),
        ({"more": 1}, "x, n, score, t; now x, n, score, t, more"),
    ):
        [said] = differences(one, one | change)
        assert re.search(words, said), said


# --- what ships -------------------------------------------------------------------------------------------


def test_what_ships_is_fresh_and_complete(real, models):
    found = make_evidence.problems(make_evidence.parts(), models)
    assert not found, f"{AGAIN}:\n" + "\n".join(found[:10])


def test_what_ships_is_small_and_holds_no_pickle(real):
    files = sorted(real.rglob("*"))
    assert {file.suffix for file in files} <= {".npz", ".json", ".md"} and any(
        f.suffix == ".npz" for f in files
    )
    assert sum(file.stat().st_size for file in files) <= shipped_evidence.MOST_BYTES == 10_000_000
    for file in files:
        if file.suffix == ".npz":
            with np.load(file, allow_pickle=False) as members:
                assert not any(members[name].dtype.hasobject for name in members.files)


def test_no_lesson_fits_or_trains_while_its_evidence_fits(real, models, monkeypatch):
    import torch
    from scipy import optimize

    def refuse(*arguments, **options):
        raise AssertionError(f"something was fitted or trained; {AGAIN}")

    for target in (
        "bertlook_course.analyses.finetuning.tagger.fine_tune_tagger",
        "bertlook_course.analyses.finetuning.task_training._fine_tune",
        "bertlook_course.metrics.minimize.minimized",
        "bertlook_course.analyses.probing.layer_fits._Problem.solve",
        "bertlook_course.analyses.probing.attention_probes.fit_attention_probe",
        "bertlook_course.analyses.probing.attention_probes._minimize",
        "bertlook_course.analyses.probing.structural.fit_structural_probe",
        "bertlook_course.analyses.keywords.models.fit_logistic",
    ):
        monkeypatch.setattr(target, refuse)
    monkeypatch.setattr(torch.Tensor, "backward", refuse)
    monkeypatch.setattr(optimize, "minimize", refuse)
    monkeypatch.setattr(store, "_origins", {})
    for part in make_evidence.parts():
        part.run(models)
    assert set(store.origins().values()) == {"shipped evidence"}


def test_one_part_comes_out_the_same_when_it_is_computed_again(real, models):
    """The same part for the same tree; tools/make_evidence.py --compare computes all of them."""
    found = make_evidence.compare([make_evidence.part_of_this_tree()], models)
    assert not found, f"raise the version, then {AGAIN}:\n" + "\n".join(found[:10])


def test_another_tree_has_another_part(real, monkeypatch):
    first = make_evidence.part_of_this_tree()
    assert make_evidence.part_of_this_tree().label == first.label
    chosen = set()
    for number in range(9):
        monkeypatch.setattr(make_evidence, "code_digest", lambda n=number: str(n))
        chosen.add(make_evidence.part_of_this_tree().label)
    assert len(chosen) > 3


def test_a_part_that_came_out_otherwise_would_be_found_out(real, models, monkeypatch, capsys):
    part = next(part for part in make_evidence.parts() if part.label == "11 heads away, specimen-random")
    from bertlook_course.analyses.ablation import single_heads

    effects = single_heads.single_head_effects

    def wrong(scorer, batches, **options):
        found = effects(scorer, batches[:1], **options)
        found.losses[:] *= 1.05
        return found

    monkeypatch.setattr(single_heads, "single_head_effects", wrong)
    monkeypatch.setattr(make_evidence, "load_models", lambda: models)
    monkeypatch.setattr(make_evidence, "parts", lambda: [part])
    assert make_evidence.main(["--compare"]) == 1
    assert "'one head away': its version was forgotten. It is still 1, and" in capsys.readouterr().out


# --- said -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "origins, line",
    [
        (
            {"a": store.SHIPPED, "b": store.SHIPPED},
            "The fits and training runs of these slides were **done beforehand**.",
        ),
        ({"a": store.HERE}, "The fits and training runs of these slides were **computed here**."),
        ({}, "The fits and training runs of these slides were **computed here**."),
        (
            {"b": store.SHIPPED, "evidence a": store.HERE, "a": store.HERE},
            "The fits and training runs of these slides were **done beforehand**, but these were **computed here**: a.",
        ),
    ],
)
def test_the_slide_says_which(monkeypatch, origins, line):
    from bertlook_course.render import evidence_line

    monkeypatch.setattr(store, "_origins", origins)
    assert evidence_line() == line


def test_the_doctor_says_what_ships_and_whether_it_fits(folder, specimen, monkeypatch):
    from bertlook_press.classroom import Failed
    from bertlook_press.classroom import evidence as shipped

    with pytest.raises(Failed, match="none"):
        shipped()
    file = ship({"x": np.linspace(0, 1, 60_000)}, (specimen,))
    assert shipped().startswith("1 result, 0.") and shipped().endswith("all fit")
    half_written(file)
    with pytest.raises(Failed, match=f"1 of 1 .*{file.name} is damaged"):
        shipped()
    file.unlink()
    ship(1, ("some other model",))
    with pytest.raises(Failed, match="is of other weights"):
        shipped()
    monkeypatch.setenv("BERTLOOK_EVIDENCE", "off")
    assert "BERTLOOK_EVIDENCE says off" in shipped()


@pytest.mark.usefixtures("real")
def test_the_doctor_finds_that_all_that_ships_fits():
    from bertlook_press.classroom import evidence as shipped

    assert "all fit" in shipped()


def test_the_command_lists_checks_and_refuses(capsys, real, monkeypatch, models):
    monkeypatch.setattr(make_evidence, "load_models", lambda: models)
    assert make_evidence.main(["--list", "12 tuned"]) == 0
    assert capsys.readouterr().out.split("\n")[:2] == ["12 tuned, specimen", "12 tuned, specimen-random"]
    assert make_evidence.main(["--check", "12 tuned"]) == 0
    with pytest.raises(SystemExit):
        make_evidence.main(["--check", "99"])
    assert "no part begins with 99" in capsys.readouterr().err


def test_the_command_goes_on_where_it_was_stopped(folder, models, capsys, monkeypatch):
    made = []

    def part(name, stop=False):
        def run(models):
            def make():
                if stop:
                    raise KeyboardInterrupt
                made.append(name)
                return name

            return store.cached(name, (models["specimen"],), make, version=1)

        return make_evidence.Part(name, run)

    with pytest.raises(KeyboardInterrupt):
        make_evidence.make([part("a"), part("b", stop=True)], models)
    make_evidence.make([part("a"), part("b")], models)
    assert made == ["a", "b"] and "[1/2] a ... there" in capsys.readouterr().out
    assert make_evidence.problems([part("a"), part("b")], models) == []
    [superfluous] = make_evidence.problems([part("a")], models)
    assert re.fullmatch(r"b-v1-\w+-\w+\.npz is used by nothing", superfluous)
    [missing] = make_evidence.problems([part("a"), part("b"), part("c")], models)
    assert missing == "c: 'c', version 1, is not shipped"
    monkeypatch.setattr(make_evidence, "parts", lambda: [part("a")])
    monkeypatch.setattr(make_evidence, "load_models", lambda: models)
    assert make_evidence.main([]) == 0  # what is superfluous goes
    assert [file.name[:5] for file in sorted(folder.iterdir())] == ["a-v1-"]
