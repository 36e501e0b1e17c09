#!/usr/bin/env python3
"""Give a lecture, or run all tests, with one command. Needs Python 3.11 to 3.14 and nothing else.

    python3 start.py                     install what lectures need (the first time), then open the map of the course
    python3 start.py --deck 03           open another deck
    python3 start.py --lab               open plain JupyterLab, for the exercises
    python3 start.py test                run all tests; what follows is passed to pytest
    python3 start.py test measures       run the tests of one folder
    python3 start.py test --all          run all tests, and walk through every deck at three sizes, changed or not
    python3 start.py test --exact        run all tests, and compare the outputs of notebooks to the letter

Any other word is a command of bertlook, and what follows is passed to it. The command runs in the folder you are in:

    python3 start.py present 06 --route 20
    python3 start.py doctor              check before class that everything is ready
    python3 start.py export 03 --help    show the options of a command; docs/instrument.md lists all commands

With --torch in front of any of these, PyTorch is installed as well (1.4 GB more): for gradients, training, other models than
BERT, and the exercises of lessons 4, 11 and 14.

Everything is installed into the folder .venv beside this file; what only the tests need comes with the first "test", with
PyTorch. What is there stays, and a second start installs nothing. On Windows write "py" instead of "python3".
"""

# This file must be understood by any Python 3, if only to say that it is too old: nothing newer than 3.6 in here.
import argparse
import ast
import hashlib
import os
import platform
import re
import shutil
import subprocess
import sys
import tempfile

OLDEST, NEWEST = (3, 11), (3, 14)
ROOT = os.path.dirname(os.path.abspath(__file__))
VENV = os.path.join(ROOT, ".venv")
VENV_PYTHON = os.path.join(VENV, *(["Scripts", "python.exe"] if os.name == "nt" else ["bin", "python"]))
STAMP = os.path.join(VENV, "bertlook-installed.txt")  # written last: what is half installed has none
LOG = os.path.join(VENV, "bertlook-install.log")
UV_CACHE = os.path.join(
    VENV, "uv-cache"
)  # beside the packages, which are hard links into it; removed at the end
CONSTRAINTS = os.path.join(ROOT, "constraints.txt")
CPU_INDEX = "https://download.pytorch.org/whl/cpu"
GIB = 1024**3
# How much is installed: what a lecture needs; torch as well; what tests need as well. Each holds the ones before it.
LECTURE, TORCH, TEST = LEVELS = ("", "torch", "test")
EXTRAS = {LECTURE: ".[classic,slides]", TORCH: ".[lab]", TEST: ".[lab,test]"}
# Measured: .venv takes 0.6 GiB for a lecture, and 1.8 GiB with the CPU build of torch; pip unpacks beside it.
SPACE_NEEDED = {LECTURE: 0.9 * GIB, TORCH: 3 * GIB, TEST: 3 * GIB}

# On Windows a path has at most 259 characters, unless the administrator allows more. Measured: the longest below this
# folder is the licence of a part of torch, .venv\Lib\site-packages\torch-2.13.0.dist-info\..., with 195.
PATH_LIMIT, LONGEST_BELOW = 259, 200

# Whatever makes an installation different from the last one. An editable install holds a copy of the last two.
INSTALLED_FROM = (
    "pyproject.toml",
    "constraints.txt",
    "bertlook_press/classroom/labextension/package.json",
    "bertlook_press/classroom/labextension/static/remoteEntry.js",
    "bertlook_press/classroom/export/page/fill.js",
    "bertlook_press/classroom/nbextension/main.js",
    "bertlook_press/classroom/nbextension/notebook.json",
    "bertlook_press/classroom/server_extension.json",
)
# The whole suite runs in several processes, a notebook, test file or class in one of them, in the order that tests/conftest.py
# gives; a choice of tests in this one. One process more than processors, since a test in a browser also waits; with two more it took longer.
PROCESSES = min(4, (os.cpu_count() or 2) + 1)
ALL_TESTS = ["-n", str(PROCESSES), "--dist", "loadscope", "--no-loadscope-reorder"]
CHOOSING = (
    "-k",
    "-m",
    "--lf",
    "--last-failed",
    "--sw",
    "--stepwise",
    "--collect-only",
    "-n",
)  # options that say which tests
FOR_A_LECTURE = "jupyterlab, jupyterlab_rise, nbclassic, ipywidgets, anywidget, bertlook_teach"
MUST_IMPORT = {
    LECTURE: FOR_A_LECTURE,
    TORCH: FOR_A_LECTURE + ", torch, transformers",
    TEST: FOR_A_LECTURE + ", torch, transformers, pytest, nbval, xdist, playwright",
}


