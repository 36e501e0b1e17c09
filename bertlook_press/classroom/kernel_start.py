"""How our server and the export start a kernel: nothing that lies beside a notebook is imported before a cell is run.

Python's ``-m ipykernel_launcher`` looks for that module in the current folder first, which is the notebook's: a file of this name there,
or of any name that a kernel imports, would run as soon as the notebook is opened. So a kernel begins with this file, and the current
folder comes last in the path of modules, when a cell is run: a reader's own ``helper.py`` beside the notebook is found as ever.
"""

import os
import sys


def load_ipython_extension(shell) -> None:
    """Called by the kernel when it starts (``jupyter_home.SETTINGS``)."""
    shell.events.register("pre_run_cell", _look_here_too)


def _look_here_too(_) -> None:
    if "" not in sys.path:
        sys.path.append("")


if __name__ == "__main__":
    import runpy

    here = os.path.dirname(os.path.abspath(__file__))
    sys.path[:] = [place for place in sys.path if place not in ("", os.getcwd(), here)]
    runpy.run_module("ipykernel_launcher", run_name="__main__", alter_sys=True)
