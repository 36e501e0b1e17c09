"""What the lessons stand on: corpora, analyses, published numbers, claims, checks, their pictures and views.

>>> from bertlook_course import syntax
>>> syntax.offset_predictor.__name__
'offset_predictor'
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
