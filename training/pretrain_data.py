"""Text files -> wordpieces -> training instances, all derived from (seed, epoch, shard): nothing to remember but counters.

A document is a run of non-empty lines (one paragraph a line); an empty line ends it. An instance is
``[CLS] A [SEP] B [SEP]`` as in Devlin et al. (2019): B follows A in its document, or was taken from a random one.
"""

import gzip
import hashlib
import json
import re
from dataclasses import dataclass
from pathlib import Path

import numpy as np

SPECIAL_TOKENS = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")
PAD, UNK, CLS, SEP, MASK = range(5)
NOT_A_TARGET = -100  # torch's cross-entropy ignores this label
_SENTENCE_END = re.compile(r"(?<=[.!?])\s+")


class PretrainError(Exception):
    """The input cannot be used; the message says what was expected, what came and what to do."""


# --- reading -----------------------------------------------------------------------------------------------------


def text_files(paths, exclude=()):
    """Every ``.txt`` and ``.txt.gz`` file named, or found in a folder named, in alphabetical order of file name."""
    found = set()
    for path in map(Path, paths):
        if path.is_dir():
            found.update(p for p in path.iterdir() if p.name.endswith((".txt", ".txt.gz")))
        elif path.is_file():
            found.add(path)
        else:
            raise PretrainError(f"no such file or folder: {path}")
    kept = sorted((p for p in found if not any(p.match(e) for e in exclude)), key=lambda p: (p.name, str(p)))
    if not kept:
        raise PretrainError(
            f"no text to train on: expected .txt or .txt.gz files in {', '.join(map(str, paths))}"
            + (f" not matching {', '.join(exclude)}" if exclude else "")
        )
    return kept


def read_documents(path):
    """Yield the documents of one file, each a list of paragraphs."""
    opener = gzip.open if str(path).endswith(".gz") else open
    document = []
    try:
        with opener(path, "rt", encoding="utf-8") as lines:
            for line in lines:
                if paragraph := line.strip():
                    document.append(paragraph)
                elif document:
                    yield document
                    document = []
    except UnicodeDecodeError as error:
        raise PretrainError(
            f"{path} is not UTF-8 text ({error}); convert it first, e.g. with iconv"
        ) from error
    except (gzip.BadGzipFile, EOFError) as error:
        raise PretrainError(f"{path} is not a whole gzip file ({error}); fetch it again") from error
    if document:
        yield document


# --- wordpieces --------------------------------------------------------------------------------------------------


def train_tokenizer(files, *, vocab_size, min_frequency, alphabet):
    """Train an uncased WordPiece tokenizer. The special tokens get ids 0-4 in the order of SPECIAL_TOKENS."""
    from tokenizers import BertWordPieceTokenizer

    tokenizer = BertWordPieceTokenizer(lowercase=True)
    tokenizer.train_from_iterator(
        (paragraph for file in files for document in read_documents(file) for paragraph in document),
        vocab_size=vocab_size,
        min_frequency=min_frequency,
        limit_alphabet=alphabet,
        special_tokens=list(SPECIAL_TOKENS),
        show_progress=False,
    )
    return tokenizer


@dataclass(frozen=True)
class Corpus:
    """Wordpiece ids of a corpus: ``ids[sentence_starts[s]:sentence_starts[s+1]]`` is sentence ``s``, and the
    sentences of document ``d`` are ``document_starts[d]`` to ``document_starts[d+1]``."""

    ids: np.ndarray
    sentence_starts: np.ndarray
    document_starts: np.ndarray
    train: np.ndarray  # document numbers to train on
    heldout: np.ndarray  # document numbers never trained on


def encode_corpus(files, tokenizer, folder, settings):
    """Encode the files once and keep the arrays in ``folder``, with ``settings`` (a dict) beside them.

    Every ``settings["heldout_every"]``-th document is held out; 0 holds none out.
    """
    ids, lengths, sentences_of = [], [], []
    sentences = []

    def flush():
        for encoding in tokenizer.encode_batch(sentences, add_special_tokens=False):
            ids.append(np.array(encoding.ids, np.uint16))
            lengths.append(len(encoding.ids))
        sentences.clear()

    for file in files:
        for document in read_documents(file):
            split = [s for paragraph in document for s in _SENTENCE_END.split(paragraph) if s]
            if len(split) < 2:  # no second sentence, no pair
                continue
            sentences.extend(split)
            sentences_of.append(len(split))
            if len(sentences) >= 20_000:
                flush()
    flush()
    if len(sentences_of) < 2:
        raise PretrainError(
            f"found {len(sentences_of)} documents of two sentences or more; at least 2 are needed. "
            "Is there an empty line between documents, and one paragraph a line?"
        )
    folder.mkdir(parents=True, exist_ok=True)
    np.save(folder / "ids.npy", np.concatenate(ids))
    np.save(folder / "sentence_starts.npy", np.concatenate([[0], np.cumsum(lengths)]))
    np.save(folder / "document_starts.npy", np.concatenate([[0], np.cumsum(sentences_of)]))
    description = {
        "settings": settings,
        "files": describe_files(files),
        "documents": len(sentences_of),
        "wordpieces": int(sum(lengths)),
    }
    (folder / "corpus.json").write_text(json.dumps(description, indent=1) + "\n", encoding="utf-8")
    return load_corpus(folder)


