"""The second way takes minutes: it runs when it is asked for by its folder, and weekly."""

from pathlib import Path

import pytest

HERE = Path(__file__).resolve().parent


def pytest_collection_modifyitems(config, items):
    asked = any(
        (config.invocation_params.dir / arg.split("::")[0]).resolve().is_relative_to(HERE)
        for arg in config.args
    )
    if not asked:
        mark = pytest.mark.skip(reason="takes minutes; run it by: python3 start.py test tests/second_way")
        for item in items:
            if item.path.is_relative_to(HERE):
                item.add_marker(mark)
