"""A process that has imported what every notebook imports, and forks a kernel for each who asks.

    python kernel_nursery.py SOCKET

It ends when its standard input does. What is imported are others' libraries alone: a kernel still imports `bertlook_teach`
itself. `ipykernel_launcher.py` beside this file is who asks; `tests/test_kernels.py` compares its kernels with others.
"""

import json
import os
import select
import signal
import socket
import sys
import threading
from importlib import import_module

FOREIGN = (
    "torch",
    "transformers.models.bert.modeling_bert",
    "transformers.models.bert.tokenization_bert",
    "matplotlib.figure",  # and no pyplot, which looks for its shell when imported
    "matplotlib.backends.backend_agg",
    "matplotlib.backends.backend_svg",
    "ipywidgets",
    "anywidget",
    "ipykernel.kernelapp",
    "ipykernel.ipkernel",
    "ipykernel.zmqshell",
)


def become(wanted, streams, connection):
    """In the forked process: be like the one that asked, and run its kernel."""
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    for number, stream in enumerate(streams):
        os.dup2(stream, number)
        os.close(stream)
    os.environ.clear()
    os.environ.update(wanted["environment"])
    os.chdir(wanted["cwd"])
    sys.argv, sys.path[:] = wanted["argv"], wanted["path"]
    import numpy
    import torch
    from ipykernel.kernelapp import launch_new_instance

    numpy.random.seed()  # or all kernels would draw the same; `random` sees to itself
    torch.seed()

    def end_with_shadow():
        connection.recv(1)  # nothing is ever sent: the one that asked was killed
        os._exit(1)

    threading.Thread(target=end_with_shadow, daemon=True).start()
    launch_new_instance()


def read(connection):
    """What is wanted, and the streams of the one that asked; None if it has gone."""
    head, streams, _, _ = socket.recv_fds(connection, 64, 3)
    size, _, message = head.partition(b"\n")
    while head and len(message) < int(size):
        part = connection.recv(65536)
        if not part:
            break
        message += part
    else:
        return json.loads(message), streams


def main(address):
    # Both are read when modules are imported: the first as in any kernel; kernels end with the second, their parent.
    os.environ["MPLBACKEND"] = "module://matplotlib_inline.backend_inline"
    os.environ["JPY_PARENT_PID"] = str(os.getpid())
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    sys.path.pop(0)  # this folder, which has a stand-in for ipykernel's launcher
    with socket.socket(socket.AF_UNIX) as door:
        door.bind(address)
        door.listen()  # who asks from now on is answered when all is imported
        for name in FOREIGN:
            import_module(name)
        while door in select.select([door, sys.stdin], [], [])[0]:
            connection, _ = door.accept()
            with connection:
                asked = read(connection)
                if asked is None:
                    continue
                if os.fork() == 0:
                    door.close()
                    connection.sendall(f"{os.getpid()}\n".encode())
                    become(*asked, connection)
                    os._exit(0)
                for stream in asked[1]:
                    os.close(stream)


if __name__ == "__main__":
    main(sys.argv[1])
