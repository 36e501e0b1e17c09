"""See, measure and test what BERT's attention heads look at.

The names a teacher types; each is loaded when first used, so that importing the package costs nothing.
"""

from importlib import import_module

__version__ = "0.1.0"

_HOME = {
    "load_encoder": "encoder",
    "extract_attention": "attention",
    "iter_attention": "attention",
    "Attention": "attention",
    "head_label": "labels",
    "parse_head_label": "labels",
    "load_texts": "corpora",
    "load_pairs": "corpora",
    "profile_heads": "profile",
    "HeadMap": "widgets",
    "HeadView": "widgets",
    "HeadExplorer": "widgets",
}
__all__ = list(_HOME)


def __getattr__(name: str):
    if name in _HOME:
        return getattr(import_module(f".{_HOME[name]}", __name__), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return ["__version__", *__all__]
