"""What measuring costs: all surface measures against the forward pass that yields the maps.

    python benchmarks/surface_speed.py [--tokens N] [--repeats N]

A randomly initialised model of BERT-base's shape (12 layers x 12 heads, width 768) reads one input; then every measure
of `surface_measures` is taken on its maps. Times are medians within this one run, so their ratio is what counts.
"""

from __future__ import annotations

import argparse
import statistics
import time

import numpy as np


def bert_base_maps(n_tokens: int, repeats: int):
    """Attention maps of a random model of BERT-base's shape, and the seconds a forward pass takes."""
    import torch
    from transformers import BertConfig, BertModel

    torch.manual_seed(0)
    model = BertModel(BertConfig(), add_pooling_layer=False).eval()
    model.set_attn_implementation("eager")
    ids = torch.randint(1000, 30000, (1, n_tokens))
    seconds = []
    with torch.inference_mode():
        for _ in range(repeats + 1):
            started = time.perf_counter()
            maps = model(input_ids=ids, output_attentions=True).attentions
            weights = torch.cat(maps).numpy()
            seconds.append(time.perf_counter() - started)
    return weights, statistics.median(seconds[1:])


def as_attention(weights: np.ndarray):
    """The maps as the package keeps them: [CLS] words . [SEP] words . [SEP]."""
    from bertlook_teach import Attention

    n, half = weights.shape[-1], weights.shape[-1] // 2
    tokens = ["[CLS]", *["word"] * (half - 3), ".", "[SEP]", *["word"] * (n - half - 2), ".", "[SEP]"]
    special = tuple(token.startswith("[") for token in tokens)
    segments = tuple(int(i >= half) for i in range(n))
    words = tuple(None if s else i for i, s in enumerate(special))
    return Attention(weights, tuple(tokens), words, segments, special, tuple(tokens), "")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--tokens", type=int, default=128)
    parser.add_argument("--repeats", type=int, default=9)
    args = parser.parse_args()
    from bertlook_teach.measures import surface_measures

    weights, forward = bert_base_maps(args.tokens, args.repeats)
    measures, seconds = surface_measures(), []
    for _ in range(args.repeats + 1):
        attention = as_attention(weights.copy())  # a new input each time: nothing is kept from the last
        started = time.perf_counter()
        for measure in measures.values():
            measure(attention)
        seconds.append(time.perf_counter() - started)
    measured = statistics.median(seconds[1:])
    print(f"forward pass, {args.tokens} tokens: {1e3 * forward:7.1f} ms")
    print(f"{len(measures)} surface measures:    {1e3 * measured:7.1f} ms")
    print(f"ratio {measured / forward:.3f}")


if __name__ == "__main__":
    main()
