"""Every head measured over a corpus of any length: a chunk of texts at a time, and one sum of all of them."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Literal

from bertlook_teach import __version__
from bertlook_teach.measures import FILES, Profile
from bertlook_teach.model import Recording
from bertlook_teach.stats import CONFIDENCE, REPLICATES

from ...storage import IN_PLACE, Report, Work, at_least, attributes
from .measuring import measure_chunk, precision_error, precision_sentence

TEXTS = 256  # in a chunk, sorted by length: batches of 8 pad some 6 %

COMPARED = 64  # texts on which half precision is compared with single

NAMED = 10  # texts that are named where some are left out


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class ProfileReport(Report):
    """A profile that is printed and saved as a report; ``profile`` has the means and intervals as arrays."""

    profile: Profile

    def save(self, folder: str | Path) -> str:
        """Write what `bertlook_teach.measures.Profile.load` reads, and say where the table is."""
        return f"-> {self.profile.save(folder) / FILES['table']}"


@at_least(batch_size=1)
def report(
    encoder,
    texts: Collection,
    *,
    segments: Literal["standard", "zeros"] = "standard",
    on_error: Literal["stop", "skip"] = "stop",
    truncate: bool = True,
    precision: Literal["float32", "bfloat16", "float16"] = "float32",
    batch_size: int = 8,
    work: Work = IN_PLACE,
) -> ProfileReport:
    """Measure every head of a model on a corpus (default: the shipped pairs): relative position, special tokens, entropy.

    The table has one row for each head, and each measure with its 95 % interval. The sums needed to merge two profiles
    are saved beside it.

    Parameters
    ----------
    encoder : encoder or Recording
    texts : list of texts, of pairs of texts or of lists of words, or what can be read again and again
    segments : {"standard", "zeros"}
        zeros: give every token the same segment id, as the code of Clark et al. (2019) does.
    on_error : {"stop", "skip"}
        When a sentence or text cannot be read: stop and report where it is, or skip it and report how many were skipped.
    truncate : bool
        Cut inputs that are too long for the model and count them, rather than stop at the first one.
    precision : {"float32", "bfloat16", "float16"}
        Precision of matrix products in torch: half precision is faster on a GPU, and its error is measured on the first texts and reported.
    batch_size, work
        As of every report; see `bertlook_course.storage.Report`.

    Returns
    -------
    ProfileReport
        Its ``profile`` is that of `bertlook_teach.measures.profile_heads`, which takes measures of your own.

    Raises
    ------
    ValueError
        If a text cannot be read and is not to be skipped, none is left, or a recording is to compute in half precision.
    """
    how = {"segments": segments, "truncate": truncate}
    about = {"on_error": on_error, **how}
    notes = []
    if isinstance(encoder, Recording):
        about["recorded"] = encoder.note
    if precision != "float32":
        about["precision"] = _change_by(precision, encoder, texts, batch_size=batch_size, **how)
        notes.append(precision_sentence(about["precision"]))
    result, complete = work.add_up(
        measure_chunk,
        encoder,
        texts,
        Profile({"skipped": []}),
        _add,
        size=TEXTS,
        total=len(texts),
        skip=on_error == "skip",
        precision=precision,
        batch_size=batch_size,
        **how,
    )
    skipped = result.about["skipped"]
    _refuse_nothing(result, complete)
    result.about = {
        **about,
        "model": encoder.name,
        "fingerprint": encoder.fingerprint,
        **attributes(encoder, "n_layers n_heads"),
        "first": 0,
        "interval": f"{CONFIDENCE:.0%} Poisson bootstrap over inputs, {REPLICATES} replicates",
        "version": __version__,
        "skipped": skipped,
        "complete": complete,
    }
    notes += [f"left out: {one}" for one in skipped[:NAMED]]
    notes += [f"{len(skipped)} texts left out in all."] if skipped else []
    text = _summary(encoder, result, None if complete else len(texts))
    tables = {"profile": result.rows()}
    return ProfileReport(text, tables, result.about, notes=notes, interrupted=not complete, profile=result)


def _change_by(precision: str, encoder, texts: Collection, **how) -> dict:
    """By how much products in half precision change the measures of the first texts."""
    if isinstance(encoder, Recording):
        raise ValueError(  # noqa: TRY004 - the options do not go together
            "half precision is of a model that computes; a recording holds its maps as they are."
        )
    return precision_error(encoder, list(islice(texts, COMPARED)), precision, **how)


def _refuse_nothing(profile: Profile, complete: bool) -> None:
    """Stop where no text was measured."""
    skipped = profile.about["skipped"]
    if not profile.n and not complete:
        raise KeyboardInterrupt("interrupted before the first text was measured; nothing written.")
    if not profile.n:
        why = (
            f"; the first of {len(skipped)} that were left out is {skipped[0].rstrip('.')}" if skipped else ""
        )
        raise ValueError(f"the corpus is empty: there was nothing to measure{why}.")


def _summary(encoder, profile: Profile, interrupted_of: int | None) -> str:
    """The line that is printed: the model, how many texts, how many of them were cut."""
    name = encoder.badge if isinstance(encoder, Recording) else encoder.name
    begins, read = "", f"{profile.n} texts"
    if interrupted_of is not None:
        begins, read = "interrupted: ", f"{profile.n} of {interrupted_of} texts"
    cut = f", {profile.n_truncated} cut to {encoder.max_tokens} wordpieces" if profile.n_truncated else ""
    return f"{begins}{name}: {read}, {profile.n_tokens} wordpieces{cut}"


def _add(profile: Profile, chunk: Mapping) -> None:
    """Take in what was measured of a chunk; texts that were left out are counted from 1."""
    skipped = profile.about["skipped"]
    before = profile.n + len(skipped)
    if chunk["n_tokens"]:
        profile.add_many(chunk["values"], chunk["n_tokens"], chunk["truncated"])
    skipped += [f"text {before + place + 1}: {why}" for place, why in chunk["skipped"]]
