"""Norms of what heads take, ours against the version that builds every vector: time and memory, as ratios of one run.

    python benchmarks/norms.py [--tokens 128] [--repeat 3]

The direct version is a transcription of the definition, alpha_ij f_h(x_j) for every head, query and key, and then the
length of each vector: an array of 12 x n x n x 768 numbers for each layer of BERT-base. Ours needs the weights and one
length a key; for the norm of the heads' sum, a small Gram matrix a key. Both start from the same weights, values and
output projection of a randomly initialised model of BERT-base's shape, in single precision, layer by layer, and must give the
same numbers. Time is the best of several runs, memory the peak of what NumPy allocates (tracemalloc), result included.
"""

from __future__ import annotations

import argparse
import time
import tracemalloc
from types import SimpleNamespace

import numpy as np


def direct(weights, values, projection):
    """(norm of each head's vector, norm of the heads' sum) for each pair of tokens of one layer, all vectors built."""
    f = values @ projection
    vectors = weights[..., None] * f[:, None]  # head, query, key, width
    return np.linalg.norm(vectors, axis=-1), np.linalg.norm(vectors.sum(axis=0), axis=-1)


def ours(weights, values, projection):
    from bertlook_teach.measures import summed_norms, value_norms, weighted_norms

    weights, values, projection = weights[None], values[None], projection[None]
    by_head = weighted_norms(weights, value_norms(values, projection))
    return by_head[0], summed_norms(weights, values, projection)[0]


def ours_by_head(weights, values, projection):
    from bertlook_teach.measures import value_norms, weighted_norms

    return weighted_norms(weights[None], value_norms(values[None], projection[None]))[0]


def direct_by_head(weights, values, projection):
    vectors = weights[..., None] * (values @ projection)[:, None]
    return np.linalg.norm(vectors, axis=-1)


def model_tensors(n_tokens: int):
    """Weights, values and output projection of the first layer of a random BERT-base."""
    import torch
    from transformers import BertConfig, BertModel

    torch.manual_seed(0)
    model = BertModel(BertConfig(), add_pooling_layer=False).eval()
    model.set_attn_implementation("eager")
    block = model.encoder.layer[0].attention
    caught = []
    block.self.value.register_forward_hook(lambda module, given, out: caught.append(out))
    ids = torch.randint(1000, 30000, (1, n_tokens))
    with torch.inference_mode():
        weights = model(ids, output_attentions=True).attentions[0][0].numpy()
    values = caught[0][0].reshape(n_tokens, 12, 64).transpose(0, 1).numpy().copy()
    matrix = block.output.dense.weight.detach().numpy().T.reshape(12, 64, 768)
    return weights, values, matrix


def measure(function, arguments, repeat: int) -> SimpleNamespace:
    times = []
    for _ in range(repeat):
        start = time.perf_counter()
        result = function(*arguments)
        times.append(time.perf_counter() - start)
    del result
    tracemalloc.start()
    result = function(*arguments)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return SimpleNamespace(seconds=min(times), peak=peak, result=result)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--tokens", type=int, default=128, help="length of the input (default: 128)")
    parser.add_argument(
        "--repeat", type=int, default=3, help="runs, of which the fastest counts (default: 3)"
    )
    args = parser.parse_args()
    arguments = model_tensors(args.tokens)
    print(f"one layer of BERT-base's shape, {args.tokens} tokens")
    for name, plain, fast in (
        ("each head", direct_by_head, ours_by_head),
        ("each head and the heads' sum", direct, ours),
    ):
        slow, quick = measure(plain, arguments, args.repeat), measure(fast, arguments, args.repeat)
        pairs = zip(*(r if isinstance(r, tuple) else (r,) for r in (slow.result, quick.result)))
        gap = max(float(np.abs(a - b).max() / np.abs(a).max()) for a, b in pairs)
        print(f"{name}:")
        print(f"  direct {slow.seconds * 1e3:9.1f} ms {slow.peak / 2**20:9.1f} MiB")
        print(f"  ours   {quick.seconds * 1e3:9.1f} ms {quick.peak / 2**20:9.1f} MiB")
        print(
            f"  {slow.seconds / quick.seconds:.0f} times faster, 1/{slow.peak / quick.peak:.0f} of the memory; largest relative difference {gap:.1e}"
        )


if __name__ == "__main__":
    main()
