"""What is read from and written to disk: paths, safe writing, arrays and JSON with a bound, rows."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