def describe_files(files):
    """Name and SHA-256 of each file: what was trained on, without its text."""
    return [{"name": f.name, "sha256": hashlib.sha256(f.read_bytes()).hexdigest()} for f in files]


def load_corpus(folder):
    """Load what :func:`encode_corpus` wrote (memory-mapped: a corpus may be larger than memory)."""
    every = json.loads((folder / "corpus.json").read_text(encoding="utf-8"))["settings"]["heldout_every"]
    document_starts = np.load(folder / "document_starts.npy")
    numbers = np.arange(len(document_starts) - 1)
    heldout = (numbers % every) == every - 1 if every else np.zeros(len(numbers), bool)
    return Corpus(
        np.load(folder / "ids.npy", mmap_mode="r"),
        np.load(folder / "sentence_starts.npy"),
        document_starts,
        numbers[~heldout],
        numbers[heldout],
    )


# --- instances ---------------------------------------------------------------------------------------------------


def _whole_sentences(corpus, first, last, room):
    """The end of the longest run of whole sentences from ``first`` that fits ``room``; one sentence at least."""
    starts, stop = corpus.sentence_starts, first + 1
    while stop < last and starts[stop + 1] - starts[first] <= room:
        stop += 1
    return stop


def document_instances(corpus, document, pool, length, rng):
    """Yield ``(ids, start of segment B, is_random)`` for one document; random Bs come from documents in ``pool``.

    A true and a random B are cut by the same rule (whole sentences while they fit, the first one cut if it must be),
    so that neither length nor a broken last sentence gives the answer away.
    """
    starts, room = corpus.sentence_starts, length - 3
    here, last = corpus.document_starts[document], corpus.document_starts[document + 1]
    while here < last:
        stop = _whole_sentences(corpus, here, last, room)
        cut = int(rng.integers(here + 1, stop)) if stop - here >= 2 else stop
        a = corpus.ids[starts[here] : starts[cut]][: length - 10]
        is_random = cut == last or rng.random() < 0.5
        if is_random:
            other = document
            while other == document and len(pool) > 1:
                other = pool[rng.integers(len(pool))]
            end = corpus.document_starts[other + 1]
            begin = int(rng.integers(corpus.document_starts[other], end))
            here = cut  # the sentences after A come again, in the next instance
        else:
            begin, end, here = cut, last, max(cut, stop)
        b_room = room - len(a)
        b = corpus.ids[starts[begin] : starts[_whole_sentences(corpus, begin, end, b_room)]][:b_room]
        if len(a) >= 5 and len(b) >= 5:
            yield np.concatenate([[CLS], a, [SEP], b, [SEP]]).astype(np.int64), len(a) + 2, int(is_random)


def pad_batch(instances):
    """Stack instances: ids and segments (batch, token), padded with [PAD], and is_random (batch,)."""
    longest = max(len(ids) for ids, _, _ in instances)
    ids = np.full((len(instances), longest), PAD, np.int64)
    segments = np.zeros_like(ids)
    for row, (pieces, b, _) in enumerate(instances):
        ids[row, : len(pieces)] = pieces
        segments[row, b : len(pieces)] = 1
    return ids, segments, np.array([r for _, _, r in instances], np.int64)


def n_shards(corpus, shard_documents):
    """Number of shards (groups of documents) in an epoch."""
    return -(-len(corpus.train) // shard_documents)


def shard_batches(corpus, *, seed, epoch, shard, shard_documents, length, batch):
    """The batches of one shard of one epoch, a list of (ids, segments, is_random).

    Instances are sorted by length before they are cut into batches (little padding) and the batches are shuffled.
    The result depends on the arguments alone, so a run that knows its epoch, shard and batch can go on anywhere.
    """
    order = np.random.default_rng([seed, 1, epoch]).permutation(corpus.train)
    rng = np.random.default_rng([seed, 2, epoch, shard])
    documents = order[shard * shard_documents : (shard + 1) * shard_documents]
    instances = [i for d in documents for i in document_instances(corpus, d, corpus.train, length, rng)]
    rng.shuffle(instances)
    instances.sort(key=lambda i: len(i[0]))
    groups = [instances[i : i + batch] for i in range(0, len(instances), batch)]
    return [pad_batch(groups[g]) for g in rng.permutation(len(groups))]


def mask_tokens(ids, *, vocab_size, rng, share=0.15):
    """Masked-LM input and targets: of the tokens chosen, 80 % become [MASK], 10 % a random wordpiece, 10 % stay.

    Parameters
    ----------
    ids : int array, inputs x positions
    vocab_size : int
    rng : numpy Generator
    share : float
        Of the tokens, to choose.

    Returns
    -------
    masked, targets : int64 arrays of the shape of ``ids``
        ``targets`` is NOT_A_TARGET where nothing is to be predicted. Special tokens are never chosen.
    """
    chosen = (rng.random(ids.shape) < share) & (ids >= len(SPECIAL_TOKENS))
    targets = np.where(chosen, ids, NOT_A_TARGET)
    how = rng.random(ids.shape)
    masked = np.where(chosen & (how < 0.8), MASK, ids)
    random_pieces = rng.integers(len(SPECIAL_TOKENS), vocab_size, ids.shape)
    return np.where(chosen & (how >= 0.9), random_pieces, masked), targets
