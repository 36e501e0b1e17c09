"""What is read from and written to disk: paths, safe writing, cached results, tables."""

from .. import hand_on

_HOMES = {
    "bounds": """
        Gunzipped MOST_TIMES MOST_VALUES TooLarge count_in csv_rows load_arrays may_unpack_to open_zip parse_json read_bounded
        read_json save_arrays
    """,
    "cache": """
        HERE MOST_BYTES Memory NotShipped SHIPPED cached forget origins recomputing
        others_can_write shipping store_folder
    """,
    "chromium": "find_chromium",
    "columns": "OnDisk",
    "files": "claim_folder digest digest_of filling json_text release_folders replacing tree_digest writable_folder write_file write_files write_json",
    "packing": "opened pack unpack",
    "paths": "course_folder data_path shipped_course",
    "reports": "IN_PLACE Report Work about at_least attributes cut interval refuse_below tabulate trim_memory trimmed",
    "shipped_evidence": "TOLERANCE evidence_folder shipped_files",
    "tables": "Table align csv_text save_rows to_frame visible with_interval",
    "unfinished": "UNFINISHED Unfinished",
}
__all__, __getattr__, __dir__ = hand_on(__name__, _HOMES)
