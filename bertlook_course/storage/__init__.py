"""Results on disk: shipped and kept evidence, folders of one run, tables in print."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
