"""What a head is made of and how it came about: its neurons, its bases, six lenses on it, segments, its training, the kinds of its maps."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
