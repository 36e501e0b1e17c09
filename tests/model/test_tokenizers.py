"""Words and pieces of every kind of tokenizer: a word is a word, with its space, and a piece is shown by its letters."""

from __future__ import annotations

import pytest
from test_families import SMALL
from tiny import byte_level_tokenizer, wordpiece_tokenizer
from tokenizers import Regex, Tokenizer, models, normalizers, processors, trainers
from tokenizers.pre_tokenizers import ByteLevel, Digits, Metaspace, Sequence, Split, WhitespaceSplit
from transformers import BertConfig, BertModel, PreTrainedTokenizerFast

from bertlook_teach import Attention, extract_attention, load_encoder
from bertlook_teach.model import check_reading
from bertlook_teach.model.tokenizing import letters_of_bytes
from bertlook_teach.views import HeadView

# How Llama 3 and Qwen cut a text before their bytes are looked at.
_CUT = r"[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
_TEXTS = ["the cat sat on a mat , a b the dog sat"] * 20


def tokenizer_of(
    pre_tokenizer, normalizer=None, *, bytewise=False, between="</s> "
) -> PreTrainedTokenizerFast:
    """A BPE tokenizer of a kind: trained on words with their marks, as they all are, whatever cuts a text later."""
    made = Tokenizer(models.BPE(unk_token="<unk>"))
    made.pre_tokenizer = ByteLevel(add_prefix_space=False) if bytewise else Metaspace()
    special = ["<s>", "<pad>", "</s>", "<unk>", "<mask>"]
    letters = ByteLevel.alphabet() if bytewise else list("▁abcdefghijklmnopqrstuvwxyz,.")
    made.train_from_iterator(
        _TEXTS,
        trainers.BpeTrainer(
            vocab_size=400, special_tokens=special, initial_alphabet=letters, show_progress=False
        ),
    )
    made.pre_tokenizer, made.normalizer = pre_tokenizer, normalizer
    made.post_processor = processors.TemplateProcessing(
        single="<s> $A </s>",
        pair=f"<s> $A {between}$B:1 </s>:1",
        special_tokens=[("<s>", 0), ("</s>", 2)],
    )
    names = dict(zip(("cls_token", "pad_token", "sep_token", "unk_token", "mask_token"), special))
    return PreTrainedTokenizerFast(tokenizer_object=made, model_max_length=60, **names)


def _bytewise(*parts, normalizer=None):
    return tokenizer_of(Sequence(list(parts)) if len(parts) > 1 else parts[0], normalizer, bytewise=True)


_SPELT = normalizers.Replace(" ", "▁")
KINDS = {
    "RoBERTa": lambda: _bytewise(ByteLevel(add_prefix_space=False)),
    "RoBERTa, prefix": lambda: _bytewise(ByteLevel(add_prefix_space=True)),
    "ModernBERT": lambda: _bytewise(ByteLevel(add_prefix_space=False), normalizer=normalizers.NFC()),
    "Llama 3": lambda: _bytewise(Split(Regex(_CUT), "isolated"), ByteLevel(False, use_regex=False)),
    "Qwen": lambda: _bytewise(
        Split(Regex(_CUT), "isolated"), ByteLevel(False, use_regex=False), normalizer=normalizers.NFC()
    ),
    "StarCoder": lambda: _bytewise(Digits(individual_digits=True), ByteLevel(False)),
    "XLM-R": lambda: tokenizer_of(Sequence([WhitespaceSplit(), Metaspace()])),
    "Gemma": lambda: tokenizer_of(Split(" ", "merged_with_previous"), _SPELT),
    "Llama 2": lambda: tokenizer_of(None, normalizers.Sequence([normalizers.Prepend("▁"), _SPELT])),
} | {
    f"Metaspace, {scheme}, split={split}": lambda scheme=scheme, split=split: tokenizer_of(
        Metaspace(prepend_scheme=scheme, split=split)
    )
    for scheme in ("first", "always", "never")
    for split in (True, False)
}


def reader(tokenizer):
    """A small model of random weights that reads with a tokenizer."""
    return load_encoder(BertModel(BertConfig(vocab_size=len(tokenizer), **SMALL)), tokenizer)


@pytest.fixture(scope="module", params=[*KINDS, "BERT"])
def encoder(request):
    return reader(wordpiece_tokenizer() if request.param == "BERT" else KINDS[request.param]())


def test_words_by_themselves_have_the_pieces_of_the_text_but_for_the_first_mark(encoder):
    text = extract_attention(encoder, "the cat sat on a mat")
    split = extract_attention(encoder, words="the cat sat on a mat".split())
    assert text.words == split.words == ("the", "cat", "sat", "on", "a", "mat")
    assert split.word_ids == text.word_ids
    assert split.tokens[2:] == text.tokens[2:] and split.tokens[1].lstrip("Ġ▁") == "the"
    marks = {token[0] for token in split.tokens[1:-1]}
    assert len(marks) == 1 or not marks & {"Ġ", "▁"}, "the first word has the mark as the others have"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("the  cat", ("the", "cat")),
        ("the cat \n\n sat", ("the", "cat", "sat")),
        (" the cat ", ("the", "cat")),
        ("a\u200b cat", ("a", "cat")),
        ("a\u3000cat", ("a", "cat")),
        ("a cafe\u0301 cat", ("a", "cafe\u0301", "cat")),
        ("\t a", ("a",)),
    ],
)
def test_no_word_is_empty_and_none_holds_a_space(encoder, text, words):
    found = extract_attention(encoder, text)
    assert found.words == words
    assert {None, *range(len(words))} == set(found.word_ids), "each word has its pieces, and no piece is lost"
    assert None not in found.word_ids[1:-1]
    assert found.to_words().tokens[1:-1] == words


