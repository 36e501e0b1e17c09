"""What papers printed, and what docs/results.md says of the specimen elsewhere."""

from .. import hand_on

_HOMES = {
    "ablation": """
        KOVALEVA_TASKS published_baseline published_disabled_heads
        published_prunable
        published_wmt_heads published_wmt_significant
    """,
    "bert_base": """
        GUM GUM_RELATIONS MASKED MASKED_TASKS PublishedArcs PublishedEntropy PublishedMasking
        SHUFFLES SST2_ENTROPY published_gum_arcs published_masking published_sst2_entropy
    """,
    "coreference": "PREDICTORS PublishedAntecedents published_table_2",
    "finetuning": """
        CONDITIONS PublishedGain published_cosines published_gains published_head_f1
        published_mean_f1
    """,
    "probing": "DEPTHS PROBING_TASKS PublishedProbing published_probing",
    "results": "Measured MeasuredTable measured",
    "syntax": "PublishedRelation published_table_1",
    "tables": """
        Published PublishedMap published_gradients published_heads published_layers published_map
        published_norms published_number read_published
    """,
}
__all__, __getattr__, __dir__ = hand_on(__name__, _HOMES)
