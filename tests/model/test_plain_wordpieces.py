"""WordPiece in plain Python gives what the package tokenizers gives, place for place."""

import json
import sys
from itertools import pairwise

import pytest
from tokenizers import Tokenizer

from bertlook_course.corpora import load_texts
from bertlook_teach.disk import data_path
from bertlook_teach.model import load_encoder, wordpiece_tokenizer
from bertlook_teach.model.plain_wordpieces import PlainWordPieces

WRITTEN = (data_path("model") / "tokenizer.json").read_text(encoding="utf-8")
NASTY = [
    "", "   ", "\t\n", "[MASK] is a [CLS]mask[SEP].", "[mask] [MASK", "<b>&amp;</b>", "Déjà vu, naïve café", "ﬁne ﬀ İstanbul ΣΑΣ ß",
    "שלום עולם مرحبا", "日本語と中文，混ぜる。", "👩‍👩‍👧 🎉!", "a\u0301\u0327b \u200b\u200e\u00ad x\ufffd\0y", "x" * 101, "x" * 100, "don't-stop...now_",
    "\u00a0\u2003\u3000a\u2028b\x85c", "1,234.5€ ½ ² ①", "क्षि தமிழ் ไทย 한국어", "\ue000\U000f0000\u0378", "a [UNK][PAD] b", "$+<=>^`|~", "a b " * 200,
]  # fmt: skip


def both():
    return Tokenizer.from_str(WRITTEN), PlainWordPieces(json.loads(WRITTEN))


def said(encoding):
    names = "ids type_ids attention_mask tokens word_ids sequence_ids"
    chars = [encoding.token_to_chars(i) for i in range(len(encoding.ids))]
    return [getattr(encoding, name) for name in names.split()], chars


def test_it_cuts_texts_pairs_and_words_as_tokenizers_does():
    ours, texts = both(), [*NASTY, *load_texts()[:200]]
    for text, pair in [*zip(texts, [None] * len(texts)), *pairwise(texts)]:
        assert said(ours[1].encode(text, pair)) == said(ours[0].encode(text, pair)), (text, pair)
    for text in texts:
        words = [*text.split(), "a-b", ""]
        assert said(ours[1].encode(words, is_pretokenized=True)) == said(
            ours[0].encode(words, is_pretokenized=True)
        )
        plain = [one.encode(text, add_special_tokens=False) for one in ours]
        assert said(plain[0]) == said(plain[1])


@pytest.mark.parametrize("longest", [3, 4, 8, 9, 20, 128])
def test_it_cuts_off_as_tokenizers_does(longest):
    texts = ["a", "one two three four five", "a b c d e f g h i j k l m n o p " * 20]
    ours = both()
    for one in ours:
        one.enable_truncation(longest)
    for text in texts:
        for pair in [None, *texts]:
            assert said(ours[1].encode(text, pair)) == said(ours[0].encode(text, pair)), (text, pair)


def test_the_specimen_reads_without_tokenizers(monkeypatch):
    monkeypatch.setitem(sys.modules, "tokenizers", None)
    monkeypatch.setitem(sys.modules, "transformers", None)
    monkeypatch.setattr(wordpiece_tokenizer, "_READ", {})  # what another test has read with them
    tokenizer = load_encoder("specimen").tokenizer
    assert isinstance(tokenizer.backend_tokenizer, PlainWordPieces)
    assert tokenizer.get_vocab() == both()[0].get_vocab() and len(tokenizer) == both()[0].get_vocab_size()
