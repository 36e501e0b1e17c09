"""What is handed out: decks as files, live slides, the site, worksheets, the doctor, saved pages, BertViz."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
