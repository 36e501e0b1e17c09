"""Write data/bert_base: recorded attention of the published BERT-base models, from a folder with `recorded.npz` and `recorded.json`.

    python tools/make_bert_base.py FOLDER            write the two recordings and the table in data/bert_base/README.md
    python tools/make_bert_base.py FOLDER --check    write nothing, exit 1 if they hold something else

The folder holds ``rNN_weights``, float32 (layer, head, query, key), and for some inputs ``rNN_queries`` and ``rNN_keys``; the JSON names
tokens, model, repository, path and commit. What was saved there is not the text but the wordpieces: the texts are put together from them.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # so that a plain checkout works too

from bertlook_teach.disk import data_path, write_file
from bertlook_teach.model import ENDING, SHIPPED_RECORDINGS, Attention, load_recording, write_recording
from bertlook_teach.model.recording import LABELS

ABOUT = (
    "Attention that the published {model} gave, as saved in the outputs of executed public notebooks whose code names the model. Numbers "
    "produced by weights under the Apache License 2.0; nothing else of those repositories is here."
)
MATCHING = {"bert-base-uncased": "lowered words", "bert-base-cased": "words"}
MARKS = ("<!-- inputs: written by tools/make_bert_base.py -->", "<!-- end of inputs -->")


def words_of(tokens: list[str]) -> tuple[list[str], list[int | None]]:
    """Words of wordpieces, and each piece's index into them; None for [CLS] and [SEP]."""
    words, word_ids = [], []
    for token in tokens:
        if token in ("[CLS]", "[SEP]"):
            word_ids.append(None)
            continue
        if token.startswith("##"):
            words[-1] += token.removeprefix("##")
        else:
            words.append(token)
        word_ids.append(len(words) - 1)
    return words, word_ids


def text_of(words: list[str]) -> str:
    """Words as a line of text: no space before a mark, none around an apostrophe."""
    return re.sub(r" ' ", "'", re.sub(r" ([.,!?])", r"\1", " ".join(words)))


def attention_of(about: dict, arrays) -> Attention:
    """One input of the source folder."""
    tokens, second = about["tokens"], about["second_text_starts_at"]
    words, word_ids = words_of(tokens)
    first = words if second is None else words[: words_of(tokens[:second])[1][-2] + 1]
    vectors = {name: arrays.get(f"{about['id']}_{name}") for name in ("queries", "keys")}
    return Attention(
        weights=arrays[f"{about['id']}_weights"],
        tokens=tuple(tokens),
        word_ids=tuple(word_ids),
        segment_ids=tuple(int(second is not None and i >= second) for i in range(len(tokens))),
        special=tuple(word is None for word in word_ids),
        words=tuple(words),
        text=text_of(first),
        text_pair=None if second is None else text_of(words[len(first) :]),
        segments="standard" if second is None else "unknown",
        model=about["model"],
        **vectors,
    )


def provenance(recordings) -> str:
    """The table of the README: a row an input."""
    lines = [
        "| model | input | wordpieces | queries and keys | repository | path | commit | copies found (repositories) |",
        "| --- | --- | --- | --- | --- | --- | --- | --- |",
    ]
    for recording in recordings:
        for text in recording:
            source = recording.source(text)
            shown = text if isinstance(text, str) else " / ".join(text)
            cells = [recording.name, shown, str(recording[text].n_tokens)]
            cells += ["yes" if text in recording.texts_with_vectors else ""]
            cells += [source["repository"], f"`{source['path']}`", f"`{source['commit'][:12]}`"]
            cells += [f"{source['copies']} ({source['repositories']})"]
            lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines)


def with_table(text: str, table: str) -> str:
    """The README with this table between its marks."""
    before, rest = text.split(MARKS[0])
    return f"{before}{MARKS[0]}\n{table}\n{MARKS[1]}{rest.split(MARKS[1])[1]}"


def same(first, second) -> bool:
    """Whether two recordings hold the same; bytes may differ with the library that compresses."""
    return first.fingerprint == second.fingerprint


def main(argv=None) -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path)
    parser.add_argument("--out", type=Path, default=data_path("bert_base"))
    parser.add_argument("--check", action="store_true")
    args = parser.parse_args(argv)
    listed = json.loads((args.folder / "recorded.json").read_text(encoding="utf-8"))
    with np.load(args.folder / "recorded.npz", allow_pickle=False) as file:
        arrays = {name: file[name] for name in file.files}
    args.out.mkdir(parents=True, exist_ok=True)
    written = []
    for model in SHIPPED_RECORDINGS:
        chosen = [one for one in listed if one["model"] == model]
        path = args.out / f"{model}{ENDING}"
        before = load_recording(path) if args.check else None
        sources = [
            {"id": one["id"], **one["source"]}
            | {"copies": one["independent_copies"], "repositories": one["repositories"]}
            for one in chosen
        ]
        target = path if not args.check else path.with_name(f"check-{path.name}")
        try:
            recording = write_recording(
                target,
                [attention_of(one, arrays) for one in chosen],
                label=LABELS[model],
                about=ABOUT.format(model=model),
                matching=MATCHING[model],
                sources=sources,
            )
        finally:
            if args.check:
                target.unlink(missing_ok=True)
        if args.check and not same(recording, before):
            print(f"{path.name} holds something else than {args.folder} gives.", file=sys.stderr)
            return 1
        written.append(recording)
        print(f"{path.name}: {len(recording)} inputs, {path.stat().st_size:,} bytes")
    readme = args.out / "README.md"
    if readme.is_file() and MARKS[0] in (text := readme.read_text(encoding="utf-8")):
        now = with_table(text, provenance(written))
        if args.check and now != text:
            print("the table in README.md is another one.", file=sys.stderr)
            return 1
        if not args.check:
            write_file(readme, now)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
