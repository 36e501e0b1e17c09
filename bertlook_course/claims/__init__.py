"""The ledger: published claims, the evidence that decides them, and misconceptions."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
