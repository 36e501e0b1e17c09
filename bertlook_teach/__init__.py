"""See, measure and test what BERT's attention heads look at: the helper.

The names a teacher types and the rooms (folders). Each is loaded when it is first used, so importing the package costs nothing. The stub beside
this file, ``__init__.pyi``, is the list of names, for Python and for editors alike. Import from a room, never from a file in it.

>>> from bertlook_teach import head_label, measures
>>> head_label(0, 5), measures.offset_attention.__name__
('1-6', 'offset_attention')
"""

import lazy_loader

__version__ = "0.1.0"

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
