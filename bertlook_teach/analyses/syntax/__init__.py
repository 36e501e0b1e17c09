"""Do heads find governors and dependents?"""

from ... import hand_on

_HOMES = {
    "answers": "Answers SCHEMES collect_answers in_scheme",
    "gold": "Gold gold_cases offset_answers",
    "predictors": """
        ALL Accuracy DIRECTIONS EDGES NO_ANSWER ROOT WITHOUT_PUNCT evaluate head_predictor judge
        offset_predictor predicted_governors
    """,
    "relations": """
        ENOUGH_DOCUMENTS OFFSETS PUBLISHED_OFFSETS Choice RelationRow RelationTable best_of_many poss_rule score_cases
        score_relations shuffled_distances
    """,
    "reports": "answer_chunk flat_row report report_of",
}
__all__, __getattr__, __dir__ = hand_on(__name__, _HOMES)
