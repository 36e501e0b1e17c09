"""For tests and notebooks alike: how the outputs of notebooks are compared (tools/nbval_compare.py)."""

pytest_plugins = ["tools.nbval_compare"]
