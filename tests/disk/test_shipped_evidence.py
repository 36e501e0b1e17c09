"""Evidence that ships: found on every computer, never where it does not fit, and as fresh as the sources."""

from __future__ import annotations

import ast
import importlib
import json
import os
import re
import shutil
import subprocess
import sys
import time
from datetime import date
from pathlib import Path

import numpy as np
import pytest

from bertlook_teach.claims import Resources, collect_evidence
from bertlook_teach.disk import cache as store
from bertlook_teach.disk import pack, shipped_evidence
from bertlook_teach.disk.shipped_evidence import (
    computing_sources,
    differences,
    evidence_folder,
    shipped_files,
)
from bertlook_teach.model import random_twin
from bertlook_teach.stats import CannotDecide

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools"))

import make_evidence

HERE = "bertlook_teach.analyses.negation.cues"  # a module that a result can be said to come from
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
    return {"specimen": specimen, "specimen-random": random_twin(specimen)}


def kept(value, key=("key",), **options):
    return store.cached("a thing", key, lambda: value, made_in=HERE, **options)


def ship(value, key=("key",)) -> Path:
    with store.shipping():
        kept(value, key)
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


def test_what_is_too_large_or_of_no_module_of_ours_does_not_ship(folder):
    with store.shipping():
        assert kept(1, ships=False) == 1
        assert store.cached("b", (), lambda: 1) == 1
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
    for way in (store.shipping, store.requiring):
        with way(), pytest.raises(CannotDecide, match="no question of the task"):
            collect_evidence("layers", specimen, few)


def test_what_is_not_shipped_can_be_refused(folder):
    with store.requiring(), pytest.raises(store.NotShipped, match="'a thing' is not shipped"):
        kept(1)
    with store.requiring(), pytest.raises(store.NotShipped, match="too large"):
        kept(1, ships=False)


def test_everything_can_be_computed_again(folder):
    file = ship(1)
    with store.recomputing() as again:
        assert kept(2) == 2
        assert again == {file.name: 2}
    assert kept(3) == 1


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


