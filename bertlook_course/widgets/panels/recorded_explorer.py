"""An explorer with a recorded model beside the one that computes: a switch changes between them."""

from __future__ import annotations

from collections.abc import Mapping

from bertlook_teach.views import HeadExplorer, Measure, mime_bundle

from ..recorded_view import RecordedView

SHOWN_FIRST = ("encoder", "recording")


class RecordedExplorer(HeadExplorer):
    """A `HeadExplorer` of an encoder, and a switch to a recorded model.

    On one side the encoder, for any text; on the other the recorded model, for its sentences. The badge of whichever is in view is a part of
    the picture.

    Parameters
    ----------
    encoder, text, text_pair, measures
        As in `HeadExplorer`, and so are all options but these.
    recording : Recording
        From `load_recording`.
    recorded : mapping, optional
        Options of its `RecordedView`: ``sentences``, ``sentence``, ``layer``, ``head``, ``query`` and others.
    shows : {"encoder", "recording"}
        Which of the two is shown first.

    Attributes
    ----------
    recorded : RecordedView
    """

    def __init__(
        self,
        encoder,
        text=None,
        text_pair: str | None = None,
        measures: Mapping[str, Measure] | None = None,
        *,
        recording,
        recorded: Mapping[str, object] | None = None,
        shows: str = "encoder",
        **options,
    ):
        if shows not in SHOWN_FIRST:
            raise ValueError(f"shows is one of {', '.join(SHOWN_FIRST)}; got {shows!r}.")
        if options.get("minus") is not None:
            raise ValueError("a difference of two models has no recorded side; leave minus or recording out.")
        self._given = recording, recorded or {}, SHOWN_FIRST.index(shows)
        super().__init__(encoder, text, text_pair, measures, **options)
        self.add_class("bertlook-two")

    def _above(self, **sizes) -> list[RecordedView]:
        recording, options, shows = self._given
        self.head_view.badge = called = self.head_view.badge or self.name  # a recorded one stays recorded
        options = {**sizes, "measures": self._on_both(), **options}
        self.recorded = RecordedView(recording, **options, other=called, shows=shows)
        self.recorded.add_class("bertlook-switch")
        return [self.recorded]

    def _on_both(self) -> dict[str, Measure]:
        """The measures that can be taken of another model too; an array belongs to the encoder's heads."""
        return {name: measure for name, measure in self.measures.items() if callable(measure)} or None

    def _repr_mimebundle_(self, **kwargs):
        if self.recorded.shows:
            return mime_bundle(self, self.recorded.pictures())
        return super()._repr_mimebundle_(**kwargs)

    def __repr__(self) -> str:
        return f"{super().__repr__()[:-1]}; {self.recorded!r})"
