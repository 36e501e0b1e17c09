"""The cut network: that it is cut, here, in subprocesses and in notebook kernels; and that loopback works."""

import socket
import subprocess
import sys

import nbformat
import pytest
import sitecustomize
from nbclient import NotebookClient

ELSEWHERE = "192.0.2.1"  # an address set aside for documentation: nobody answers there


def refused_attempts():
    """The attempts so far; made on purpose here, so they are forgotten."""
    attempts = sitecustomize.attempts()
    sitecustomize.forget_attempts()
    return attempts


@pytest.mark.parametrize(
    "attempt",
    [
        lambda: socket.create_connection((ELSEWHERE, 80), timeout=1),
        lambda: socket.socket().connect((ELSEWHERE, 80)),
        lambda: socket.socket(type=socket.SOCK_DGRAM).sendto(b"?", (ELSEWHERE, 53)),
        lambda: socket.getaddrinfo("huggingface.co", 443),
        lambda: socket.gethostbyname("huggingface.co"),
    ],
    ids=["create_connection", "connect", "sendto", "getaddrinfo", "gethostbyname"],
)
def test_another_computer_cannot_be_reached(attempt):
    with pytest.raises(sitecustomize.NetworkBlocked, match="Tests run offline"):
        attempt()
    assert len(refused_attempts()) == 1


def test_this_computer_can_be_reached():
    with socket.create_server(("127.0.0.1", 0)) as server, socket.create_connection(server.getsockname()):
        pass
    assert socket.getaddrinfo("localhost", 80)
    assert refused_attempts() == []


def test_a_subprocess_is_cut_off_too():
    code = f"import socket; socket.create_connection(('{ELSEWHERE}', 80), timeout=1)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert "NetworkBlocked" in done.stderr
    assert refused_attempts() == [f"socket.getaddrinfo {ELSEWHERE}"]


def test_a_notebook_kernel_is_cut_off_even_if_it_swallows_the_error():
    source = f"import socket\ntry:\n    socket.create_connection(('{ELSEWHERE}', 80))\nexcept OSError as error:\n    print(error)"
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(source)])
    NotebookClient(notebook, kernel_name="python3", timeout=60).execute()
    assert "network access in a test" in notebook.cells[0].outputs[0].text
    assert refused_attempts() == [f"socket.getaddrinfo {ELSEWHERE}"]


def test_a_swallowed_attempt_fails_the_test_that_made_it(pytester, root):
    pytester.makeconftest(
        (root / "tests" / "conftest.py")
        .read_text()
        .replace("Path(__file__).resolve().parent.parent", f"Path({str(root)!r})")
    )
    pytester.makepyfile(
        f"""
        import contextlib, socket

        def test_swallows():
            with contextlib.suppress(OSError):
                socket.create_connection(("{ELSEWHERE}", 80), timeout=1)

        def test_innocent():
            pass
        """
    )
    result = pytester.runpytest_subprocess("-p", "no:cacheprovider")
    result.assert_outcomes(passed=2, errors=1)
    result.stdout.fnmatch_lines([f"*tried to reach the network: socket.getaddrinfo {ELSEWHERE}*"])


def test_a_warning_of_this_package_is_an_error():
    import warnings

    with pytest.raises(UserWarning):
        warnings.warn_explicit(
            "a warning", UserWarning, "attention.py", 1, module="bertlook_teach.model.attention"
        )
    with pytest.warns(UserWarning):
        warnings.warn_explicit("a warning", UserWarning, "elsewhere.py", 1, module="bertlook_teaching")
