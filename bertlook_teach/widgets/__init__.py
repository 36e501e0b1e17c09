"""Live views of attention for JupyterLab, slides and saved pages. The only place that imports ipywidgets."""

from .. import hand_on

_HOMES = {
    "antecedent_view": "AntecedentView READINGS",
    "arc_view": "ArcView",
    "assets": "FOLDER asset mime_bundle page_bundle static_page style_source",
    "distance_map": "BY DistanceMap FamilyExplorer",
    "head_map": "HeadMap Measure default_measures",
    "head_view": "HeadView LEVELS QUANTITIES STYLES",
    "links": "link_heads link_traits",
    "neuron_view": "NeuronView",
    "pages.recording": "MIME MOST_CHOICES NEEDS RecordedStates choices picture_tables record tables",
    "pages.saved_page": "live_views page_source precision_note save_page",
    "panels.ablation_bench": "AblationBench BenchView",
    "panels.explorer": "HeadExplorer TextBox choice_menu",
    "panels.label_game": "LabelGame NO_LABEL ThresholdBoard agreement_page example_maps",
    "panels.layer_beliefs": "BeliefExplorer LayerBeliefs",
    "panels.masked_word": "MaskedWord MaskedWordView",
    "panels.neuron_explorer": "NeuronExplorer",
    "panels.paper_page": "LARGEST PaperPage read_paper",
    "panels.pattern_view": "PatternView",
    "panels.recording_file": "RecordingFile",
    "panels.tally": "Tally",
    "panels.typed_pattern": "TypedPattern",
    "panels.six_lenses": "LensView MOST_TOKENS MOST_WORK SixLenses compute_lenses lens_sentences",
    "pictures": "HeadPictures PictureMenu",
    "recorded_view": "RecordedView",
    "text_view": "TextView",
    "training_film": "TrainingFilm",
    "weighted_text": "SHOWS WeightedText",
    "course_assets": "module_source view_names",
    "pages.specimen_page": "specimen_bytes specimen_script specimen_source",
    "panels.recorded_explorer": "RecordedExplorer",
}
__all__, __getattr__, __dir__ = hand_on(__name__, _HOMES)
