"""Do heads find the cue of a negation?"""

from ... import hand_on

_HOMES = {
    "cues": """
        BestCueHead CueScores OFFSETS best_head count_hits f1_of head_choices
        listed_cue most_pieces negated offset_rule random_cue random_cue_hits random_word
        score_heads score_rule
    """,
    "reports": "report",
    "scope_tuning": """
        Contrast IN OUT SEEDS TASKS TagScore contrast part_of_speech_task scope_labels tag_score
        task_labels tune tuned
    """,
}
__all__, __getattr__, __dir__ = hand_on(__name__, _HOMES)
