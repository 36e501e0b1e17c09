"""What papers printed, and what docs/results.md says of the specimen elsewhere."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