def test_words_of_a_pair_are_counted_on(encoder):
    pair = extract_attention(encoder, "the  cat ", " sat")
    assert pair.words == ("the", "cat", "sat")
    assert [word for word in pair.word_ids if word is not None] == sorted(
        filter(lambda w: w is not None, pair.word_ids)
    )
    assert pair.segment_ids[pair.word_ids.index(2)] == 1


@pytest.mark.parametrize("blank", ["", " ", "\n"])
def test_a_blank_word_is_refused(encoder, blank):
    assert check_reading(encoder, ["the", blank, "cat"]).obstacle == "a word leaves no wordpiece"
    with pytest.raises(ValueError, match="word 1, .*, leaves no wordpiece"):
        extract_attention(encoder, words=["the", blank, "cat"])


def test_a_tokenizer_that_cuts_words_by_themselves_otherwise_reads_texts_only():
    tokenizer = tokenizer_of(Metaspace(prepend_scheme="never", split=False))
    tokenizer.add_tokens("a b")
    encoder = reader(tokenizer)
    assert extract_attention(encoder, "the cat").words == ("the", "cat")
    with pytest.raises(ValueError, match=r"cannot read words one by one. Give the text"):
        extract_attention(encoder, words=["the", "cat"])


def test_a_tokenizer_that_says_not_where_its_pieces_stand_is_refused():
    tokenizer = tokenizer_of(Metaspace(split=False))
    tokenizer.add_tokens("a b c d")
    with pytest.raises(ValueError, match="reads 'a b c d' as one word"):
        reader(tokenizer)


def test_two_texts_with_nothing_between_them_are_refused():
    encoder = reader(tokenizer_of(Metaspace(), between=""))
    with pytest.raises(ValueError, match=r"puts nothing between two texts, .* \[CLS\] A \[SEP\] B \[SEP\]"):
        extract_attention(encoder, "the cat", "sat")
    assert extract_attention(encoder, "the cat").words == ("the", "cat")


# --- bytes ---------------------------------------------------------------------------------------------
BYTES = [
    ("是", ("是₁", "是₂", "是₃")),
    ("the é", ("Ġé₁", "é₂")),
    ("the 😀", ("Ġ😀₁", "😀₂", "😀₃", "😀₄")),
]


@pytest.mark.parametrize(("text", "shown"), BYTES)
def test_pieces_of_bytes_are_shown_as_the_letters_they_are(text, shown):
    encoder = reader(byte_level_tokenizer())
    attention = extract_attention(encoder, text)
    spaced = "".join(shown).startswith("Ġ")  # here the space is a piece by itself
    assert attention.tokens[-1 - len(shown) - spaced : -1] == (
        ("Ġ",) * spaced + tuple(s.lstrip("Ġ") for s in shown)
    )
    assert HeadView(attention).picture().svg.count(shown[-1]) >= 1
    raw = encoder.tokenizer.convert_ids_to_tokens(encoder.tokenizer(" " + text)["input_ids"])
    given = Attention.from_arrays(extract_attention(encoder, " " + text).weights, raw)
    assert given.tokens[-2] == shown[-1] and given.words[-1] == text.split()[-1]


@pytest.mark.parametrize(
    ("pieces", "shown"),
    [
        (["ĠÐºÐ¾ÑĤ", "ĊĊ", "!"], ("Ġкот", "ĊĊ", "!")),
        (["Ãģx", "Ã", "a"], ("Áx", "<0xC3>", "a")),
        (["<s>", "æĺ", "</s>", "¯"], ("<s>", "<0xE6><0x98>", "</s>", "<0xAF>")),
        (["<｜begin▁of▁text｜>", "Ã©"], ("<｜begin▁of▁text｜>", "é")),
    ],
)
def test_bytes_that_make_no_letter_are_numbers(pieces, shown):
    assert letters_of_bytes(pieces) == shown


def test_a_piece_of_its_own_is_no_bytes():
    tokenizer = byte_level_tokenizer()
    tokenizer.add_tokens("Ã©")
    assert extract_attention(reader(tokenizer), "Ã©").tokens[1] == "Ã©"


def test_the_letter_of_maltese_is_no_mark_of_bytes():
    tokens = ["ĠĦ", "Ħ"]
    assert Attention.from_arrays([[1.0, 0], [0.5, 0.5]], tokens).tokens == ("ĠĦ", "Ħ")
