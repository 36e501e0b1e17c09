"""Arrays in, pictures out: SVG and HTML strings, plain text, matplotlib figures. Nothing here displays.

The same input gives the same bytes, every token is escaped, and each picture carries a sentence computed from
its data. matplotlib is imported only when a figure is made."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
