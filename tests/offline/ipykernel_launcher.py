"""Stands before ipykernel's own module of this name: asks the nursery for a kernel, and goes on as its shadow.

A kernel that starts afresh spends five seconds of a processor on importing torch and transformers, and the tests start about
a hundred. The nursery (`kernel_nursery.py`) has them imported and forks. Whoever started this process sees no difference:
signals are handed on, and it ends when the kernel ends. Without a nursery the kernel starts here, as anywhere else.
"""

import json
import os
import select
import signal
import socket
import sys
from pathlib import Path


def ask(address):
    """A connection to a nursery that has begun to make a kernel like this process, or None."""
    connection = socket.socket(socket.AF_UNIX)
    try:
        connection.connect(address)
    except OSError:
        return None
    like_me = {"argv": sys.argv, "path": sys.path, "cwd": os.getcwd(), "environment": dict(os.environ)}
    message = json.dumps(like_me).encode()
    socket.send_fds(connection, [f"{len(message)}\n".encode()], [0, 1, 2])
    connection.sendall(message)
    return connection


def follow(connection):
    """Hand on signals until the kernel ends, or the process that wanted it."""
    parent = os.getppid()
    answer = connection.makefile("rb").readline()
    if not answer:
        sys.exit("the nursery of the tests made no kernel")
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda number, frame: os.kill(int(answer), number))
    while not select.select([connection], [], [], 1)[0]:  # the kernel holds the other end as long as it lives
        if os.getppid() != parent:
            break


if __name__ == "__main__":
    if sys.path[0] == "" or Path(sys.path[0]) == Path.cwd():
        del sys.path[0]  # ipykernel puts it back, later
    nursery = os.environ.get("BERTLOOK_NURSERY")
    child = ask(nursery) if nursery else None
    if child is not None:
        follow(child)
    else:
        from ipykernel.kernelapp import launch_new_instance

        launch_new_instance()
