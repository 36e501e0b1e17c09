"""What a tokenizer makes of one input, and which inputs are refused: before it, and for what it leaves of them."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from threading import RLock

SEGMENT_RULES = ("standard", "zeros")

TURN = RLock()  # a tokenizer that one thread told to cut would cut the texts of all

HALF_CHARACTER = re.compile("[\ud800-\udfff]")  # JSON can hold one, UTF-8 cannot


def check_segments(segments: str) -> None:
    """Refuse a rule for segments that there is not."""
    if segments not in SEGMENT_RULES:
        raise ValueError(f"segments must be one of {', '.join(SEGMENT_RULES)}; got {segments!r}.")


def sentence_in(words: Sequence[str]) -> str:
    """One of the entries where they are sentences and no words, else an empty string. A word may hold spaces: *1 000*, or one of Vietnamese."""
    spaced = [word for word in words if " " in word.strip()]
    ended = [word for word in spaced if len(word.split()) > 2 and word.rstrip().endswith((".", "?", "!"))]
    return (ended or (spaced if len(spaced) == len(words) > 1 else [""]))[0]


def check_input(item) -> None:
    """Refuse anything but a text, a pair of texts or a list of words, and a text that no tokenizer reads.

    Raises
    ------
    TypeError
        If it is another kind of thing.
    ValueError
        If a text is empty or holds half of a character, or a list holds sentences where it should hold words.
    """
    split, pair = isinstance(item, list), isinstance(item, tuple)
    if not (split or pair or isinstance(item, str)) or (pair and len(item) != 2):
        raise TypeError(
            f"an input is a text, a pair of texts or a list of words; got {type(item).__name__}: {item!r:.80}."
        )
    for side, part in zip(("first", "second"), item if pair else [item]):
        for piece in part if split else [part]:
            if not isinstance(piece, str):
                raise TypeError(f"a text must be a str; got {type(piece).__name__}: {piece!r:.80}.")
            if half := HALF_CHARACTER.search(piece):
                raise ValueError(
                    f"character {half.start() + 1} of {piece!r:.80} is half of a character (a lone surrogate, {half[0]!r}), which no tokenizer "
                    "reads. It comes from a text that was cut or decoded wrongly; take it out."
                )
        if split and (sentence := sentence_in(part)):
            raise ValueError(
                f"a list is taken for the words of one text, and {sentence!r:.60} is not a word. For several texts use iter_attention(encoder, "
                "texts) or profile_heads(encoder, texts); for a pair of texts, extract_attention(encoder, first, second)."
            )
        if not (part if split else part.strip()):
            what = "list of words" if split else f"{side} text of the pair" if pair else "text"
            raise ValueError(f"the {what} is empty; the model needs at least one word to look at.")


def encode_words(encoder, words: Sequence[str], **options):
    """What the tokenizer makes of a text that is already split: each word in the pieces that it has behind a space, also the first.

    Raises
    ------
    ValueError
        If the tokenizer cuts words of a text otherwise than words by themselves, with a space before them and without.
    """
    if isinstance(words, str):
        raise TypeError(f"a text is given as its words, in a list; got one string, {words!r:.60}.")
    if encoder.word_space is None:
        raise ValueError(
            f"the tokenizer of {encoder.name} cuts a word by itself otherwise than in a text, with a space before it and without, so it "
            "cannot read words one by one. Give the text: extract_attention(encoder, text)."
        )
    spaced = [encoder.word_space * bool(word.strip()) + word.strip() for word in words]
    with TURN:
        return encoder.tokenizer(spaced, is_split_into_words=True, **options)


def pieces_of(encoder, ids: Sequence[int]) -> tuple[str, ...]:
    """The tokens that vocabulary numbers stand for; where a vocabulary is one of bytes, by the letters that these are."""
    pieces = encoder.tokenizer.convert_ids_to_tokens(list(ids))
    if not encoder.writes_bytes:
        return tuple(pieces)
    whole = set(encoder.tokenizer.added_tokens_decoder)
    return letters_of_bytes(pieces, [i in whole for i in ids])


def encode(encoder, item, truncate: bool) -> tuple:
    """What the tokenizer gives for an input, and whether it was cut to what the model reads.

    Raises
    ------
    ValueError
        If it is too long and may not be cut.
    """

    def by_tokenizer(**options):
        if isinstance(item, list):
            return encode_words(encoder, item, **options)
        with TURN:
            return encoder.tokenizer(*(item if isinstance(item, tuple) else (item,)), **options)

    encoded = by_tokenizer(verbose=False)
    length = len(encoded["input_ids"])
    if length <= encoder.max_tokens:
        return encoded, False
    if not truncate:
        raise ValueError(
            f"the text is {length} wordpieces long, and {encoder.name} reads at most {encoder.max_tokens}, special tokens "
            "included. Shorten it, or read only its beginning, with truncate=True of extract_attention."
        )
    return by_tokenizer(truncation="longest_first", max_length=encoder.max_tokens), True


def check_pieces(encoder, item, encoded, truncated: bool) -> None:
    """Refuse an input of which the tokenizer has lost a word that was given, a whole text, or everything it knows."""
    sequence = encoded.sequence_ids()
    known = {w for w, s in zip(encoded.word_ids(), sequence) if s is not None}
    if isinstance(item, list):
        whole = range(
            max(known, default=-1) + 1 if truncated else len(item)
        )  # words behind a cut are not lost
        if (lost := next((i for i in whole if i not in known), None)) is not None:
            raise ValueError(
                f"word {lost}, {item[lost]!r}, leaves no wordpiece: the tokenizer of {encoder.name} drops all of it."
            )
    real = [i for i, s in zip(encoded["input_ids"], sequence) if s is not None]
    if not real or (isinstance(item, tuple) and len({s for s in sequence if s is not None}) < 2):
        raise ValueError(
            f"nothing is left of {item!r:.80} after the tokenizer of {encoder.name} has cleaned it."
        )
    if isinstance(item, tuple) and sequence[sequence.index(1) - 1] == 0:
        raise ValueError(
            f"the tokenizer of {encoder.name} puts nothing between two texts, so the model would read them as one. Give them as one text, or "
            "a tokenizer whose post-processor adds what the model was trained with, such as [CLS] A [SEP] B [SEP]."
        )
    if all(i == encoder.tokenizer.unk_token_id for i in real):
        raise ValueError(
            f"the tokenizer of {encoder.name} knows nothing in {item!r:.80}: every piece becomes {encoder.tokenizer.unk_token}. "
            "Use a text in the model's language, or a multilingual model."
        )


_OF_BYTES = {chr(byte): byte for byte in (*range(33, 127), *range(161, 173), *range(174, 256))}
_OF_BYTES |= {chr(256 + n): byte for n, byte in enumerate(sorted(set(range(256)) - set(_OF_BYTES.values())))}


def letters_of_bytes(pieces: Sequence[str], whole: Sequence[bool] = ()) -> tuple[str, ...]:
    """Pieces of a byte-level vocabulary, which writes a sign for each byte, by the letters that the bytes are.

    A letter that several pieces share stands in each, with the number of the part. Signs for white space (Ġ, Ċ) stay, and so do
    pieces that are ``whole``: special ones, which are written as they are.

    >>> letters_of_bytes(["<s>", "ĠcafÃ©", "Ġæ", "ĺ", "¯", "Ã"])
    ('<s>', 'Ġcafé', 'Ġ是₁', '是₂', '是₃', '<0xC3>')
    """
    shown, signs = [""] * len(pieces), []  # which piece, what it says, which byte that is (none: -1)
    for i, piece in enumerate(pieces):
        as_it_is = any(whole[i : i + 1]) or not all(sign in _OF_BYTES for sign in piece)
        signs += [(i, piece, -1)] if as_it_is else [(i, sign, _OF_BYTES[sign]) for sign in piece]
    while signs:
        i, said, byte = signs[0]
        length = 1 + sum(byte >= least for least in (0xC0, 0xE0, 0xF0))
        part, signs = signs[:length], signs[length:]
        try:
            letter = bytes(max(b, 0) for _, _, b in part).decode() if byte >= 0x80 else said
        except UnicodeDecodeError:  # cut off, or masked in part
            part, signs, letter = part[:1], part[1:] + signs, f"<0x{byte:02X}>"
        places = dict.fromkeys(place for place, _, _ in part)
        for number, place in enumerate(places):
            shown[place] += letter + (chr(0x2081 + number) if len(places) > 1 else "")
    return tuple(shown)


def words_of_text(encoded, texts: Sequence[str]) -> tuple[tuple[str, ...], tuple[int | None, ...]]:
    """Words as they stand in the text, and each token's index into them, counted through both texts.

    A word ends where the tokenizer ends it, and at white space, which some tokenizers keep inside. A token of white space belongs
    to the word behind it, at the end of a text to the last one.
    """
    spans: list[list[int]] = []  # of each word: which text, start, stop
    word_ids: list[int | None] = []
    blank: list[int] = []  # tokens of white space whose word has not come yet
    last = None  # the tokenizer's own number of the last word
    for token, (side, own) in enumerate(zip(encoded.sequence_ids(), encoded.word_ids())):
        word_ids.append(None)
        if side is None:
            continue
        start, stop = _trimmed(texts[side], *(encoded.token_to_chars(token) or (0, 0)))
        blank = [earlier for earlier in blank if encoded.sequence_ids()[earlier] == side]
        if start == stop:
            blank.append(token)
            word_ids[token] = len(spans) - 1 if spans and spans[-1][0] == side else None
            continue
        before = spans[-1][2] if spans and spans[-1][0] == side else None
        goes_on = (
            before is not None
            and (
                start < before  # a part of a character, or of what one was written out to
                or (own == last or unicodedata.combining(texts[side][start]))
                and not any(map(str.isspace, texts[side][before:start]))
            )
        )
        if not goes_on:
            spans.append([side, start, stop])
        spans[-1][2] = max(spans[-1][2], stop)
        for earlier in (*blank, token):
            word_ids[earlier] = len(spans) - 1
        blank, last = [], own
    # An accent written after its letter is dropped by the tokenizer, and belongs to the word all the same.
    for span in spans:
        side, _, stop = span
        while stop < len(texts[side]) and unicodedata.combining(texts[side][stop]):
            stop += 1
        span[2] = stop
    return tuple(texts[side][start:stop] for side, start, stop in spans), tuple(word_ids)


def _trimmed(text: str, start: int, stop: int) -> tuple[int, int]:
    """A part of a text without white space and signs that are not seen, at either end."""

    def unseen(letter):
        return letter.isspace() or unicodedata.category(letter) in ("Cc", "Cf")

    while start < stop and unseen(text[start]):
        start += 1
    while start < stop and unseen(text[stop - 1]):
        stop -= 1
    return start, stop


def space_before(tokenizer) -> str | None:
    """What a word by itself needs in front of it to get the pieces it has in a text: nothing, a space, or None if neither helps."""
    text = tokenizer("a b", add_special_tokens=False)
    stops = [(text.token_to_chars(token) or (0, 0))[1] for token in range(len(text["input_ids"]))]
    second = [piece for piece, stop in zip(text["input_ids"], stops) if stop > 1]
    for space in ("", " "):
        split = tokenizer([f"{space}a", f"{space}b"], is_split_into_words=True, add_special_tokens=False)
        if [piece for piece, word in zip(split["input_ids"], split.word_ids()) if word == 1] == second:
            return space
    return None