def half_written(file):
    file.write_bytes(file.read_bytes()[: file.stat().st_size // 2])


def cut_by_a_byte(file):
    file.write_bytes(file.read_bytes()[:-1])


def empty(file):
    file.write_bytes(b"")


def another_format(file):
    note = {"format": shipped_evidence.FORMAT + 1, "digest": "whatever"}
    file.write_bytes(pack("wrong", note=note))


def without_a_note(file):
    file.write_bytes(pack("wrong"))


def rewritten(file, **changes):
    """The same note, and so the right digest, beside other content."""
    with np.load(file) as old:
        parts = {name: old[name] for name in old.files}
    np.savez(file, **(parts | {name: change(parts[name]) for name, change in changes.items()}))


def a_foreign_class(file):
    def change(tree):
        text = re.sub(r'"bertlook_teach\.[\w.]+"', '"subprocess"', tree.tobytes().decode(), count=1)
        return np.frombuffer(text.encode(), np.uint8)

    rewritten(file, tree=change)


def a_foreign_class_in_earnest(file):
    """Not only changed by accident: the checksum is right as well."""
    from bertlook_teach.disk import packing

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


def arrays_cut_short(file):
    rewritten(file, f4=lambda numbers: numbers[:, :-2])


def a_folder(file):
    file.unlink()
    file.mkdir()


BAD = [
    (other_weights, "was made with other weights, texts, settings or sources"),
    (half_written, "is damaged"),
    (cut_by_a_byte, "is damaged"),
    (empty, "is damaged"),
    (another_format, "has format 2, not 1"),
    (without_a_note, "has format None, not 1"),
    (a_foreign_class, "is damaged .its parts do not belong together"),
    (a_foreign_class_in_earnest, "subprocess is not a part of bertlook_teach"),
    (arrays_of_another_shape, "is damaged"),
    (arrays_cut_short, "is damaged"),
    (a_folder, "cannot be read"),
]


@pytest.mark.parametrize("spoil, words", BAD, ids=lambda value: getattr(value, "__name__", None))
def test_what_does_not_fit_is_said_and_computed(folder, spoil, words):
    from bertlook_teach.claims import Evidence

    value = Evidence("some", 3, {"x": np.arange(6.0).reshape(3, 2) / 7}, {"x": np.arange(3)})
    spoil(ship(value))
    with pytest.warns(UserWarning, match=f"(?s)shipped evidence a-thing-.*{words}.*computed here instead"):
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
        assert store.cached("a thing", ("key",), lambda: 3, back=back, made_in=HERE) == 3


def test_what_does_not_fit_is_made_anew_by_the_command(folder):
    half_written(ship(1))
    with pytest.warns(UserWarning, match="damaged"):
        ship(2)
    assert kept(3) == 2


# --- the digest -------------------------------------------------------------------------------------------


@pytest.fixture
def copy(tmp_path, monkeypatch):
    """The package's sources and inputs in a folder where they can be changed."""
    package = tmp_path / "bertlook_teach"
    shutil.copytree(shipped_evidence.PACKAGE, package, ignore=shutil.ignore_patterns("__pycache__"))
    data = tmp_path / "data"
    for name in shipped_evidence.INPUTS:
        shutil.copytree(shipped_evidence.data_path(name), data / name)
    monkeypatch.setattr(shipped_evidence, "PACKAGE", package)
    monkeypatch.setattr(shipped_evidence, "data_path", lambda *parts: data.joinpath(*parts))
    forget_sources()
    yield tmp_path
    forget_sources()


def forget_sources():
    for name in ("_imported", "_handed_on", "_sources", "_inputs"):
        getattr(shipped_evidence, name).cache_clear()


def digest(module="bertlook_teach.claims.collectors.lesson14") -> str:
    forget_sources()
    return shipped_evidence.portable_digest("a", "('key',)", [module])


@pytest.mark.parametrize(
    "changed, matters",
    [
        ("bertlook_teach/analyses/negation/cues.py", True),
        ("bertlook_teach/analyses/finetuning/tagger.py", True),
        ("bertlook_teach/model/encoder.py", True),
        ("bertlook_teach/claims/collectors/lesson14.py", True),
        ("bertlook_teach/claims/verdicts.py", False),
        ("data/negation", True),
        ("data/texts", True),
        ("bertlook_teach/render/results/claims.py", False),
        ("bertlook_teach/widgets/head_map.py", False),
        ("bertlook_teach/classroom/doctor.py", False),
        ("bertlook_teach/commands/line.py", False),
        ("bertlook_teach/disk/cache.py", False),
        ("bertlook_teach/__init__.py", False),
        ("bertlook_teach/checks/lesson14.py", False),
        ("bertlook_teach/claims/lessons/lesson14.py", False),
        ("bertlook_teach/claims/claim.py", False),
        ("data/texts/README.md", False),
    ],
)
def test_a_change_of_what_computes_matters_and_of_what_shows_does_not(copy, changed, matters):
    before = digest()
    file = copy / changed
    if file.is_dir():
        file = next(f for f in sorted(file.rglob("*")) if f.is_file() and f.suffix != ".md")
    file.write_bytes(file.read_bytes() + b"\n# changed\n")
    assert (digest() != before) == matters


def test_the_ends_of_lines_do_not_matter(copy):
    before = digest()
    for file in (
        copy / "bertlook_teach" / "analyses" / "negation" / "cues.py",
        copy / "bertlook_teach" / "claims" / "collectors" / "lesson14.py",
    ):
        file.write_bytes(file.read_bytes().replace(b"\n", b"\r\n"))
    for file in (copy / "data" / "negation").iterdir():
        file.write_bytes(file.read_bytes().replace(b"\r\n", b"\n").replace(b"\n", b"\r\n"))
    assert digest() == before


def test_a_name_a_key_or_another_maker_is_another_digest():
    makers = (
        ["bertlook_teach.analyses.negation.cues"],
        ["bertlook_teach.analyses.negation.cues", "bertlook_teach.analyses.probing.layer_probes"],
    )
    found = {
        shipped_evidence.portable_digest(name, key, modules)
        for name in ("a", "b")
        for key in ("('k',)", "('l',)")
        for modules in makers
    }
    assert len(found) == 8


def test_the_digest_takes_no_time():
    forget_sources()
    start = time.process_time()
    for lesson in ("08", "10", "11", "12", "13", "14"):
        shipped_evidence.portable_digest("a", "", [f"bertlook_teach.claims.lessons.lesson{lesson}"])
    assert time.process_time() - start < 0.2


def imported_by(path: Path) -> set[Path]:
    """The second way, by the grammar."""
    found = set()
    here = path.relative_to(shipped_evidence.PACKAGE).parent.parts
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and (
            node.level or (node.module or "").startswith("bertlook_teach")
        ):
            module = tuple((node.module or "").split(".")) if node.module else ()
            base = (*here[: len(here) + 1 - node.level], *module) if node.level else module[1:]
            names = [base, *((*base, alias.name) for alias in node.names)]
            room = importlib.import_module(".".join(("bertlook_teach", *filter(None, base))))
            doors = {
                name: home for home, given in getattr(room, "_HOMES", {}).items() for name in given.split()
            }
            names += [(*base, *doors[a.name].split(".")) for a in node.names if base and a.name in doors]
        elif isinstance(node, ast.Import):
            names = [tuple(a.name.split(".")[1:]) for a in node.names if a.name.startswith("bertlook_teach.")]
        else:
            continue
        found |= {file for file in map(shipped_evidence._file, names) if file is not None}
    return {file for file in found if shipped_evidence._computes(file)}


def test_the_imports_are_those_that_the_grammar_finds():
    for path in shipped_evidence.PACKAGE.rglob("*.py"):
        missed = imported_by(path) - set(shipped_evidence._imported(path))
        assert not missed, (
            f"{path.name} imports {', '.join(m.name for m in missed)}, which the digest does not see"
        )


def test_nothing_that_shows_is_among_what_computes():
    showing = {"render", "widgets", "checks", "classroom", "commands"}
    for lesson in range(1, 15):
        for file in computing_sources(f"bertlook_teach.claims.lessons.lesson{lesson:02}"):
            assert file.relative_to(shipped_evidence.PACKAGE).parts[0] not in showing


def test_what_an_import_brings_is_among_what_computes():
    """Also what no text says: modules that come with importing the makers, in a fresh process."""
    makers = sorted({module for shipped in shipped_files_of_the_course() for module in shipped.modules})
    assert makers, AGAIN
    code = f"import importlib, sys, json\nfor name in {makers!r}: importlib.import_module(name)\nprint(json.dumps(sorted(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT)
    loaded = {
        name.removeprefix("bertlook_teach.")
        for name in json.loads(done.stdout)
        if name.startswith("bertlook_teach.")
    }
    known = {file for maker in makers for file in computing_sources(maker)}
    for name in loaded:
        file = shipped_evidence._file(tuple(name.split(".")))
        assert file in known or not shipped_evidence._computes(file), f"{name} is loaded, and in no digest"


def shipped_files_of_the_course():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(shipped_evidence, "evidence_folder", evidence_folder)
        patch.delenv("BERTLOOK_EVIDENCE", raising=False)
        return list(shipped_files())


def test_a_module_that_is_none_of_ours_has_no_sources():
    with pytest.raises(ValueError, match="is not a module of bertlook_teach"):
        computing_sources("bertlook_teach.nowhere")


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
    specimen, twin = models.values()
    found = done.stdout.split()
    assert found == [m.fingerprint for m in (specimen, twin, random_twin(specimen, keep_embeddings=True))]
    assert len(set(found)) == 3


def test_another_seed_or_way_is_another_twin(models):
    specimen, twin = models.values()
    others = [random_twin(specimen, seed=1), random_twin(specimen, keep_embeddings=True)]
    assert len({twin.fingerprint, *(other.fingerprint for other in others)}) == 3


# --- compared ---------------------------------------------------------------------------------------------


def test_what_is_computed_again_may_differ_by_the_tolerance():
    from bertlook_teach.analyses.negation import TagScore

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
    assert sum(file.stat().st_size for file in files) <= shipped_evidence.MOST_BYTES == 6_000_000
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
        "bertlook_teach.analyses.finetuning.tagger.fine_tune_tagger",
        "bertlook_teach.analyses.finetuning.classifier._fine_tune",
        "bertlook_teach.stats.minimize.minimized",
        "bertlook_teach.analyses.probing.layer_probes.fit_mix_probe",
        "bertlook_teach.analyses.probing.attention_probes.fit_attention_probe",
        "bertlook_teach.analyses.probing.attention_probes._minimize",
        "bertlook_teach.analyses.probing.structural.fit_structural_probe",
        "bertlook_teach.analyses.keywords.models.fit_logistic",
    ):
        monkeypatch.setattr(target, refuse)
    monkeypatch.setattr(torch.Tensor, "backward", refuse)
    monkeypatch.setattr(optimize, "minimize", refuse)
    monkeypatch.setattr(store, "_origins", {})
    for part in make_evidence.parts():
        part.run(models)
    assert set(store.origins().values()) == {"shipped evidence"}


def week() -> int:
    year, number, _ = date.today().isocalendar()
    return 53 * year + number


QUICK = [part for part in make_evidence.parts() if not part.slow]


@pytest.mark.parametrize("part", [QUICK[week() % len(QUICK)]], ids=lambda part: part.label)
def test_the_part_of_this_week_comes_out_the_same_when_it_is_computed_again(real, models, part):
    """Another one each week; tools/make_evidence.py --compare computes all of them."""
    found = make_evidence.compare([part], models)
    assert not found, f"{AGAIN}:\n" + "\n".join(found[:10])


def test_a_part_that_came_out_otherwise_would_be_found_out(real, models, monkeypatch):
    part = next(part for part in QUICK if part.label.startswith("11 heads away, specimen-random"))
    from bertlook_teach.analyses.ablation import single_heads

    effects = single_heads.single_head_effects

    def wrong(scorer, batches, **options):
        found = effects(scorer, batches[:1], **options)
        found.losses[:] *= 1.05
        return found

    monkeypatch.setattr(single_heads, "single_head_effects", wrong)
    assert make_evidence.compare([part], models)


# --- said -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "origins, line",
    [
        (
            {"a": store.SHIPPED, "b": store.SHIPPED},
            "Fits and trainings on these slides: **shipped evidence**.",
        ),
        ({"a": store.HERE}, "Fits and trainings on these slides: **computed here**."),
        ({}, "Fits and trainings on these slides: **computed here**."),
        (
            {"b": store.SHIPPED, "evidence a": store.HERE, "a": store.HERE},
            "Fits and trainings on these slides: **shipped evidence**; **computed here**: a.",
        ),
    ],
)
def test_the_slide_says_which(monkeypatch, origins, line):
    from bertlook_teach.render import evidence_line

    monkeypatch.setattr(store, "_origins", origins)
    assert evidence_line() == line


