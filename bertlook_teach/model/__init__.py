"""A BERT-like encoder, its attention, its words, and one head by hand."""

from .. import hand_on

_HOMES = {
    "any_attention": "check_rows stacked_weights words_from_marks",
    "attention": "Attention",
    "batches": "even_parts evenly",
    "blocks": "Block TOKENS_AT_ONCE attention_blocks output_projection with_pretraining_head",
    "by_hand": """
        EmbeddingParts HeadMatrices attention_scores embedding_parts head_matrices join_heads
        layer_norm softmax weighted_values
    """,
    "devices": "PRECISIONS array_namespace choose_device products_in",
    "encoder": """
        Encoder PrunedEncoder RANDOM_SEED load_encoder random_twin
    """,
    "folders": "import_torch quiet_loading",
    "head_names": "check_head head_label head_rows parse_head_label",
    "masked_lm": """
        MASKED_SHARE Masking NoMaskedLMHead choose_masked chosen_masked mask_id masked_lm_head masked_lm_scores
    """,
    "reading": """
        NOT_RECORDED NO_PIECE left_out_lines Reading ReadingCheck SEGMENT_RULES TOO_LONG UNKNOWN as_attention
        check_reading extract_attention iter_attention read
    """,
    "matching": "MATCHING NotRecorded input_key matching_of",
    "recording": """
        ENDING NotComputed RECORDED Recording SHIPPED_RECORDINGS load_recording write_recording
    """,
    "states": "hidden_states read_states",
    "words": "CONTINUES QUERY_RULES SPACES looks_special merge_weights word_groups",
}
__all__, __getattr__, __dir__ = hand_on(__name__, _HOMES)
