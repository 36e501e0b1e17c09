"""The server, the doctor, and decks as files."""

from .. import hand_on

_HOMES = {
    "class_report": "SEAL class_page student_rows",
    "collect": "Gathered HandIn Labels MOST_BYTES first_notes games gather",
    "doctor": """
        CHECKS Check Failed GIB NEWEST OLDEST SMALLEST_SCREEN browser decks disk evidence examine
        fingerprint fonts kept kernel lab_extension memory note_network_use offline packages port
        python read_pins screen specimen widgets
    """,
    "export.cells": "Slide cell_markup code has_formula live_output markdown slides_of static_output",
    "export.deck": "POLICY as_script as_style deck_look page_file page_head render_deck",
    "export.errors": "ExportError",
    "export.handout": "HANDOUT_POLICY print_pdf render_handout",
    "export.links": "page_links",
    "export.reveal": "CHECKSUMS FONTS VERSION reveal_file script style typeface",
    "export.runner": "CellStopped RECORDING execute read_deck run_deck was_executed",
    "export.state": "LINKS Live STATE VIEW VIEWS displayed live_state saved_state",
    "export.writing": "Exported FOLDER LARGEST deck_to_export export_deck present_static",
    "jupyter_home": "FOREIGN PRIVATE SETTINGS TRANSPORT begun_safely isolate kernel_specs socket_folder",
    "server": """
        DEFAULT_PORT HOST announce check_port is_news port_number serve suggest_port
    """,
    "site.build": "SITE_PARTS Site USUAL_PARTS all_decks build_site",
    "trust": "INERT_OUTPUTS LIST PAGE contents_manager inert is_ours put_back sign trust_alike write_list",
    "worksheet": "render_exam render_worksheet worksheet_parts",
}
__all__, __getattr__, __dir__ = hand_on(__name__, _HOMES)
