"""All 144 single-head ablations of one batch: layers below reused, against one forward pass a head. A ratio of one run.

    python benchmarks/ablation.py [--shapes 1x32 8x32 4x128] [--heads 24] [--threads N] [--device cpu]

The model has BERT-base's shape (12 layers x 12 heads, width 768) and random weights. The naive loop is a fair one: eager
attention as the package loads it, a hook that multiplies one head's context by 0, no gradients, no maps returned, no positive control
inside the loop. Both give the logits of a classifier with three classes at [CLS], which must agree to 1e-5. The forward passes
of the naive loop all cost the same, so by default it runs for every sixth head (24 of 144, all layers), which is then multiplied out;
``--heads 144`` runs all. The two take turns, so that a busy machine is busy for both;
processor time is disturbed less than the clock.
"""

from __future__ import annotations

import argparse
import time

import numpy as np

TURNS = 2


def clocks() -> np.ndarray:
    """The clock, and the processor time of this process, in seconds."""
    return np.array([time.perf_counter(), time.process_time()])


def model_of_base_shape(device: str):
    """An Encoder of BERT-base's shape with random weights, made in memory, and a classifier upon it."""
    import torch
    from transformers import BertConfig, BertModel

    from bertlook_teach import load_encoder
    from bertlook_teach.model import Encoder

    torch.manual_seed(0)
    tokenizer = load_encoder("specimen", device="cpu").tokenizer
    model = BertModel(BertConfig(attn_implementation="eager"), add_pooling_layer=False).eval().to(device)
    # The default weights are so small that a head hardly matters; these are about as large as trained ones.
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if "attention" in name and name.endswith("weight") and parameter.ndim == 2:
                parameter.mul_(3)
    encoder = Encoder("random weights in BERT-base's shape", model, tokenizer, torch.device(device))

    class Classifier:
        def __init__(self):
            self.encoder, self.layer = encoder, torch.nn.Linear(768, 3).to(device)

        def readout(self, hidden):
            return self.layer(hidden[:, 0])

    return Classifier()


def make_batch(size: int, tokens: int):
    import torch

    ids = torch.randint(1000, 30000, (size, tokens), generator=torch.Generator().manual_seed(1))
    return ids, torch.ones_like(ids), torch.zeros_like(ids), torch.zeros(size, dtype=torch.long)


def run(classifier, size: int, tokens: int, n_heads: int) -> None:
    import torch

    from bertlook_teach.analyses.ablation import all_heads, as_scorer, batch_outputs, head_logits, on_device
    from bertlook_teach.analyses.ablation.heads_off import hooked

    scorer, encoder = as_scorer(classifier), classifier.encoder
    batch = on_device(make_batch(size, tokens), encoder)
    heads = all_heads(encoder)
    # Spread over layers and heads: 0-0, 0-6, 1-0 would leave most heads of a layer out.
    chosen = [heads[(i * 7) % len(heads)] for i in range(len(heads))][:: max(1, len(heads) // n_heads)]
    wait = torch.cuda.synchronize if encoder.device.type == "cuda" else lambda: None

    def naive(pairs):
        answers = {}
        for pair in pairs:
            with hooked(encoder, (pair,), "zero"):
                answers[pair] = batch_outputs(scorer, batch)
        wait()
        return answers

    def fast():
        answers = {(layer, head): logits for layer, head, logits in head_logits(scorer, batch)}
        wait()
        return answers

    with torch.no_grad():
        naive(chosen[:2]), fast()  # warm up
        base = batch_outputs(scorer, batch)
        slow, quick, slow_time, fast_time = {}, {}, np.zeros(2), np.zeros(2)
        parts = np.array_split(np.arange(len(chosen)), TURNS)
        for part in parts:
            start = clocks()
            slow |= naive([chosen[i] for i in part])
            slow_time += clocks() - start
            start = clocks()
            quick = fast()
            fast_time += (clocks() - start) / TURNS
    slow_time *= len(heads) / len(chosen)
    gap = max(float((slow[pair] - quick[pair]).abs().max()) for pair in chosen)
    effect = max(float((slow[pair] - base).abs().max()) for pair in chosen)
    ratio = slow_time / fast_time
    print(
        f"{size:3d} x {tokens:3d} tokens: naive {slow_time[0]:7.2f} s, ours {fast_time[0]:7.2f} s, {ratio[0]:.2f} times faster on the clock, "
        f"{ratio[1]:.2f} times in processor time; largest difference of a logit {gap:.1e} (a head changes one by up to {effect:.2f})",
        flush=True,
    )


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--shapes", nargs="+", default=["1x32", "8x32", "4x128"], help="batch x tokens")
    parser.add_argument("--heads", type=int, default=24, help="heads that the naive loop runs (default: 24)")
    parser.add_argument("--threads", type=int, help="torch threads (default: torch's own)")
    parser.add_argument("--device", default="cpu")
    args = parser.parse_args()
    import torch

    if args.threads:
        torch.set_num_threads(args.threads)
    print(f"torch {torch.__version__}, {args.device}, {torch.get_num_threads()} threads")
    classifier = model_of_base_shape(args.device)
    for shape in args.shapes:
        size, tokens = (int(part) for part in shape.split("x"))
        run(classifier, size, tokens, args.heads)


if __name__ == "__main__":
    main()
