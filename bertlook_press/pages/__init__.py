"""Views as pages without a kernel: saved pages, recorded answers, the shipped models in the page."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
