"""Break the package on purpose, forty times, and see whether a test of the same folder notices: the table in docs/reliability.md.

    python tools/mutations.py               all of them, one after the other (an hour on two cores)
    python tools/mutations.py 1 2 17        these

Each break is one edit in a copy of the tree; the tests of its folder then have to fail. The numbers are those of the table.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]

# (file in bertlook_teach, what stands there once, what replaces it, folder or file in tests)
BREAKS = [
    ("bertlook_teach/measures/surface.py", "_diagonal_sum(weights, offset) / w", "_diagonal_sum(weights, -offset) / w", "measures"),
    ("bertlook_teach/measures/surface.py", "entropy / np.log(n) if", "entropy / np.log(n + 1) if", "measures"),
    ("bertlook_teach/measures/norms.py", "weights * norms[..., None, :]", "weights * norms[..., :, None]", "measures"),
    ("bertlook_teach/measures/rollout.py", "(1 - residual) * rows + residual * itself", "residual * rows + (1 - residual) * itself", "measures"),
    ("bertlook_teach/measures/kovaleva_classes.py", "[BOTH, VERTICAL, DIAGONAL, BLOCK]", "[BOTH, DIAGONAL, VERTICAL, BLOCK]", "measures"),
    ("bertlook_course/metrics/best_head.py", "np.where(half == 1, first,", "np.where(half == 0, first,", "stats"),
    ("bertlook_teach/stats/bootstrap.py", " * np.sqrt(n / (n - 1))) if", ") if", "stats"),
    ("bertlook_teach/stats/paired_tests.py", "np.maximum.accumulate(stepped)", "stepped", "stats"),
    ("bertlook_course/metrics/metrics.py", "below = 2 * tp + fp + fn", "below = 2 * tp + fp", "stats"),
    ("bertlook_teach/model/words.py", "(membership / xp.sum(membership, axis=0)).T", "membership.T", "model"),
    ("bertlook_course/analyses/anatomy/by_hand.py", "(centred**2).mean(", "(centred**2).sum(", "measures"),
    ("bertlook_teach/model/numpy_bert.py", "np.float32(self.config.layer_norm_eps)", "np.float32(1e-3)", "model"),
    ("bertlook_teach/model/head_names.py", "return int(layer) - 1, int(head) - 1", "return int(layer) - 1, int(head)", "model"),
    ("bertlook_course/corpora/documents.py", "places = document_numbers(sentences) % 2", "places = np.arange(len(sentences)) % 2", "corpora"),
    ("bertlook_course/corpora/treebank.py", "if len(roots) != 1:", "if len(roots) > 2:", "corpora"),
    ("bertlook_course/corpora/stanford.py", 'return "tmod" if lemma in TIMES else "npadvmod"', 'return "npadvmod"', "corpora"),
    ("bertlook_course/analyses/syntax/gold.py", "np.clip(offsets, -before, after)", "np.clip(offsets, -before, after + 1)", "analyses/syntax"),
    ("bertlook_course/analyses/syntax/relations.py", "half = documents[gold.sentences[words]] % 2", "half = gold.sentences[words] % 2", "analyses/syntax"),
    ("bertlook_course/analyses/patterns/counting.py", "if not fewest <= n < len(self.cases):", "if True:", "analyses/patterns"),
    ("bertlook_course/analyses/coreference/antecedents.py", "key=lambda m: (m.head < mention.head, m.head)", "key=lambda m: m.head", "analyses/coreference"),
    ("bertlook_course/analyses/negation/cues.py", "(n - len(x.cue)) * len(x.cue)", "n * len(x.cue)", "analyses/negation"),
    ("bertlook_course/analyses/keywords/scores.py", "sum(axis=-2) / (n - 1)", "sum(axis=-2) / n", "analyses/keywords"),
    ("bertlook_course/analyses/ablation/gate_importance.py", "(raw**2).sum(axis=1, keepdims=True)", "(raw**2).sum(keepdims=True)", "analyses/ablation"),
    ("bertlook_course/claims/evidence.py", "reporting = order[1::2]", "reporting = order[::2]", "claims"),
    ("bertlook_course/claims/verdicts.py", "elif 0 < ours.n_choice < FEWEST_CHOOSING:", "elif False:", "claims"),
    ("bertlook_course/claims/essay/evidence.py", "np.flatnonzero(units % 2)", "np.flatnonzero(units % 2 == 0)", "claims"),
    ("bertlook_teach/views/drawing/sentences.py", "if 0.995 <= share < 0.9999:", "if False:", "render"),
    ("bertlook_teach/views/drawing/head_map.py", "grid.cells(cell, range(1, n_layers + 1))", "grid.cells(cell, range(n_layers))", "render"),
    ("bertlook_course/render/texts/arcs.py", "a < high and low < b", "a <= high and low <= b", "render"),
    ("bertlook_course/checks/compare.py", "if abs(number - expected) <= tolerance:", "if abs(number - expected) <= 10 * tolerance:", "checks"),
    ("bertlook_teach/views/head_view.py", '{"query": len(text["tokens"])', '{"query": len(text["tokens"]) + 1', "widgets"),
    ("bertlook_teach/views/chosen_head.py", "self.head = min(self.head, self.shape[1] - 1)", "self.head = min(self.head, self.shape[1])", "widgets"),
    ("bertlook_teach/views/js/core.js", "Math.floor(share * 100 + 0.5)", "Math.floor(share * 100)", "browser/test_widgets_browser.py"),
    ("bertlook_course/widgets/js/arc_view.js", "ends[i][0] < b", "ends[i][0] <= b", "browser/test_arc_view_browser.py"),
    ("bertlook_press/classroom/jupyter_home.py", 'environ["JUPYTER_CONFIG_DIR"] = str(home / "config")', "pass", "classroom"),
    ("bertlook_press/classroom/export/strangers.py", 'name.startswith("on")', 'name.startswith("onc")', "classroom"),
    ("bertlook_bench/line.py", "int(found[1]) + 1} of the corpus", "int(found[1])} of the corpus", "commands"),
    ("bertlook_teach/disk/files.py", '            begin(Path(path), "wb").write(encoded)', '            open(path, "wb").write(encoded)', "disk"),
    ("bertlook_course/storage/printing.py", "return round(value, 6)", "return round(value, 2)", "disk"),
    ("bertlook_course/published/syntax.py", '"g>d" if self.governor_looks', '"g>d" if not self.governor_looks', "published"),
]  # fmt: skip


def tried(number: int, tree: Path) -> str:
    """A row of the table: whether a test fails, and which. The file is put back."""
    name, old, new, folder = BREAKS[number - 1]
    file = tree / name
    before = file.read_text(encoding="utf-8")
    file.write_text(before.replace(old, new), encoding="utf-8")
    near = sorted(
        (tree / "tests" / folder).glob(f"**/test_*{file.stem.split('_')[0]}*.py")
    )  # these first: sooner done
    run = subprocess.run(
        [sys.executable, "-B", "-m", "pytest", "-x", "-q", "--tb=no", "-p", "no:cacheprovider", *near, f"tests/{folder}"],
        cwd=tree,
        env=os.environ | {"PYTHONPATH": str(tree), "BERTLOOK_CACHE": str(tree.parent / "cache")},
        capture_output=True,
        check=False,
        text=True,
    )  # fmt: skip
    file.write_text(before, encoding="utf-8")
    failed = [line.split()[1] for line in run.stdout.splitlines() if line.startswith(("FAILED", "ERROR"))]
    caught = f"**not caught** ({run.returncode})"
    if run.returncode == 1 and failed:
        caught = f"`{failed[0].partition('[')[0]}`"
    return f"{row(number)}{caught} |"


def row(number: int) -> str:
    """A row of the table as far as the break itself goes."""
    name, old, new, _ = BREAKS[number - 1]
    old, new = (" ".join(text.split()).replace("|", "\\|") for text in (old, new))
    return f"| {number} | `{name}` | `{old}` | `{new}` | "


def lost(breaks: list[tuple[str, str, str, str]] = BREAKS) -> list[str]:
    """The breaks that do not fit the sources any more: what they replace has to stand in its file once."""
    counts = [((ROOT / name).read_text(encoding="utf-8").count(old)) for name, old, *_ in breaks]
    return [
        f"break {number}: {name} holds {old!r} {count} times, and once is needed"
        for number, (count, (name, old, *_)) in enumerate(zip(counts, breaks, strict=True), 1)
        if count != 1
    ]


def main(numbers: list[int]) -> None:
    if lost():
        raise SystemExit("\n".join(lost()))
    with tempfile.TemporaryDirectory() as folder:
        tree = Path(folder) / "tree"
        left_out = shutil.ignore_patterns(".git", ".venv", "__pycache__", ".ruff_cache", "exported", "out")
        shutil.copytree(ROOT, tree, ignore=left_out)
        print("| | file | what stood there | what stood there instead | test |\n|---|---|---|---|---|")
        for number in numbers:
            print(tried(number, tree), flush=True)


if __name__ == "__main__":
    main([int(word) for word in sys.argv[1:]] or list(range(1, len(BREAKS) + 1)))
