"""For tests and notebooks alike: how the outputs of notebooks are compared (tools/nbval_compare.py)."""

import os

pytest_plugins = ["tools.nbval_compare"]


def pytest_addoption(parser) -> None:
    parser.addoption(
        "--all",
        action="store_true",
        help="walk through every deck and every exported deck, also those that are as they were at the last walk",
    )


def pytest_configure(config) -> None:
    if config.getoption("--all"):
        os.environ["BERTLOOK_ALL"] = "1"  # what is collected depends on it
