"""Whether a command that starts a server opens a page: it is started, its address asked, and it is stopped again.

python3 .ci/opens.py python3 start.py --no-browser
python3 .ci/opens.py --seconds 30 COMMAND ...
"""

import argparse
import os
import queue
import re
import signal
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request


def stop(process):
    """End a process and all that it has started."""
    if os.name == "nt":
        subprocess.run(["taskkill", "/T", "/F", "/PID", str(process.pid)], check=False, capture_output=True)
    else:
        try:
            os.killpg(process.pid, signal.SIGTERM)
        except ProcessLookupError:
            pass
    try:
        process.wait(timeout=30)
    except subprocess.TimeoutExpired:
        process.kill()


def read(process, lines):
    """Hand on each line that a process prints; None when it has ended."""
    for line in process.stdout:
        print(line, end="", flush=True)
        lines.put(line)
    lines.put(None)


def address_of(process, end):
    """The first address that a process prints before the time is over, or the reason why there is none."""
    lines = queue.Queue()
    threading.Thread(target=read, args=(process, lines), daemon=True).start()
    began = time.monotonic()
    while True:
        try:
            line = lines.get(timeout=max(0, end - time.monotonic()))
        except queue.Empty:
            return None, f"no address within {time.monotonic() - began:.0f} s"
        if line is None:
            return None, "the command ended without an address"
        found = re.search(r"http://127\.0\.0\.1:\d+/\S*", line)
        if found:
            return found.group(), None


def answer(address, end):
    """What is wrong with the page at an address, or None."""
    while True:
        try:
            with urllib.request.urlopen(address, timeout=60) as page:
                return None if b"<html" in page.read().lower() else "no page came back"
        except urllib.error.HTTPError as error:
            return f"the server answered {error.code}"
        except OSError as error:  # not yet listening
            if time.monotonic() > end:
                return f"nobody answers: {error}"
            time.sleep(0.2)


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--seconds", type=float, default=1200, help="how long to wait; the first start installs (1200)"
    )
    parser.add_argument("command", nargs=argparse.REMAINDER)
    args = parser.parse_args()
    end = time.monotonic() + args.seconds
    process = subprocess.Popen(
        args.command,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=os.name != "nt",
    )
    try:
        address, wrong = address_of(process, end)
        wrong = wrong or answer(address, end)
    finally:
        stop(process)
    print(wrong or "The page answers.", flush=True)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
