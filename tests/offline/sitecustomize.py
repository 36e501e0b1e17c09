"""Cut the network: loopback is all that this process, and every Python process it starts, may reach.

``tests/conftest.py`` imports this module and puts its folder on PYTHONPATH, where Python finds it when it
starts; so notebook kernels and subprocesses are cut off as well. An attempt raises ``NetworkBlocked``, and is written
to the file that BERTLOOK_NETWORK_LOG names, so that an attempt whose error is swallowed fails the test all the same.
"""

import ipaddress
import os
import sys
import warnings


class NetworkBlocked(OSError):
    """Something tried to reach another computer during a test."""


def is_here(host):
    """Whether a host name or address means this machine."""
    if isinstance(host, bytes):
        host = host.decode()
    if host in (None, "", "localhost", "localhost.localdomain"):
        return True
    try:
        address = ipaddress.ip_address(host.split("%")[0])
    except ValueError:
        return False
    return address.is_loopback or address.is_unspecified


def refuse(what, host):
    log = os.environ.get("BERTLOOK_NETWORK_LOG")
    if log:
        with open(log, "a", encoding="utf-8") as file:
            file.write(f"{what} {host}\n")
    raise NetworkBlocked(
        f"network access in a test: {what} to {host!r}. Tests run offline; use the shipped data."
    )


def attempts():
    """Every refused attempt so far, of this process and of those that share its log."""
    with open(os.environ["BERTLOOK_NETWORK_LOG"], encoding="utf-8") as file:
        return file.read().splitlines()


def forget_attempts():
    """For tests that try the network on purpose."""
    with open(os.environ["BERTLOOK_NETWORK_LOG"], "w", encoding="utf-8"):
        pass


def watch(event, arguments):
    if event in ("socket.connect", "socket.sendto", "socket.sendmsg"):
        address = arguments[1]
        # a string is a Unix socket, None a connected one
        if isinstance(address, tuple) and not is_here(address[0]):
            refuse(event, address[0])
    elif event in ("socket.getaddrinfo", "socket.gethostbyname", "socket.gethostbyaddr") and not is_here(
        arguments[0]
    ):
        refuse(event, arguments[0])


sys.addaudithook(watch)
# pyproject.toml says the same to pytest; this is for the kernels.
warnings.filterwarnings("error", module=r"bertlook_teach(\.|$)")
# Whoever reads a notebook imports jsonschema, which then builds a grammar of web addresses for over a second; nothing here asks it.
sys.modules.setdefault("rfc3987_syntax", None)
