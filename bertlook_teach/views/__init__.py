"""Live views of attention: the head map, the view of one head, the explorer; and how they are drawn."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
