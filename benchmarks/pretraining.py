"""Tokens a second of a training step of tools/pretrain.py, against the same step with transformers' own forward pass. Ratios of one run.

    python benchmarks/pretraining.py [--shapes 6x64x96 ...] [--repeat 3] [--threads 1] [--precision bfloat16] [--compile] [--new-pages]

A shape is layers x wordpieces x inputs of a batch; the defaults are those of the recipes' phases. The inputs are random wordpieces without
padding (in a real run 99 % of the places are filled). "eager" and "sdpa" are transformers' BERT with its two ways to attend, logits at
the masked positions only, and torch's cross-entropy; "ours" is `pretrain_model.forward` and `losses`, "compiled" the same through torch.compile. All give
the same loss to 1e-4 (in bfloat16 to 1e-2). They take turns after a warm-up of each; what counts is the median, in processor time (which a busy machine
disturbs less) and on the clock. A step is masking, forward, backward, clipping and AdamW. With --new-pages the C library gives freed memory back, as it
does by itself; a training keeps it.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tools"))
SHAPES = ("3x32x96", "6x64x48", "6x64x96", "6x64x192", "6x128x24", "6x128x96")


def theirs(model, batch, masked, targets, device, precision):
    """What `pretrain_model.forward` gives, by transformers' own forward pass."""
    import pretrain_data as data
    import torch

    ids, segments, is_random = batch
    targets = torch.from_numpy(targets)
    chosen = targets != data.NOT_A_TARGET
    with torch.autocast("cpu", dtype=torch.bfloat16, enabled=precision == "bfloat16"):
        output = model.bert(
            torch.from_numpy(masked),
            attention_mask=torch.from_numpy((ids != data.PAD).astype(np.int64)),
            token_type_ids=torch.from_numpy(segments),
        )
        words = model.cls.predictions(output.last_hidden_state[chosen])
        order = model.cls.seq_relationship(output.pooler_output)
    return words.float(), targets[chosen], order.float(), torch.from_numpy(is_random)


def plain_losses(words, gold, order, is_random):
    """`pretrain_model.losses` by torch's own cross-entropy."""
    from torch.nn.functional import cross_entropy

    return cross_entropy(words, gold), cross_entropy(order, is_random)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--shapes", nargs="+", default=list(SHAPES), metavar="LxTxB")
    parser.add_argument("--repeat", type=int, default=3, help="turns of each (default: 3)")
    parser.add_argument("--threads", type=int, default=1, help="torch threads (default: 1)")
    parser.add_argument(
        "--compile", action="store_true", help="torch.compile too (a minute or two to compile each shape)"
    )
    parser.add_argument("--precision", choices=("float32", "bfloat16"), default="float32")
    parser.add_argument("--new-pages", action="store_true", help="without pretrain_model.keep_memory")
    args = parser.parse_args()
    import pretrain
    import pretrain_data as data
    import pretrain_model as models
    import torch

    torch.set_num_threads(args.threads)
    if not args.new_pages:
        models.keep_memory()
    recipe = pretrain.read_recipe(ROOT / "data" / "model" / "recipe.toml")
    size, device = recipe["tokenizer"]["vocab_size"], torch.device("cpu")
    print(
        f"torch {torch.__version__}, {args.threads} threads, {args.precision}{', new pages' if args.new_pages else ''}; load {os.getloadavg()[0]:.1f}"
    )
    for shape in args.shapes:
        layers, length, n = map(int, shape.split("x"))
        rng = np.random.default_rng(0)
        segments = np.zeros((n, length), np.int64)
        segments[:, length // 2 :] = 1
        batch = rng.integers(len(data.SPECIAL_TOKENS), size, (n, length)), segments, rng.integers(0, 2, n)
        masked, targets = data.mask_tokens(batch[0], vocab_size=size, rng=rng)
        ways = {"eager": theirs, "sdpa": theirs, "ours": models.forward}
        if args.compile:
            ways["compiled"] = torch.compile(models.forward, dynamic=False)
        made = {}
        for name in ways:
            model = models.build_model(
                recipe, {**recipe["phases"][1], "layers": layers}, vocab_size=size, seed=0
            )
            model.train().set_attn_implementation("eager" if name == "eager" else "sdpa")
            made[name] = model, models.make_optimizers(model, recipe)["adamw"][0]

        def step(name):
            model, optimizer = made[name]  # noqa: B023 - called in this turn of the loop only
            started = time.process_time(), time.perf_counter()
            data.mask_tokens(batch[0], vocab_size=size, rng=rng)  # noqa: B023
            outcome = ways[name](model, batch, masked, targets, device, args.precision)  # noqa: B023
            losses = models.losses if ways[name] is not theirs else plain_losses  # noqa: B023
            mlm, order = losses(*outcome)
            (mlm + 0.2 * order).backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            model.zero_grad()
            return time.process_time() - started[0], time.perf_counter() - started[1], mlm.item()

        first = {name: step(name)[2] for name in ways}
        assert np.ptp(list(first.values())) < (1e-4 if args.precision == "float32" else 1e-2), (
            f"they do not give the same loss: {first}"
        )
        times = {name: [] for name in ways}
        for turn in range(args.repeat):
            for name in list(ways)[:: 1 if turn % 2 == 0 else -1]:
                times[name].append(step(name)[:2])
        processor, clock = ({k: np.median([t[i] for t in v]) for k, v in times.items()} for i in (0, 1))
        rates = ", ".join(f"{k} {n * length / processor[k]:,.0f}" for k in ways)
        ratios = ", ".join(
            f"{k} {processor['eager'] / processor[k]:.2f} ({clock['eager'] / clock[k]:.2f} by the clock)"
            for k in ways if k != "eager"
        )  # fmt: skip
        print(f"{shape:9} tokens a processor second: {rates}; against eager: {ratios}", flush=True)


if __name__ == "__main__":
    main()
