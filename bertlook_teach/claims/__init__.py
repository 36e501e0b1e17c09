"""The ledger: published claims, the evidence that decides them, and misconceptions."""

from .. import hand_on

_HOMES = {
    "claim": "Claim EXACTNESS FAILS HOLDS NOISE OPEN Values Verdict",
    "course_claims": "collect_evidence decide_lesson evidence_table ledger",
    "essay.evidence": "EVIDENCE clauses drifters insiders phases relations zeroed_losses",
    "essay.published": "CLOSED_RELATIONS PublishedHead cls_differences measure_published published_best_heads",
    "essay.register": "LABELS REFUTED REGISTER RULE SUPPORTED UNDECIDED moved register_digest try_published",
    "essay.statistics": """
        FUNCTION_CLASSES HAVEN_RELATIONS OPEN_RELATIONS RELATIONS arrangements best_split
        category_shares clause_excess clause_ids clause_lengths cls_excess constancy
        correlation_of_moments deep_layers direction_follows_class direction_p drift
        explained_by_split haven_auc insiders_are_narrow looks_p looks_where_it_matters_less
        loss_spared middle_share moments pairs_above phase_cuts phases_in_order phases_margin
        phases_p rank_residuals relative_layers segments_respected split_p syntax_in_the_middle
        syntax_p within_layers_p
    """,
    "evidence": "Evidence Resources collect",
    "from_patterns": "PatternEvidence PatternGain claim_of",
    "guesses": "commit reveal",
    "lesson_files": "read_claims",
    "misconceptions.bank": "Misconception find_misconceptions read_misconceptions refute",
    "misconceptions.refutation": "MODULES Refutation all_refutations",
    "on_recordings": """
        attention_evidence check_twin iter_recorded_verdicts recorded_trees
    """,
    "recorded": """
        RECORDED_COLUMN RecordedVerdict recorded_about recorded_sentence recorded_verdicts
    """,
    "statistics": "closer find_statistic named_statistics nearest_minus_chance",
    "verdicts": "FEWEST_REPORTING LEVEL VERDICT_RULE Measurement decide iter_verdicts measure settle treebank_units",
}
__all__, __getattr__, __dir__ = hand_on(__name__, _HOMES)
