"""See, measure and test what BERT's attention heads look at.

The names a teacher types, the rooms (folders) and the eight analyses; each is loaded when first used, so that importing
the package costs nothing. Every room hands on its own names in the same way: import from the room, never from a file in it.

>>> from bertlook_teach import head_label, syntax
>>> head_label(0, 5), syntax.offset_predictor.__name__
('1-6', 'offset_predictor')
"""

from importlib import import_module

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
    "widgets": "HeadExplorer HeadMap HeadView PaperPage PictureMenu",
}
_ROOMS = ["disk", "model", "published", "course", "stats", "corpora", "measures"]
_ROOMS += ["claims", "render", "checks", "widgets", "classroom"]
_ANALYSES = ["syntax", "coreference", "probing", "ablation", "finetuning", "negation", "keywords", "patterns"]
_MODULES = {room: room for room in _ROOMS} | {topic: f"analyses.{topic}" for topic in _ANALYSES}
_MODULES["by_hand"] = "model.by_hand"  # one head, step by step, as it is written on the board
__all__, __getattr__, __dir__ = hand_on(__name__, _HOMES, _MODULES)
