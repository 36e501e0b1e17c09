"""Arrays in, pictures out: SVG and HTML strings, plain text, matplotlib figures. Nothing here displays.

The same input gives the same bytes, every token is escaped, and each picture carries a sentence computed from
its data. matplotlib is imported only when a figure is made."""

from .. import hand_on

_HOMES = {
    "drawing.badge": "badge_figure",
    "drawing.figure_tables": "MOST_ROWS figure_numbers",
    "drawing.figures": "FORMATS describe_layers layer_curves ",
    "drawing.inputs": """
        as_array check_weights checked_attention checked_mask checked_present checked_tokens
        checked_values looks_special
    """,
    "drawing.layout": "beside",
    "drawing.model_pictures": "render_layer render_model render_one_head",
    "drawing.number_table": "NumberTable",
    "drawing.palette": """
        CATEGORY_CYCLE INK LESS LESS_STOPS LINE MAGNITUDE_STOPS MARKER_CYCLE MISSING
        MORE_STOPS MUTED OKABE_ITO PAPER PART_COLOURS RULE SEGMENT_A SEGMENT_B SELECTED SELECTED_INK contrast
        difference_colour for_views magnitude_colour relative_luminance rgb text_colour
    """,
    "drawing.papers": "caption_of save_figure",
    "drawing.pictures": """
        Picture SHOWN describe_offsets figure_picture growing interval_curves picture_key render_offset_bars
    """,
    "drawing.sentences": """
        describe_attention describe_head_map describe_token number percent quoted short_number
        short_signed signed_number simple_places visible_token
    """,
    "drawing.svg": "FONT LEVELS attribute content coordinate shortened text text_width",
    "drawing.text_table": "Estimate TextTable",
    "heads.attention": """
        KEY_TITLE QUERY_TITLE line_opacity line_width render_attention_grid render_attention_lines
    """,
    "heads.bertviz_scripts": "offline_bertviz",
    "heads.bertviz": """
        BertVizView HEAD_VIEW_TOKENS MODEL_VIEW_TOKENS NEURON_VIEW_TOKENS STEPS bertviz_head_view
        bertviz_model_view bertviz_neuron_view checked_vectors
    """,
    "heads.difference": """
        check_same_text checked_difference describe_difference describe_token_difference points
        signed_points
    """,
    "heads.distance_map": """
        DISTANCE_UNIT NEIGHBOURS SHAPES checked_map describe_distance_map distance_map_figure
        family_figure group_styles label_table map_neighbours render_distance_map
    """,
    "heads.film": "describe_film film_range film_table render_film",
    "heads.gallery": "describe_gallery render_gallery",
    "heads.head_map": "DIFFERENCE_LEGEND difference_range render_head_map value_range",
    "heads.lenses": """
        LITTLE SHARES STYLES TITLES checked_lenses describe_lenses first_query full_scale hundredths
        joined lens_table lens_title render_lenses two_digits
    """,
    "heads.map_classes": """
        SHORT THRESHOLD_STEPS describe_map example_strip fraction_bars fraction_table map_address
        map_thumbnail render_board render_map shades
    """,
    "heads.neurons": """
        MOST NEGATIVE NEURON_TITLES POSITIVE describe_neurons 
        render_neurons signed sorted_dimensions split_dimensions
    """,
    "heads.norms": "checked_norms describe_norms describe_token_norms",
    "heads.tables": """
        attention_table format_strongest_heads head_map_table
    """,
    "results.ablation": """
        chance_band_figure chance_figure heat_figure prediction_figure pruning_figure
        ranked_effects_figure
    """,
    "results.antecedents": "antecedent_cells mention_table points_figure published_antecedents rule_answers",
    "results.claims": """
        claim_card claim_lines claim_table claims_text count_verdicts counts_sentence model_name needs_text
        published_cell tags_sentence twin_cell value_cell
    """,
    "results.course": "CourseMap describe_course lesson_table",
    "results.dots": "table_dots",
    "results.essay": "compared_table outcome_table phases_figure register_table story_picture why_lines",
    "results.evidence": "evidence_line",
    "results.gains": "gain_figure",
    "results.keywords": "heads_figure",
    "results.layers": """
        checked_case depth_figure depth_panels_figure describe_beliefs describe_curves
        f1_cell fits_said mix_table published_layers_table render_beliefs where_table
    """,
    "results.ledger_page": "claims_page",
    "results.misconceptions": "format_misconceptions misconception_table",
    "results.probes": """
        largest_heads learning_figure learning_sentence pair_vectors published_probes score_cell
        score_table
    """,
    "results.relations": """
        best_of_figure choices_cell flattery_table published_relations relation_bars_figure
        relation_gains signed_gain
    """,
    "results.resampling": "bootstrap_picture winners_curse_picture",
    "results.titles": "title_picture",
    "texts.arcs": "EVERY READINGS arc_levels arcs_of describe_arcs is_right render_arcs",
    "texts.bench": "OFF WAYS describe_change describe_off render_bench bench_result",
    "texts.patterns": "pattern_table render_pattern render_pattern_score",
    "texts.reading": "describe_reading render_reading",
    "texts.weighted_text": "checked_darkest checked_key checked_scores describe_words render_words word_table",
}
__all__, __getattr__, __dir__ = hand_on(__name__, _HOMES)