class Trouble(Exception):
    """Something the user can mend; the message says how."""


def say(line):
    """Print at once, so that our lines and pip's keep their order."""
    print(line, flush=True)


def succeeds(command, **options):
    """Run a command in the project's folder, its output on the screen; return whether it went well."""
    return subprocess.run(command, check=False, cwd=ROOT, **options).returncode == 0


def answer_of(command):
    """What a command prints, or None if there is no such command or it fails."""
    try:
        done = subprocess.run(command, check=False, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    except OSError:
        return None
    return done.stdout.decode(errors="replace").strip() if done.returncode == 0 else None


# --- before anything is installed -------------------------------------------------------------------------------------


def check_python(version=sys.version_info, maxsize=sys.maxsize):
    """Raise Trouble unless this Python can run the project."""
    here = "{}.{}".format(*version[:2])
    if not OLDEST <= tuple(version[:2]) <= NEWEST:
        message = "Python {}.{} to {}.{} is needed, this is {}.".format(*OLDEST, *NEWEST, here)
        if tuple(version[:2]) > NEWEST:
            message += "\nSorry: there may be no PyTorch for a Python as new as this one yet, and the project was not tried with it."
        raise Trouble(message + "\n" + better_python())
    if maxsize < 2**32:
        raise Trouble(
            f"A 64-bit Python is needed (PyTorch has no other), this Python {here} is a 32-bit one."
        )


def better_python():
    """How to start with a Python that fits: one found on this computer, or where to get one."""
    for minor in range(NEWEST[1], OLDEST[1] - 1, -1):
        command = ["py", f"-3.{minor}"] if os.name == "nt" else [f"python3.{minor}"]
        if answer_of(command + ["-c", "print('well')"]) == "well":
            return "There is one on this computer; start with:  {} start.py".format(" ".join(command))
    newest = "{}.{}".format(*NEWEST)
    return f"Install Python {newest}, for example from https://www.python.org/downloads/, and start with it."


def check_venv_module():
    """Raise Trouble if this Python cannot make virtual environments (Debian and Ubuntu package that part separately)."""
    try:
        import ensurepip  # noqa: F401
        import venv  # noqa: F401
    except ImportError as error:
        version = "{}.{}".format(*sys.version_info[:2])
        raise Trouble(
            f"This Python {version} has no module {error.name!r}, which makes virtual environments.\n"
            f"On Debian or Ubuntu:  sudo apt install python{version}-venv\n"
            f"Elsewhere: install Python from https://www.python.org/downloads/. Then run the same command again."
        ) from None


def check_folder(folder=None, level=LECTURE):
    """Raise Trouble if the folder cannot be written to, or its disk has too little space for an installation."""
    folder = folder or ROOT
    try:
        tempfile.TemporaryFile(dir=folder).close()
    except OSError as error:
        if error.errno == 28:
            raise Trouble(disk_full(folder))
        raise Trouble(
            f"Cannot write into {folder}: {error.strerror}.\n"
            "Copy the project to a folder of your own, and start it there."
        )
    if shutil.disk_usage(folder).free < SPACE_NEEDED[level]:
        raise Trouble(disk_full(folder))
    if os.name == "nt" and not long_paths_allowed():
        check_length(folder)


def check_length(folder):
    """Raise Trouble if files in .venv would have longer paths than Windows takes."""
    most = PATH_LIMIT - LONGEST_BELOW - 1
    if len(folder) > most:
        raise Trouble(
            f"The path of this folder is too long: {len(folder)} characters, Windows leaves room for {most}:\n{folder}\n"
            "Move the project to a short one, for example C:\\bertlook, and start it there. Or let the administrator allow\n"
            "long paths (LongPathsEnabled, https://learn.microsoft.com/windows/win32/fileio/maximum-file-path-limitation)."
        )


def long_paths_allowed():
    """Whether this Windows was told to allow paths of more than 259 characters."""
    import winreg

    try:
        with winreg.OpenKey(winreg.HKEY_LOCAL_MACHINE, r"SYSTEM\CurrentControlSet\Control\FileSystem") as key:
            return winreg.QueryValueEx(key, "LongPathsEnabled")[0] == 1
    except OSError:
        return False


def disk_full(folder):
    """Say how much space there is and how much is needed."""
    free = shutil.disk_usage(folder).free
    least, most = SPACE_NEEDED[LECTURE] / GIB, SPACE_NEEDED[TEST] / GIB
    return (
        f"The disk is full: {free / GIB:.1f} GiB are free for {folder}, {least:.1f} GiB are needed for lectures and\n"
        f"{most:.0f} GiB with PyTorch or the tests (and 1 GiB in the folder for temporary files, {tempfile.gettempdir()}; the variable\n"
        "TMPDIR names another). Make space, then run the same command again: it continues where it stopped."
    )


# --- installing -------------------------------------------------------------------------------------------------------


def fingerprint():
    """A hash that changes whenever the installation must be done anew."""
    digest = hashlib.sha256(ROOT.encode())  # a moved folder leaves paths to its old place behind
    for name in INSTALLED_FROM:
        with open(os.path.join(ROOT, *name.split("/")), "rb") as file:
            digest.update(name.encode() + file.read())
    return digest.hexdigest()


def read_stamp():
    """What was installed last: "fingerprint version-of-python", with " torch" or " test" if so much, or an empty string."""
    try:
        with open(STAMP) as file:
            return file.read().strip()
    except OSError:
        return ""


def write_stamp(text):
    """Say that everything is installed."""
    with open(STAMP, "w") as file:
        file.write(text)


def venv_version():
    """The Python version of .venv, such as "3.11", or None if there is none that runs."""
    return answer_of([VENV_PYTHON, "-I", "-S", "-c", "import sys; print('%d.%d' % sys.version_info[:2])"])


def make_venv(why=""):
    """Make .venv, or make it again from nothing."""
    again = f" again ({why})" if why else ""
    say(f"[1/3] making the virtual environment .venv{again}")
    check_venv_module()
    inside = os.path.realpath(sys.prefix) == os.path.realpath(
        VENV
    )  # started from .venv itself, which is to be cleared
    python = getattr(sys, "_base_executable", sys.executable) if inside else sys.executable
    if not succeeds([python, "-m", "venv", "--clear", VENV]):
        check_folder()
        raise Trouble("The virtual environment could not be made; the lines above say why.")


def pip(*arguments):
    """Run pip in .venv with its progress on the screen; raise Trouble with the likely cause if it fails."""
    if os.path.exists(LOG):
        os.remove(LOG)
    environment = dict(os.environ, PIP_DISABLE_PIP_VERSION_CHECK="1", PIP_USER="0")
    command = [VENV_PYTHON, "-m", "pip", "install", "--log", LOG, "-c", CONSTRAINTS]
    if not succeeds(command + list(arguments), env=environment):
        try:
            with open(LOG, encoding="utf-8", errors="replace") as file:
                log = file.read()
        except OSError:
            log = ""
        raise Trouble(explain(log))


class NoNetwork(Trouble):
    """The package index could not be reached."""


def explain(log, folder=None):
    """What to tell the user when pip failed, from what pip logged. Raises NoNetwork if that is the cause."""
    folder = folder or ROOT
    full = r"No space left on device|not enough space on the disk|Disk quota exceeded|\[Errno (28|122)\]"
    offline = (
        r"Failed to establish a new connection|NameResolutionError|name resolution|getaddrinfo failed|nodename nor servname"
        r"|(Connect|Read)TimeoutError|timed out|Connection (reset|refused|aborted)|Network is unreachable|ProxyError|SSLError"
    )
    if re.search(full, log) or shutil.disk_usage(folder).free < 0.1 * GIB:
        return disk_full(folder)
    if re.search(offline, log):
        raise NoNetwork(
            "The packages could not be downloaded: no connection to the package index.\n"
            "The first start needs the network (once, about 190 MB; 500 MB with PyTorch). Check the connection, or the proxy settings (HTTPS_PROXY),\n"
            "then run the same command again: it continues where it stopped."
        )
    if re.search(r"No matching distribution found for torch", log):
        return (
            f"There is no PyTorch {torch_version()} for this computer ({platform.system()} {platform.machine()},\n"
            f"Python {platform.python_version()}). PyTorch supports 64-bit Windows, Linux (glibc) and macOS 14 on Apple silicon."
        )
    if re.search(r"Permission denied|Read-only file system|\[Errno (13|30)\]|Access is denied", log):
        return (
            f"Some files could not be written; the lines above name them. Is {folder} a folder of your own,\n"
            "and is no other program (a running JupyterLab, a virus scanner) using .venv? Then run the same command again."
        )
    return f"The installation failed; the lines above and {LOG} say why.\nRun the same command again: it continues where it stopped."


def torch_version():
    """The pinned version of torch."""
    with open(CONSTRAINTS, encoding="utf-8") as file:
        return re.search(r"^torch==([^\s;]+)", file.read(), re.MULTILINE).group(1)


def has_nvidia_gpu():
    """Whether the NVIDIA driver is at work here."""
    if os.path.exists("/proc/driver/nvidia/version"):
        return True
    return answer_of(["nvidia-smi", "-L"]) is not None


def install_torch():
    """Install torch, without gigabytes of CUDA where no GPU could use them.

    On Linux the package index serves the CUDA build; PyTorch's own index has one for the CPU, whose version
    ("2.13.0+cpu") counts as the higher one. Where that index cannot be reached, the other build is taken.
    Without its dependencies, which come in the next step: so an unreachable index is asked for one page only.
    """
    wanted = "torch==" + torch_version()
    if sys.platform.startswith("linux") and not has_nvidia_gpu():
        say(f"[2/3] installing PyTorch {torch_version()}, the build without GPU support")
        try:
            return pip(
                "--no-deps", "--extra-index-url", CPU_INDEX, "--retries", "1", "--timeout", "10", wanted
            )
        except NoNetwork:
            say("      that did not work; trying again without PyTorch's own index (its build may be larger)")
    else:
        say(f"[2/3] installing PyTorch {torch_version()}")
    return pip("--no-deps", wanted)


def pip_settings(python=None):
    """What pip was told on this computer, by its files and variables, as {option: value}."""
    lines = (answer_of([python or VENV_PYTHON, "-m", "pip", "config", "list"]) or "").splitlines()
    found = {}
    for place in ("global.", "install.", ":env:."):  # what comes later counts more
        for line in lines:
            name, _, value = line.partition("=")
            if name.startswith(place):
                try:
                    found[name[len(place) :]] = str(ast.literal_eval(value))
                except (ValueError, SyntaxError):
                    continue  # not the quoted text that pip prints today
    return found


def uv_environment(settings):
    """The environment in which uv asks the same indexes as pip, though it does not read pip's settings.

    In variables, since an index's address may hold a password, and a command line can be read by all. What the user
    has set for uv counts more.
    """

    def words(name):
        return settings.get(name, "").split()

    environment = {
        "UV_CACHE_DIR": UV_CACHE,
        "UV_DEFAULT_INDEX": settings.get("index-url", ""),
        "UV_EXTRA_INDEX_URL": " ".join(words("extra-index-url")),
        "UV_FIND_LINKS": ",".join(words("find-links")),
        "UV_INDEX_STRATEGY": "unsafe-best-match",  # any index may have the pinned version, as with pip
        "UV_INSECURE_HOST": " ".join(words("trusted-host")),
        "UV_SYSTEM_CERTS": "true",  # as pip does: a proxy of the institution may have a certificate of its own
        "SSL_CERT_FILE": settings.get("cert", ""),
        "ALL_PROXY": settings.get("proxy", ""),
        "UV_HTTP_TIMEOUT": settings.get("timeout", ""),
    }
    return dict({name: value for name, value in environment.items() if value}, **os.environ)


def uv(*arguments):
    """Install with uv, which needs a fraction of pip's time; return whether that went well."""
    try:
        pip("--only-binary", ":all:", "uv")
    except NoNetwork:
        raise
    except Trouble:  # no uv for this computer or in its index: pip has said so
        return False
    settings = pip_settings()
    command = [VENV_PYTHON, "-m", "uv", "pip", "install", "--python", VENV_PYTHON, "-c", CONSTRAINTS]
    if settings.get("no-index", "").lower() in ("1", "true", "yes", "on"):
        command.append("--no-index")
    return succeeds(command + list(arguments), env=uv_environment(settings))


UNFINISHED = "unfinished"  # in place of a fingerprint, which it never equals


def level_of(stamp):
    """How much was installed when this stamp was written."""
    last = stamp.split()[-1:]
    return last[0] if last and last[0] in LEVELS else LECTURE


def more_of(one, other):
    """The level that holds the other one."""
    return max(one, other, key=LEVELS.index)


def install(stamp, level=LECTURE):
    """Bring .venv up to date, and leave the stamp that says so. What was installed before stays."""
    previous, version = read_stamp(), venv_version()
    had = level_of(previous)
    wanted = more_of(level, had)
    check_folder(level=wanted)
    if version is None:
        previous = ""
        make_venv("it was incomplete" if os.path.isdir(VENV) else "")
    elif previous and previous.split()[1] != version:
        previous = ""
        make_venv("its Python has changed")
    elif answer_of([VENV_PYTHON, "-m", "pip", "--version"]) is None:
        previous = ""
        make_venv("it had no pip")
    if previous:  # from here on, until it is written again, the installation is incomplete
        write_stamp(f"{UNFINISHED} {version} {had}".strip())
    try:
        install_packages(wanted)
    except Trouble as trouble:
        if not previous or not works(had):
            raise
        write_stamp(previous)
        if wanted != had or not isinstance(trouble, NoNetwork):
            raise  # a lecture can be given as before, but no more than that
        say("No network: starting with what was installed before. It will be brought up to date next time.")
        return
    if not works(wanted):
        make_venv("an interrupted installation had left it broken")
        install_packages(wanted, pip_alone=True)
        if not works(wanted, show=True):
            raise Trouble(
                "The installation is not complete; the lines above say what is missing. Delete .venv and start again."
            )
    write_stamp(f"{stamp} {venv_version()} {wanted}".strip())
    if os.path.exists(LOG):
        os.remove(LOG)
    shutil.rmtree(UV_CACHE, ignore_errors=True)
    say("Installed. The next start needs none of this.\n")


def install_packages(level=LECTURE, pip_alone=False):
    """Everything but the virtual environment itself."""
    if level == LECTURE:
        # BertViz asks for torch, and what it is asked for here, its scripts, does without.
        say("[2/3] installing BertViz")
        pip("--no-deps", "bertviz")
    else:
        install_torch()
    said = {LECTURE: "", TORCH: ", transformers", TEST: ", transformers, what tests need"}
    say(f"[3/3] installing JupyterLab{said[level]} and the rest")
    rest = ("-e", EXTRAS[level])
    if not pip_alone and uv(*rest):
        return
    if not pip_alone:
        say(
            "      uv, the faster installer, did not work here; pip does the rest, which takes a minute longer"
        )
    pip(*rest)


def works(level=LECTURE, show=False):
    """Whether all that is needed can be imported."""
    errors = None if show else subprocess.DEVNULL
    return succeeds([VENV_PYTHON, "-c", "import " + MUST_IMPORT[level]], stderr=errors)


def ensure_installed(level=LECTURE):
    """Install unless the stamp says that all is there."""
    stamp = fingerprint()
    version, last = venv_version(), read_stamp()
    if (
        version is not None
        and last.split()[:2] == [stamp, version]
        and more_of(level, level_of(last)) == level_of(last)
    ):
        return
    install(stamp, level)


# --- starting ---------------------------------------------------------------------------------------------------------


def become(*arguments):
    """Run Python in .venv in place of this process; return the exit code where that is impossible (Windows)."""
    command = [VENV_PYTHON] + list(arguments)
    if os.name != "nt":
        os.execv(command[0], command)
    process = subprocess.Popen(command)
    while True:
        try:
            return process.wait()
        except KeyboardInterrupt:  # the child has got it too, and decides
            pass


def parse(argv):
    """The command line, where it begins with an option or is empty."""
    parser = argparse.ArgumentParser(
        prog="start.py",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        usage=argparse.SUPPRESS,
    )
    parser.add_argument(
        "--deck", metavar="NN", help="the lesson's number (otherwise 00, the map of the course)"
    )
    parser.add_argument("--lab", action="store_true", help="plain JupyterLab instead of the slideshow")
    parser.add_argument("--classic", action="store_true", help="show the deck in classic RISE, the fallback")
    parser.add_argument(
        "--port", type=int, metavar="N", help="the port to listen on (otherwise a free one from 8888 on)"
    )
    parser.add_argument("--no-browser", action="store_true", help="only print the address")
    return parser.parse_args(argv)


def arguments_of_bertlook(args):
    """From our command line to that of ``bertlook``."""
    words = ["lab"] if args.lab else ["present"]
    words += [args.deck] if args.deck else []
    words += ["--classic"] if args.classic and not args.lab else []
    words += ["--port", str(args.port)] if args.port is not None else []
    words += ["--no-browser"] if args.no_browser else []
    return words


def arguments_of_pytest(words):
    """What the user chose, or all tests; options alone choose none, but for -k, -m and those of the last run. A name like "measures" is
    its folder of tests."""
    folders = {os.path.basename(folder): folder for folder, _, _ in os.walk(os.path.join(ROOT, "tests"))}
    words = [folders.get(word, word) for word in words]
    chosen = [word for word in words if not word.startswith("-") or word.startswith(CHOOSING)]
    return words if chosen else ALL_TESTS + words


def main(argv):
    """Return the exit code."""
    level = TORCH if argv[:1] == ["--torch"] else LECTURE
    argv = argv[1:] if level else argv
    testing = argv[:1] == ["test"]
    passed_on = bool(argv) and not testing and not argv[0].startswith("-")
    try:
        check_python()
        if testing:
            command = ["-m", "pytest"] + arguments_of_pytest(argv[1:])
        elif passed_on:  # -P: a file of the user's folder is not taken for a module
            command = ["-P", "-m", "bertlook_bench"] + argv
        else:
            command = ["-m", "bertlook_bench"] + arguments_of_bertlook(parse(argv))
        ensure_installed(TEST if testing else level)
        if not passed_on:  # the user's own files are named from the folder where the command was typed
            os.chdir(ROOT)
        return become(*command)
    except Trouble as trouble:
        print(f"\n{trouble}", file=sys.stderr)
        return 1
    except OSError as error:
        if error.errno != 28:
            raise
        print(f"\n{disk_full(ROOT)}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("\nInterrupted. Run the same command again: it continues where it stopped.", file=sys.stderr)
        return 130


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
