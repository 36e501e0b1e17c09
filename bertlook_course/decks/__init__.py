"""What only the slides of one lesson show: one file for each lesson, with the tables, pictures and sentences of its deck.

Each file has a class `Deck`, made from a model and its random twin (`live_models`: the deck's own, or the one that ``--model`` names). It measures when it is first asked, keeps what it has found, and has
one method or property for each thing that a slide shows. What two decks need stands in `bertlook_course.render` or in `bertlook_course.analyses`.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
