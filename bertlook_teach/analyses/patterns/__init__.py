"""A pattern in one line, scored on every head."""

from ... import hand_on

_HOMES = {
    "conditions": "CONDITIONS Kind PAIRS PatternText SEGMENTS TREEBANK",
    "language": "Both Either Not Pattern key parse_pattern query",
    "readings": "WordMaps word_maps",
    "scores": """
        ANSWERS MEASURES PatternCounts PatternScore ScoreRow answers_of check_corpus count_cases
        score_pattern
    """,
}
__all__, __getattr__, __dir__ = hand_on(__name__, _HOMES)
