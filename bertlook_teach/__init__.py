"""See, measure and test what BERT's attention heads look at."""

__version__ = "0.1.0"
