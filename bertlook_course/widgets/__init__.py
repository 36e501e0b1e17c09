"""The lessons' own live views: lenses, neurons, arcs, the film of the training, games and benches."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
