"""``bertlook doctor``: is everything ready for class? A list of checks, each with what to do when it fails."""

from __future__ import annotations

import json
import os
import platform
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from importlib import metadata
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple

from bertlook_teach.disk import install_command

from .doctor_screen import Failed, browser, fonts, screen

GIB = 1024**3

OLDEST, NEWEST = (3, 11), (3, 14)
FOR_A_LECTURE = r"extra == .(classic|slides)\b"  # which start.py installs


class Check(NamedTuple):
    """One line of the list."""

    name: str
    run: Callable[[], str]  # returns what was found, or raises Failed
    needed: bool = True  # whether class cannot be held without it


# --- the checks, in the order in which one would look -----------------------------------------------------------------
def python() -> str:
    """This Python can run the project."""
    here = sys.version_info[:2]
    if not OLDEST <= here <= NEWEST:
        raise Failed(
            f"Python {platform.python_version()}",
            "Use Python {}.{} to {}.{}.".format(*OLDEST, *NEWEST),
        )
    return f"Python {platform.python_version()}, {sys.prefix}"


def read_pins(text: str) -> Iterator[tuple[str, str]]:
    """Name and version of each line of a constraints file that applies to this Python and this system."""
    from packaging.requirements import Requirement

    for line in text.splitlines():
        line = line.split("#")[0].strip()
        if line:
            requirement = Requirement(line)
            if requirement.marker is None or requirement.marker.evaluate():
                yield requirement.name, next(iter(requirement.specifier)).version


def packages(constraints: Path | None = None) -> str:
    """What is installed are the versions known to work together."""
    constraints = constraints or Path(__file__).resolve().parents[2] / "constraints.txt"
    if not constraints.is_file():
        return "no constraints.txt here to compare with (installed from a wheel)"
    pins = dict(read_pins(constraints.read_text(encoding="utf-8")))
    needs = metadata.requires("bertlook_teach") or []
    # Only what start.py installs for a lecture can be missing.
    needs = [line for line in needs if "extra ==" not in line or re.search(FOR_A_LECTURE, line)]
    required = {_plain(re.split(r"[^\w.-]", line)[0]) for line in needs}
    missing, other = [], []
    for name, version in pins.items():
        try:
            installed = metadata.version(name).split("+")[0]  # "2.13.0+cpu" is 2.13.0
        except metadata.PackageNotFoundError:
            if _plain(name) in required:
                missing.append(name)
            continue
        if installed != version:
            other.append(f"{name} {installed} instead of {version}")
    if missing or other:
        found = "; ".join([f"missing: {name}" for name in missing] + other)
        raise Failed(found, f"Start with `python3 start.py`, or: {install_command('lab')}")
    return f"what is installed has the pinned versions ({len(pins)} in constraints.txt)"


