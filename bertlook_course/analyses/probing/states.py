"""Hidden states of every layer, read once for many sentences."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

import numpy as np

from bertlook_teach.model import as_array, check_reading, encode_words, evenly, import_torch, padded


def hidden_states(encoder, texts: Sequence[Sequence[str]], *, batch_size: int = 32) -> Iterable[np.ndarray]:
    """Vectors of words after every layer, one float32 array of shape (layer, word, dim) a text, in order.

    Layer 0 is the embedding output, so there are L + 1 layers. A word has the mean of its pieces.

    Parameters
    ----------
    encoder : Encoder
    texts : sequence of sequences of words
        Each read alone, as [CLS] words [SEP].

    Raises
    ------
    ValueError
        If a text cannot be read whole (see `bertlook_teach.model.check_reading`), naming it.
    """

    def encoded():
        for words in map(list, texts):
            if obstacle := check_reading(encoder, words).obstacle:
                raise ValueError(f"{encoder.name} cannot read “{' '.join(words)[:60]}” whole: {obstacle}.")
            yield len(words), encode_words(encoder, words)

    def vectors(part):
        layers = token_states(encoder, *padded([one["input_ids"] for _, one in part], encoder))
        if len(layers) != encoder.n_layers + 1:
            raise ValueError(
                f"{encoder.name} gives {len(layers)} hidden states; the embeddings and {encoder.n_layers} layers were expected."
            )
        for number, (n_words, one) in enumerate(part):
            owners = np.array([-1 if w is None else w for w in one.word_ids()])
            mean = (owners[None, :] == np.arange(n_words)[:, None]).astype(np.float32)
            yield (mean / mean.sum(axis=1, keepdims=True)) @ layers[:, number, : len(owners)]

    return evenly(encoded(), vectors, length=lambda item: len(item[1]["input_ids"]), size=batch_size)


def token_states(encoder, ids, mask) -> np.ndarray:
    """Hidden states of a batch of wordpieces, read as one segment: shape (layer + 1, text, token, dim)."""
    if encoder.engine is not None:
        return np.stack(encoder.engine.run(ids, mask).states)
    torch = import_torch()

    with torch.inference_mode(), encoder.evaluating():
        inputs = encoder.inputs(ids, mask, np.zeros_like(ids))
        return np.stack(
            [as_array(s) for s in encoder.model(**inputs, output_hidden_states=True).hidden_states]
        )


def read_states(
    encoder,
    texts: Iterable[Sequence[str]],
    *,
    batch_size: int = 32,
    progress: Callable[[Iterable], Iterable] | None = None,
) -> dict[tuple[str, ...], np.ndarray]:
    """Hidden states of many texts, each read once: words -> array (layer, word, dim). What the model cannot read whole is left out.

    All tasks about the same sentences share them.
    """
    wanted = list(dict.fromkeys(tuple(words) for words in texts))
    wanted = [words for words in wanted if not check_reading(encoder, words).obstacle]
    stream = hidden_states(encoder, wanted, batch_size=batch_size)
    return dict(zip(wanted, stream if progress is None else progress(stream), strict=True))
