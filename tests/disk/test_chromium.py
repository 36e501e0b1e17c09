"""Which browser prints and takes pictures."""

from pathlib import Path

from bertlook_course.storage import chromium as browsers

ROOT = Path(__file__).resolve().parents[2]


def test_a_browser_is_the_one_named_or_the_first_found(tmp_path, monkeypatch):
    chromium = tmp_path / "my-chromium"
    chromium.touch()
    monkeypatch.setenv("BERTLOOK_CHROMIUM", str(chromium))
    assert browsers.find_chromium() == chromium
    monkeypatch.setenv("BERTLOOK_CHROMIUM", str(tmp_path / "gone"))
    assert browsers.find_chromium() is None
    monkeypatch.delenv("BERTLOOK_CHROMIUM")
    monkeypatch.setattr(
        browsers.shutil, "which", lambda name: str(chromium) if name == "google-chrome" else None
    )
    monkeypatch.setattr(browsers, "_APPLICATIONS", ())
    assert browsers.find_chromium() == chromium
