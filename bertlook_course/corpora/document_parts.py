"""Parts of coreference documents that a model can read whole, and the pronouns and names in them that point back."""

from __future__ import annotations

from collections.abc import Iterable

from bertlook_teach.model import check_reading

from .coreference import CorefDocument, Mention


# --- inputs the model can read whole -------------------------------------------------------------------
def cut_documents(
    encoder,
    documents: Iterable[CorefDocument],
    *,
    first_only: bool = False,
    max_tokens: int | None = None,
) -> tuple[list[CorefDocument], int]:
    """Each document as consecutive runs of whole sentences that fit the model, and how many sentences the model cannot read.

    Clark et al. cut each document to its first 128 tokens (``first_only=True, max_tokens=128``); here every part is used by
    default, and it is as long as the model reads. Models that read more can be compared on parts of one ``max_tokens``.
    A mention whose antecedent lies in an earlier part has none in its own.
    """
    pieces, unread = [], 0
    most = encoder.max_tokens if max_tokens is None else min(max_tokens, encoder.max_tokens)
    for document in documents:
        run: list[tuple[int, int]] = []
        size, parts = 0, []
        for start, end in document.sentences:
            n_pieces, obstacle = check_reading(encoder, document.words[start:end])
            length = n_pieces - 2  # without [CLS] and [SEP], which a run of sentences has once
            if obstacle or n_pieces > most:
                unread += 1
                parts, run, size = parts + [run], [], 0
                continue
            if size + length > most - 2:
                parts, run, size = parts + [run], [], 0
            run.append((start, end))
            size += length
        parts = [part for part in [*parts, run] if part]
        pieces += [_part(document, part) for part in parts[: 1 if first_only else None]]
    return pieces, unread


def _part(document: CorefDocument, sentences) -> CorefDocument:
    first, last = sentences[0][0], sentences[-1][1]
    mentions = tuple(m.moved(-first) for m in document.mentions if first <= m.start and m.end <= last)
    moved = tuple((a - first, b - first) for a, b in sentences)
    return CorefDocument(document.doc_id, document.words[first:last], moved, mentions)


def anaphors(document: CorefDocument) -> list[tuple[Mention, list[Mention]]]:
    """Each mention that refers back, with all the mentions before it.

    A mention that shares its head word with an earlier one of the same thing (nested, "[her] [mother]" apart) is not an anaphor
    of it: the pair would be one and the same word.
    """
    found = []
    for i, mention in enumerate(document.mentions):
        before = [m for m in document.mentions[:i] if m.head != mention.head]
        if any(m.cluster == mention.cluster for m in before):
            found.append((mention, before))
    return found


def excerpts(
    documents: Iterable[CorefDocument], *, most_words: int, most_letters: int
) -> list[CorefDocument]:
    """One or two neighbouring sentences of each document, short enough for a slide, with an anaphor: of each document the first.

    A mention whose antecedent lies outside the excerpt has none in it.
    """
    found = []
    for document in documents:
        spans = [
            document.sentences[i : i + n] for n in (2, 1) for i in range(len(document.sentences) + 1 - n)
        ]
        for span in spans:
            words = document.words[span[0][0] : span[-1][1]]
            if len(words) <= most_words and sum(map(len, words)) <= most_letters:
                part = _part(document, span)
                if anaphors(part):
                    found.append(part)
                    break
    return found
