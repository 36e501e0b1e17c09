"""See, measure and test what BERT's attention heads look at.

The names a teacher types, the rooms (folders) and the eight analyses; each is loaded when first used, so that importing
the package costs nothing. Every room hands on its own names in the same way: import from the room, never from a file in it.

>>> from bertlook_teach import head_label, syntax
>>> head_label(0, 5), syntax.offset_predictor.__name__
('1-6', 'offset_predictor')
"""

from importlib import import_module
from typing import TYPE_CHECKING

__version__ = "0.1.0"


def hand_on(package: str, homes: dict[str, str], modules: dict[str, str] | None = None):
    """What a package needs to hand on names of its modules, each module loaded when a name of it is first asked for.

    Parameters
    ----------
    package : str
        The package's ``__name__``.
    homes : dict of module -> names, with spaces between them
    modules : dict of name -> module, optional
        Names that stand for whole modules, such as ``syntax`` for ``analyses.syntax``.

    Returns
    -------
    ``__all__``, ``__getattr__`` and ``__dir__`` of the package
    """
    home = {name: module for module, names in homes.items() for name in names.split()}
    modules = modules or {}

    def __getattr__(name: str):
        if name in home:
            return getattr(import_module(f".{home[name]}", package), name)
        if name in modules:
            return import_module(f".{modules[name]}", package)
        raise AttributeError(f"module {package!r} has no attribute {name!r}")

    return [*home, *modules], __getattr__, lambda: [*home, *modules]


_HOMES = {
    "claims": "Resources collect_evidence decide decide_lesson ledger",
    "corpora": "load_pairs load_texts load_treebank",
    "measures": "profile_heads",
    "model": """
        Attention extract_attention head_label iter_attention load_encoder load_recording
        parse_head_label random_twin read
    """,
    "render": "NumberTable TextTable claim_lines claim_table count_verdicts figure_picture",
    "widgets": "HeadExplorer HeadMap HeadView PaperPage PictureMenu RecordedExplorer",
}
_ROOMS = ["disk", "model", "published", "course", "stats", "corpora", "measures"]
_ROOMS += ["claims", "render", "checks", "widgets", "classroom"]
_ANALYSES = ["syntax", "coreference", "probing", "ablation", "finetuning", "negation", "keywords", "patterns"]
_MODULES = {room: room for room in _ROOMS} | {topic: f"analyses.{topic}" for topic in _ANALYSES}
_MODULES["by_hand"] = "model.by_hand"  # one head, step by step, as it is written on the board
__all__, __getattr__, __dir__ = hand_on(__name__, _HOMES, _MODULES)

if TYPE_CHECKING:  # the same names, for editors: they read files and run nothing
    from . import checks as checks
    from . import claims as claims
    from . import classroom as classroom
    from . import corpora as corpora
    from . import course as course
    from . import disk as disk
    from . import measures as measures
    from . import model as model
    from . import published as published
    from . import render as render
    from . import stats as stats
    from . import widgets as widgets
    from .analyses import ablation as ablation
    from .analyses import coreference as coreference
    from .analyses import finetuning as finetuning
    from .analyses import keywords as keywords
    from .analyses import negation as negation
    from .analyses import patterns as patterns
    from .analyses import probing as probing
    from .analyses import syntax as syntax
    from .claims.course_claims import collect_evidence as collect_evidence
    from .claims.course_claims import decide_lesson as decide_lesson
    from .claims.course_claims import ledger as ledger
    from .claims.evidence import Resources as Resources
    from .claims.verdicts import decide as decide
    from .corpora.texts import load_pairs as load_pairs
    from .corpora.texts import load_texts as load_texts
    from .corpora.treebank import load_treebank as load_treebank
    from .measures.profile import profile_heads as profile_heads
    from .model import by_hand as by_hand
    from .model.attention import Attention as Attention
    from .model.encoder import load_encoder as load_encoder
    from .model.encoder import random_twin as random_twin
    from .model.head_names import head_label as head_label
    from .model.head_names import parse_head_label as parse_head_label
    from .model.reading import extract_attention as extract_attention
    from .model.reading import iter_attention as iter_attention
    from .model.reading import read as read
    from .model.recording import load_recording as load_recording
    from .render.drawing.figure_pictures import figure_picture as figure_picture
    from .render.drawing.number_table import NumberTable as NumberTable
    from .render.drawing.text_table import TextTable as TextTable
    from .render.results.claims import claim_lines as claim_lines
    from .render.results.claims import claim_table as claim_table
    from .render.results.claims import count_verdicts as count_verdicts
    from .widgets.head_map import HeadMap as HeadMap
    from .widgets.head_view import HeadView as HeadView
    from .widgets.panels.explorer import HeadExplorer as HeadExplorer
    from .widgets.panels.paper_page import PaperPage as PaperPage
    from .widgets.pictures import PictureMenu as PictureMenu