def test_the_doctor_says_what_ships_and_whether_it_fits(folder, specimen, monkeypatch):
    from bertlook_teach.classroom import Failed, evidence

    with pytest.raises(Failed, match="none"):
        evidence()
    file = ship({"x": np.linspace(0, 1, 60_000)}, (specimen,))
    assert evidence().startswith("1 result, 0.") and evidence().endswith("all fit")
    half_written(file)
    with pytest.raises(Failed, match=f"1 of 1 .*{file.name} is damaged"):
        evidence()
    file.unlink()
    ship(1, ("some other model",))
    with pytest.raises(Failed, match="is of other weights"):
        evidence()
    monkeypatch.setenv("BERTLOOK_EVIDENCE", "off")
    assert "BERTLOOK_EVIDENCE says off" in evidence()


def test_the_command_lists_checks_and_refuses(capsys, real, monkeypatch, models):
    monkeypatch.setattr(make_evidence, "load_models", lambda: models)
    assert make_evidence.main(["--list", "12 tuned"]) == 0
    assert capsys.readouterr().out.split("\n")[:2] == ["12 tuned, specimen", "12 tuned, specimen-random"]
    assert make_evidence.main(["--check", "12 tuned"]) == 0
    with pytest.raises(SystemExit):
        make_evidence.main(["--check", "99"])
    assert "no part begins with 99" in capsys.readouterr().err


def test_the_command_goes_on_where_it_was_stopped(folder, models, capsys):
    made = []

    def part(name, stop=False):
        def run(models):
            def make():
                if stop:
                    raise KeyboardInterrupt
                made.append(name)
                return name

            return store.cached(name, (models["specimen"],), make, made_in=HERE)

        return make_evidence.Part(name, run)

    with pytest.raises(KeyboardInterrupt):
        make_evidence.make([part("a"), part("b", stop=True)], models)
    make_evidence.make([part("a"), part("b")], models)
    assert made == ["a", "b"] and "[1/2] a ... there" in capsys.readouterr().out
    assert make_evidence.problems([part("a"), part("b")], models) == [
        "manifest.json does not say what is there"
    ]
    assert make_evidence.problems([part("a")], models) == [
        f"{shipped_evidence.file_name('b', repr((models['specimen'].fingerprint,)))} is used by nothing"
    ]
    [missing] = make_evidence.problems([part("a"), part("b"), part("c")], models)
    assert missing == "c: 'c' is not shipped"
