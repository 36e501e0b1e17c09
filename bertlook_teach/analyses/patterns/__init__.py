"""A pattern in one line, scored on every head."""

from ... import hand_on

_HOMES = {
    "conditions": "CONDITIONS Kind PAIRS PatternText SEGMENTS TREEBANK",
    "counting": "ANSWERS PatternCounts answers_of check_corpus check_pairs count_cases count_part",
    "language": "Both Either Not Pattern key parse_pattern query",
    "reports": "by_length count_chunk report",
    "readings": "WordMaps word_maps",
    "scores": "MEASURES PatternScore ScoreRow score_counts score_pattern",
}
__all__, __getattr__, __dir__ = hand_on(__name__, _HOMES)
