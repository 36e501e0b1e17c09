"""Where Jupyter finds its settings and keeps its files: folders of this installation, closed to others, in place of the reader's own."""

from __future__ import annotations

import contextlib
import os
import shutil
import socket
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from bertlook_course.storage import write_json

# How kernels and the server talk: over sockets in a folder of ours, where the system has them. Every user of the computer can read
# along on a TCP port; a kernel warns of that, so its warnings are shown where there are no such sockets.
TRANSPORT = "ipc" if hasattr(socket, "AF_UNIX") and os.name == "posix" else "tcp"

# What Jupyter reads from its configuration folder. Decks carry their own settings in their metadata; here stands only
# what concerns the application: no news or updates fetched from the network, and classic RISE starts by itself.
SETTINGS = {
    "ipython/profile_default/ipython_kernel_config.json": {
        "IPKernelApp": {"ignore_cwd": True, "extensions": ["bertlook_press.classroom.kernel_start"]}
        | ({"log_level": "ERROR"} if TRANSPORT == "ipc" else {})
    },
    "config/labconfig/page_config.json": {
        "disabledExtensions": {
            "@jupyterlab/apputils-extension:announcements": True,
            "@jupyterlab/vega5-extension": True,  # a chart of this kind may ask any address for its data, whoever wrote it
        }
    },
    "config/labconfig/default_setting_overrides.json": {
        "@jupyterlab/apputils-extension:notification": {"fetchNews": "false", "checkForUpdates": False},
        "@jupyterlab/docmanager-extension:plugin": {"defaultViewers": {"markdown": "Markdown Preview"}},
    },
    "config/nbconfig/rise.json": {"autolaunch": True},
}

# Set by the reader's own Jupyter, these would lead back to his or her configuration.
FOREIGN = (
    "JUPYTER_CONFIG_PATH",
    "JUPYTER_PATH",
    "JUPYTER_NO_CONFIG",
    "JUPYTERLAB_SETTINGS_DIR",
    "JUPYTERLAB_WORKSPACES_DIR",
)

FOREIGN += ("JUPYTERLAB_DIR", "JUPYTER_TOKEN", "JUPYTER_PORT", "JUPYTER_RUNTIME_DIR")

# What others would make readable for every user of the computer: all code that was ever typed, and which notebooks are trusted.
PRIVATE = ("ipython/profile_default/history.sqlite", "data/trusted.db")


def isolate(environ=os.environ) -> Path:
    """Point Jupyter and IPython to a configuration folder of this installation; return that folder.

    It lies inside the virtual environment, or in a temporary folder where that cannot be written. Only its owner can look into it.
    """
    home = Path(sys.prefix) / "bertlook-jupyter"
    try:
        home.mkdir(exist_ok=True)
        home.chmod(0o700)
        tempfile.TemporaryFile(dir=home).close()
    except OSError:
        home = Path(tempfile.mkdtemp(prefix="bertlook-jupyter-"))
    for name in FOREIGN:
        environ.pop(name, None)
    # An empty or relative entry would be the notebook's folder.
    sound = [place for place in environ.pop("PYTHONPATH", "").split(os.pathsep) if os.path.isabs(place)]
    if sound:
        environ["PYTHONPATH"] = os.pathsep.join(sound)
    environ["JUPYTER_CONFIG_DIR"] = str(home / "config")
    environ["JUPYTER_DATA_DIR"] = str(home / "data")
    environ["IPYTHONDIR"] = str(home / "ipython")
    environ["JUPYTER_PREFER_ENV_PATH"] = "1"
    for name, settings in SETTINGS.items():
        write_json(home / name, settings, indent=2)
    for name in PRIVATE:
        file = home / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.touch(mode=0o600)
        file.chmod(0o600)
    return home


def begun_safely(spec):
    """The description of a kernel in Python, with `kernel_start.py` in place of ``-m ipykernel_launcher``."""
    if "ipykernel_launcher" in spec.argv:
        at = spec.argv.index("ipykernel_launcher")
        spec.argv[at - 1 : at + 1] = [str(Path(__file__).with_name("kernel_start.py"))]
    return spec


def kernel_specs() -> type:
    """Jupyter's list of kernels, each `begun_safely`."""
    from jupyter_client.kernelspec import KernelSpecManager

    class KernelSpecs(KernelSpecManager):
        def get_kernel_spec(self, kernel_name):
            return begun_safely(super().get_kernel_spec(kernel_name))

    return KernelSpecs


@contextlib.contextmanager
def socket_folder() -> Iterator[Path]:
    """A folder for the sockets of kernels, for as long as it is needed: its owner's alone, and with a short name (107 letters are a socket's limit)."""
    folder = Path(tempfile.mkdtemp(prefix="bertlook-"))
    if len(str(folder)) > 40 and os.access("/tmp", os.W_OK):
        folder.rmdir()
        folder = Path(tempfile.mkdtemp(prefix="bertlook-", dir="/tmp"))
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
