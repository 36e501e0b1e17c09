"""The button for a recording: what is chosen is shown, what is damaged is refused with its reason, and nothing is left behind."""

import pytest

from bertlook_course.widgets import RecordedView, RecordingFile
from bertlook_teach.disk import data_path
from bertlook_teach.model import load_recording

GOOD = data_path("bert_base", "bert-base-cased.bertlook").read_bytes()


def chosen(panel, name, content):
    """As the browser reports it in ipywidgets 8."""
    about = {
        "name": name,
        "type": "",
        "size": len(content),
        "content": memoryview(content),
        "last_modified": None,
    }
    panel._opened({"new": (about,)})


def test_a_chosen_file_is_shown():
    panel = RecordingFile(measure="to the next token")
    assert panel.recording is None and "No file yet" in panel.said.value
    chosen(panel, "mine.bertlook", GOOD)
    assert isinstance(panel.view, RecordedView) and panel.children[-1] is panel.view
    assert panel.view.measure == "to the next token"
    assert list(panel.recording) == list(load_recording("bert-base-cased"))
    assert "mine.bertlook: Recording(" in panel.said.value and "recorded, not computed here" in repr(panel)


def test_ipywidgets_7_reports_a_dict():
    panel = RecordingFile()
    panel._opened({"new": {"mine.bertlook": {"content": GOOD, "metadata": {}}}})
    assert panel.recording is not None


@pytest.mark.parametrize("content", [GOOD[:2000], b"", b"PK\x03\x04 no", GOOD[:-300] + b"\0" * 300])
def test_a_damaged_file_is_refused_and_what_was_shown_stays(content, tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    panel = RecordingFile()
    chosen(panel, "mine.bertlook", GOOD)
    before = panel.view
    chosen(panel, "C:/home/me/<b>bad.bertlook", content)
    assert panel.view is before and panel.children[-1] is before
    assert 'role="alert"' in panel.said.value and "bad" in panel.said.value
    assert "<b>" not in panel.said.value and str(tmp_path) not in panel.said.value
    assert not list(tmp_path.iterdir())


def test_a_file_that_is_too_large_is_refused_before_it_is_read(monkeypatch):
    monkeypatch.setattr("bertlook_course.widgets.panels.recording_file.LARGEST", 1000)
    with pytest.raises(ValueError, match=r"use load_recording\(\) on the file"):
        RecordingFile().show_file("mine.bertlook", GOOD)


def test_nothing_chosen_is_nothing_said():
    panel = RecordingFile()
    panel._opened({"new": ()})
    assert "No file yet" in panel.said.value


def test_an_option_that_does_not_fit_the_file_is_said():
    panel = RecordingFile(measure="no such measure")
    chosen(panel, "mine.bertlook", GOOD)
    assert 'role="alert"' in panel.said.value and "no measure" in panel.said.value and panel.view is None