def _plain(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def specimen() -> str:
    """The shipped model loads, and its attention is attention."""
    import numpy as np

    from bertlook_teach.model import extract_attention, load_encoder

    started = time.perf_counter()
    try:
        encoder = load_encoder("specimen")
        attention = extract_attention(encoder, "The doctor looks at the cat.")
    except Exception as error:  # whatever it is, the list must go on
        raise Failed(
            f"{type(error).__name__}: {error}",
            "Restore the folder data/model, for example: git checkout data/model",
        ) from error
    sums = attention.weights.sum(axis=-1)
    if not np.allclose(sums, 1, atol=1e-4):
        raise Failed(
            f"attention rows sum to {sums.min():.4f} .. {sums.max():.4f}, not to 1",
            "Restore the folder data/model, for example: git checkout data/model",
        )
    seconds = time.perf_counter() - started
    return f"{encoder.n_layers} layers x {encoder.n_heads} heads, rows sum to 1 ({seconds:.1f} s)"


def torch() -> str:
    """What gradients and training need: it loads, and gives the specimen's attention."""
    import numpy as np

    from bertlook_teach.model import extract_attention, load_encoder

    started = time.perf_counter()
    text = "The doctor looks at the cat."
    if find_spec("torch") is None:
        return f"not installed, and no lecture needs it; some exercises do: {install_command('torch')}"
    remedy = f"Install it anew: {install_command('torch')}. Lectures do without."
    try:
        ours, theirs = (extract_attention(load_encoder("specimen", device=d), text) for d in ("auto", "cpu"))
    except Exception as error:  # a library that does not load has many ways to say so
        raise Failed(f"{type(error).__name__}: {error}", remedy) from error
    gap = np.abs(ours.weights - theirs.weights).max()
    if gap > 1e-4:
        raise Failed(f"its attention differs from NumPy's by {gap:.4f}", remedy)
    return f"the same attention as without it ({time.perf_counter() - started:.1f} s)"


def fingerprint() -> str:
    """The shipped model is the one that the card describes: its numbers are the ones that the course speaks of."""
    from bertlook_teach.disk import data_path
    from bertlook_teach.model import load_encoder

    card = data_path("model", "MODEL_CARD.md").read_text(encoding="utf-8")
    said = re.search(r"Fingerprint[^`]*`([0-9a-f]{16})`", card)
    if said is None:
        raise Failed("the card names none", "Restore the folder data/model: git checkout data/model")
    found = load_encoder("specimen").fingerprint
    if found != said[1]:
        raise Failed(
            f"{found}, the card says {said[1]}: another model, so other numbers than the saved decks show",
            "Restore the folder data/model: git checkout data/model. If it is unchanged, see the line on packages.",
        )
    return f"{found}, as on the card"


def lab_extension() -> str:
    """The extension that makes widgets live on slides is installed, enabled, and the one of this checkout."""
    source = Path(__file__).parent / "labextension"
    name = json.loads((source / "package.json").read_text(encoding="utf-8"))["name"]
    installed = Path(sys.prefix, "share", "jupyter", "labextensions", name)
    again = "Install again: pip install --no-deps -e . (start.py does it by itself)"
    if not (installed / "package.json").is_file():
        raise Failed(f"{name} is not in {installed.parent}", again)
    scripts = {
        "remoteEntry.js": source / "static" / "remoteEntry.js",
        "fill.js": source.parent / "export" / "page" / "fill.js",
    }
    for script, own in scripts.items():
        copied = installed / "static" / script
        if not copied.is_file() or copied.read_bytes() != own.read_bytes():
            raise Failed(f"{name} is installed in another version than this checkout's", again)
    disabled = _disabled_extensions()
    for extension in (name, "jupyterlab-rise", "@jupyter-widgets/jupyterlab-manager", "anywidget"):
        if disabled.get(extension):
            raise Failed(f"{extension} is disabled", f"Enable it: jupyter labextension enable {extension}")
        if not Path(sys.prefix, "share", "jupyter", "labextensions", extension).is_dir():
            raise Failed(
                f"{extension} is not installed",
                f"Install the lab extra: {install_command('lab')}",
            )
    return f"{name}, jupyterlab-rise, ipywidgets and anywidget installed and enabled"


def _disabled_extensions() -> dict:
    """What JupyterLab's page configuration of this environment disables."""
    disabled: dict = {}
    for path in Path(sys.prefix, "etc", "jupyter", "labconfig").glob("page_config*.json"):
        found = json.loads(path.read_text(encoding="utf-8")).get("disabledExtensions", {})
        disabled |= found if isinstance(found, dict) else dict.fromkeys(found, True)
    return disabled


def kernel(seconds: float = 60) -> str:
    """A notebook kernel starts and answers."""
    started = time.perf_counter()
    reply, _ = _ask_kernel("import bertlook_teach", seconds)
    if reply["status"] != "ok":
        raise Failed(
            f"the kernel cannot import bertlook_teach: {reply['evalue']}",
            "The kernel named python3 belongs to another Python. Start with `python3 start.py`.",
        )
    return f"started and imported bertlook_teach in {time.perf_counter() - started:.1f} s"


_A_VIEW = "from bertlook_teach.views import HeadMap\nHeadMap([[0.25, 0.75]])"


def widgets(seconds: float = 60, code: str = _A_VIEW) -> str:
    """A view made in a kernel opens the channel to the browser, and brings its own script."""
    reply, messages = _ask_kernel(code, seconds)
    if reply["status"] != "ok":
        raise Failed(
            f"a view cannot be made: {reply['evalue']}",
            f"Install the lab extra: {install_command('lab')}",
        )
    states = [m["content"]["data"].get("state", {}) for m in messages if m["msg_type"] == "comm_open"]
    if not any("_esm" in state for state in states):
        raise Failed(
            f"a view opened {len(states)} channels to the browser, none with a script of its own",
            f"Another ipywidgets or anywidget than the pinned ones: {install_command('lab')}",
        )
    return f"a view opened {len(states)} channels to the browser"


def _ask_kernel(code: str, seconds: float) -> tuple[dict, list[dict]]:
    """What a fresh kernel answers, and all that it sends meanwhile."""
    try:
        from jupyter_client.manager import start_new_kernel
    except ImportError as error:
        raise Failed(
            f"{error.name} is not installed",
            f"Install the lab extra: {install_command('lab')}",
        ) from error
    try:
        manager, client = start_new_kernel(
            startup_timeout=seconds, kernel_name="python3", stderr=subprocess.DEVNULL
        )
    except Exception as error:
        raise Failed(
            f"{type(error).__name__}: {error}",
            "See what `python -m ipykernel --version` says in this environment.",
        ) from error
    messages: list[dict] = []
    try:
        reply = client.execute_interactive(code, timeout=seconds, output_hook=messages.append)
    except TimeoutError as error:
        raise Failed(
            f"no answer within {seconds:.0f} s",
            "Close what else keeps this computer busy, and try again.",
        ) from error
    finally:
        client.stop_channels()
        manager.shutdown_kernel(now=True)
    return reply["content"], messages


def decks() -> str:
    """There are decks to present."""
    from bertlook_course.syllabus import find_root

    try:
        folder = find_root() / "slides"
    except OSError as error:  # a folder that others can write to, that holds other files, or none
        raise Failed("none", str(error)) from None
    found = sorted(folder.glob("[0-9][0-9]_*.ipynb"))
    if not found:
        raise Failed(f"none in {folder}", "Install a complete wheel, or run bertlook in a clone.")
    return f"{len(found)} in {folder}"


def memory() -> str:
    """Enough memory for a browser and a kernel."""
    import psutil

    free = psutil.virtual_memory().available / GIB
    if free < 1.5:
        raise Failed(
            f"{free:.1f} GiB free", "Close other programs: a deck needs about 1 GiB, a browser as much."
        )
    return f"{free:.1f} GiB free"


def disk(folder: Path | None = None) -> str:
    """Enough disk to save a notebook."""
    folder = folder or Path.cwd()
    free = shutil.disk_usage(folder).free / GIB
    if free < 0.2:
        raise Failed(f"{free:.2f} GiB free for {folder}", "Make space: notebooks could not be saved.")
    return f"{free:.1f} GiB free"


def kept() -> str:
    """Where results of lessons are kept, so that a deck opens sooner the second time."""
    from bertlook_course.storage import others_can_write, store_folder

    folder = store_folder()
    if folder is None:
        return "nothing: the variable BERTLOOK_CACHE says off"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile(dir=folder):
            sizes = [file.stat().st_size for file in folder.glob("*.npz")]
    except OSError as error:
        raise Failed(
            f"{folder} cannot be written ({error.strerror})",
            "Name a folder of your own in the variable BERTLOOK_CACHE; without one every deck computes anew.",
        ) from None
    if others_can_write(folder):
        raise Failed(
            f"{folder} is somebody else's, or everybody can write there, so nothing in it is trusted",
            "Name a folder of your own in the variable BERTLOOK_CACHE; without one every deck computes anew.",
        )
    if not sizes:
        return f"nothing yet in {folder}; open a deck once, and it opens sooner in class"
    return f"{len(sizes)} results, {sum(sizes) / 1e6:.0f} MB in {folder}"


def evidence() -> str:
    """What comes with the course already fitted and trained, and whether it is of these weights and data."""
    from bertlook_course.storage import evidence_folder, shipped_files
    from bertlook_teach.model import SHIPPED, load_encoder

    folder = evidence_folder()
    if folder is None:
        return "not used: the variable BERTLOOK_EVIDENCE says off"
    models = [load_encoder(f"{name}{twin}") for name in SHIPPED for twin in ("", "-random")]
    files = list(shipped_files(model.fingerprint for model in models))
    remedy = (
        "Their lessons compute it, which takes a minute each; python tools/make_evidence.py makes it anew."
    )
    if not files:
        raise Failed(f"none in {folder}", remedy)
    bad = [f"{one.file.name} {one.problem}" for one in files if one.problem]
    if bad:
        raise Failed(f"{len(bad)} of {len(files)} do not fit: {'; '.join(bad[:3])}", remedy)
    size = sum(one.file.stat().st_size for one in files) / 1e6
    return f"{len(files)} result{'s' * (len(files) != 1)}, {size:.1f} MB in {folder}; all fit"


_asked: list[str] = []  # every other computer this process has tried to reach


def note_network_use(event: str, arguments: tuple) -> None:
    """An audit hook: what asks for a host name, or connects to an address, is written down."""
    if event == "socket.getaddrinfo":
        host = arguments[0]
    elif event == "socket.connect" and isinstance(arguments[1], tuple):
        host = arguments[1][0]
    else:
        return
    if str(host) not in ("None", "", "localhost", "127.0.0.1", "::1"):
        _asked.append(str(host))


def offline() -> str:
    """Nothing of the above has asked the network for anything; and which other models are here without it."""
    if _asked:
        raise Failed(
            f"asked for {', '.join(dict.fromkeys(_asked))}",
            "Without a network, the class would wait for these. Set HF_HUB_OFFLINE=1, and report it to the project.",
        )
    home = os.environ.get("HF_HOME") or Path.home() / ".cache" / "huggingface"
    hub = Path(os.environ.get("HF_HUB_CACHE") or Path(home, "hub"))
    models = sorted(path.name.removeprefix("models--").replace("--", "/") for path in hub.glob("models--*"))
    return f"no other computer was asked; models at hand besides the specimen and MiniLM, which ship: {', '.join(models) or 'none'}"


def port() -> str:
    """The server can listen on this machine."""
    try:
        with socket.create_server(("127.0.0.1", 0)) as server:
            return f"can listen on 127.0.0.1 (port {server.getsockname()[1]}, for example)"
    except OSError as error:
        raise Failed(
            str(error), "A firewall or sandbox keeps programs from listening on this computer; allow it."
        ) from None


CHECKS = (
    Check("python", python),
    Check("packages", packages, needed=False),
    Check("specimen", specimen),
    Check("torch", torch),
    Check("fingerprint", fingerprint),
    Check("slides extension", lab_extension),
    Check("kernel", kernel),
    Check("widgets", widgets),
    Check("server", port),
    Check("decks", decks),
    Check("browser", browser, needed=False),
    Check("screen", screen, needed=False),
    Check("fonts", fonts),
    Check("memory", memory),
    Check("disk", disk),
    Check("shipped evidence", evidence, needed=False),
    Check("kept results", kept, needed=False),
    Check("offline", offline),
)


def examine(checks=CHECKS, write: Callable[[str], None] = print) -> bool:
    """Run the checks, print a line for each, and return whether all that is needed is well."""
    ready = True
    width = max(len(check.name) for check in checks)
    for check in checks:
        try:
            write(f"ok    {check.name:{width}}  {check.run()}")
        except Failed as failure:
            found, advice = failure.args
            write(f"{'FAIL' if check.needed else 'note'}  {check.name:{width}}  {found}")
            write(f"      {'':{width}}  -> {advice}")
            ready = ready and not check.needed
        except Exception as error:  # noqa: BLE001 - a check that cannot be made is not a proof of health
            write(f"FAIL  {check.name:{width}}  {type(error).__name__}: {error}")
            write(f"      {'':{width}}  -> Install anew: delete .venv and run `python3 start.py`.")
            ready = False
    return ready
