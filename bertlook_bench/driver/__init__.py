"""The driver of the research commands: a command is a record that names a report of an analysis and the data it reads.

The driver makes the options from the signature of the report, reads the data, loads the model and its random twin, shows
progress, keeps what is done so that a stopped run goes on, hands chunks to Dask, prints, saves, and returns the exit code.
"""

from .command import Command
from .data import Corpus, Data, Given, Treebank

__all__ = ["Command", "Corpus", "Data", "Given", "Treebank"]
