"""What only one lesson's slides show, in one file for each lesson: its pictures, its tables and the sentences that say its numbers.

A deck loads the models, asks for what they found and shows it. What another deck or a reader could use stands in the rooms below."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
