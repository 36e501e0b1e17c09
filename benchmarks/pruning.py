"""What removing heads saves: parameters, and the time of a forward pass at several batch sizes. Ratios of one run.

    python benchmarks/pruning.py [--threads N] [--device cpu]

The model has BERT-base's shape and random weights; a random half of its heads is removed, so layers differ in size. Whole, masked and
pruned model take turns, in this order and then in the opposite one, after a warm-up of each; what counts is the median of the ratios of
neighbouring runs. The pruned model must give the hidden vectors of the
masked one to 1e-5.
"""

from __future__ import annotations

import argparse
import contextlib
import time

import numpy as np

SHARE = 0.5  # of the heads are removed
BATCHES, TOKENS = (1, 4, 16, 64), 32
REPEAT = 5  # runs in each order


def model_of_base_shape(device: str):
    """An Encoder of BERT-base's shape with random weights, made in memory."""
    import torch
    from transformers import BertConfig, BertModel

    from bertlook_teach import load_encoder
    from bertlook_teach.model import Encoder

    torch.manual_seed(0)
    model = BertModel(BertConfig(attn_implementation="eager"), add_pooling_layer=False).eval().to(device)
    # The default weights are so small that a head hardly matters; these are about as large as trained ones.
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if "attention" in name and name.endswith("weight") and parameter.ndim == 2:
                parameter.mul_(3)
    tokenizer = load_encoder("specimen", device="cpu").tokenizer
    return Encoder("random weights in BERT-base's shape", model, tokenizer, torch.device(device))


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--threads", type=int, help="torch threads (default: torch's own)")
    parser.add_argument("--device", default="cpu")
    args = parser.parse_args()
    import torch

    from bertlook_course.analyses.ablation import ablated, all_heads, parameter_count, prune

    if args.threads:
        torch.set_num_threads(args.threads)
    encoder = model_of_base_shape(args.device)
    heads = all_heads(encoder)
    off = [heads[i] for i in np.random.default_rng(0).permutation(len(heads))[: round(SHARE * len(heads))]]
    pruned = prune(encoder, off)
    before, after = parameter_count(encoder), parameter_count(pruned)
    print(
        f"torch {torch.__version__}, {args.device}, {torch.get_num_threads()} threads, {TOKENS} tokens; {pruned}"
    )
    print(f"parameters: {before:,} -> {after:,} ({100 * (1 - after / before):.1f} % fewer)")

    wait = torch.cuda.synchronize if args.device.startswith("cuda") else lambda: None

    def run(model, batch, masked):
        with torch.inference_mode(), ablated(encoder, off) if masked else contextlib.nullcontext():
            start = time.perf_counter()
            hidden = model(input_ids=batch[0], attention_mask=batch[1]).last_hidden_state
            wait()
            return time.perf_counter() - start, hidden

    ways = {"whole": (encoder.model, False), "masked": (encoder.model, True), "pruned": (pruned.model, False)}
    for size in BATCHES:
        ids = torch.randint(1000, 30000, (size, TOKENS), generator=torch.Generator().manual_seed(1))
        batch = [ids.to(args.device), torch.ones_like(ids).to(args.device)]
        answers = {name: run(*(model, batch, masked))[1] for name, (model, masked) in ways.items()}  # warm-up
        gap = float((answers["masked"] - answers["pruned"]).abs().max())
        ratios = {"masked": [], "pruned": []}
        seconds = []
        for _ in range(REPEAT):
            for order in (list(ways), list(ways)[::-1]):
                times = {name: run(ways[name][0], batch, ways[name][1])[0] for name in order}
                seconds.append(times["whole"])
                for name, found in ratios.items():
                    found.append(times["whole"] / times[name])
        told = [f"{name} {np.median(found):.2f} times as fast" for name, found in ratios.items()]
        print(
            f"batch {size:3d}: whole {1e3 * min(seconds):8.1f} ms; {'; '.join(told)}; largest difference {gap:.1e}",
            flush=True,
        )


if __name__ == "__main__":
    main()
