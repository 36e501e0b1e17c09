"""Metrics, agreement, rank correlation, and small fits: a map of distances, a logistic regression."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
