"""What is read from and written to disk: paths, safe writing, cached results, tables."""

from .. import hand_on

_HOMES = {
    "bounds": "MOST_TIMES MOST_VALUES TooLarge count_in damage_said load_arrays may_unpack_to open_zip parse_json read_bounded read_json save_arrays",
    "cache": "HERE MOST_BYTES Memory NotShipped SHIPPED cached forget origins recomputing others_can_write shipping store_folder",
    "chromium": "find_chromium",
    "columns": "OnDisk",
    "files": "cannot_write json_text replacing write_file write_files write_json",
    "packing": "opened pack unpack",
    "paths": "course_folder data_path shipped_course",
    "reports": "IN_PLACE Report Work about at_least attributes cut interval refuse_below tabulate trim_memory trimmed",
    "shipped_evidence": "TOLERANCE evidence_folder shipped_files",
    "tables": "Table align csv_text to_frame",
    "unfinished": "UNFINISHED Unfinished",
    "folders": "checksum claim_folder digest digest_of filling release_folders tree_digest writable_folder",
    "printing": "save_rows visible with_interval",
    "bounded_texts": "Gunzipped csv_rows",
}
__all__, __getattr__, __dir__ = hand_on(__name__, _HOMES)
