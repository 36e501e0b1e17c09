"""Feedback for exercises: was it answered, is it right, and if not, what is the likely reason?"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
