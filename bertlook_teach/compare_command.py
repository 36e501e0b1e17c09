"""``bertlook compare``: what changed in every head between two checkpoints of one shape, beside two models that share nothing."""

from __future__ import annotations

import argparse
import sys
from functools import partial
from itertools import islice

from . import __version__
from .profile import writable_folder
from .report import align, save_rows

__all__ = ["add_arguments", "run"]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of ``bertlook compare``."""
    parser.description = (
        "Compares every head of two checkpoints on the same texts: cosine and Jensen-Shannon divergence of the maps with intervals, the "
        "curves of what heads look at, and whether the best pairing of heads gives each to itself. Beside it stands the first "
        "checkpoint against its random twin: what two models give that share nothing. Writes compare.csv (a row a head), "
        "compare-layers.csv (a row a layer) and both as JSON."
    )
    add = parser.add_argument
    add("before", metavar="BEFORE", help="specimen, a hub name or a folder")
    add("after", metavar="AFTER", help="a checkpoint of the same shape and vocabulary")
    source = parser.add_mutually_exclusive_group()
    source.add_argument(
        "--texts", metavar="FILE", help="one text a line, plain or .gz (default: the shipped sentences)"
    )
    source.add_argument("--pairs", metavar="FILE", help="pairs of texts instead")
    add("--limit", type=int, metavar="N", help="the first N texts only")
    add("--out", metavar="DIR", required=True, help="folder for the result")
    add("--no-twin", action="store_true", help="leave out the random twin")
    add(
        "--no-matching",
        action="store_true",
        help="do not pair heads off: needs less memory for large models and many texts",
    )
    add("--truncate", action="store_true", help="cut texts that are too long rather than stop")
    add("--batch-size", type=int, default=8, metavar="N")
    add("--device", default="auto", help="auto, cpu, cuda, mps (default: auto)")
    add("--quiet", action="store_true", help="no progress bar")


def run(args: argparse.Namespace) -> int:
    """``bertlook compare``: returns the exit code."""
    from tqdm import tqdm

    from .checkpoints import compare_checkpoints
    from .encoder import load_encoder, random_twin

    if args.limit is not None and args.limit < 2:
        raise ValueError(f"--limit needs at least two texts, for intervals; got {args.limit}.")
    texts = _texts(args)
    folder = writable_folder(args.out)
    before, after = (load_encoder(name, device=args.device) for name in (args.before, args.after))
    compare = partial(
        compare_checkpoints,
        texts=texts,
        matching=not args.no_matching,
        truncate=args.truncate,
        batch_size=args.batch_size,
        progress=partial(
            tqdm, total=len(texts), desc="texts", unit="text", disable=args.quiet, file=sys.stderr
        ),
    )
    found = compare(before, after)
    others = {} if args.no_twin else {"random twin": compare(before, random_twin(before))}
    late, low, high = found.late_minus_early() if found.shape[0] > 1 else (None,) * 3
    about = {
        "before": before.name,
        "after": after.name,
        "fingerprints": [found.about["before"], found.about["after"]],
        "n": found.n_texts,
        "mean cosine": round(float(found.cosine.mean()), 6),
        "floor: cosine with the other heads of the layer": round(float(found.floor.mean()), 6),
        "mean divergence, nats": round(float(found.js.mean()), 6),
        "last third of the layers minus first, nats": None if late is None else [round(v, 6) for v in (late, low, high)],
        "protocol": "maps cropped to the texts' own tokens, special tokens in; every text weighs the same; 95 % bootstrap over texts",
        "version": __version__,
    }  # fmt: skip
    print(
        f"{before.name} -> {after.name}, {found.n_texts} texts: mean cosine {found.cosine.mean():.3f} (with the other heads of the layer "
        f"{found.floor.mean():.3f}), divergence {found.js.mean():.4f} nats."
    )
    print(_format(found.layers()))
    if late is not None:
        print(
            f"Divergence of the last third of the layers minus that of the first: {late:+.4f} [{low:+.4f}, {high:+.4f}] nats."
        )
    for name, comparison in {after.name: found, **others}.items():
        about[f"against {name}"] = {"mean divergence, nats": round(float(comparison.js.mean()), 6)}
        said = f"{name}: divergence {comparison.js.mean():.4f} nats"
        if comparison.cross is not None:
            pairs = comparison.matching()
            about[f"against {name}"] |= {
                "heads paired with themselves": pairs.kept,
                "low": pairs.low,
                "high": pairs.high,
                "of": pairs.n_heads,
            }
            said += f"; {pairs.kept} of {pairs.n_heads} heads are paired with themselves [{pairs.low:g}, {pairs.high:g}]"
        print(said + ".")
    if found.cross is not None:
        print("Pairing at random keeps one head on average.")
    print(save_rows(folder, "compare", found.heads(), about))
    print(save_rows(folder, "compare-layers", found.layers(), about))
    return 0


def _texts(args: argparse.Namespace) -> list:
    from .corpora import iter_pairs, iter_texts, load_texts

    if args.pairs:
        source = iter_pairs(args.pairs)
    else:
        source = iter_texts(args.texts) if args.texts else load_texts()
    texts = list(islice(source, args.limit))
    if len(texts) < 2:
        raise ValueError(f"a comparison with intervals needs at least two texts; got {len(texts)}.")
    return texts


def _format(rows: list[dict]) -> str:
    lines = [
        ["layer", "cosine [95 %]", "floor", "divergence [95 %]", "[SEP] before", "after", "change [95 %]"]
    ]
    for row in rows:
        lines.append(
            [
                str(row["layer"]),
                f"{row['cosine']:.3f} [{row['cosine_low']:.3f}, {row['cosine_high']:.3f}]",
                f"{row['floor']:.3f}",
                f"{row['js']:.4f} [{row['js_low']:.4f}, {row['js_high']:.4f}]",
                f"{row['sep_before']:.3f}",
                f"{row['sep_after']:.3f}",
                f"{row['sep_change']:+.3f} [{row['sep_change_low']:+.3f}, {row['sep_change_high']:+.3f}]",
            ]
        )
    return align(lines)
