"""Feedback for exercises: was it answered, is it right, and if not, what is the likely reason?"""

from .. import hand_on

_HOMES = {
    "answers": "check_array check_choice check_function check_list check_number check_set check_text",
    "feedback": "Feedback args check_all is_unanswered",
    "sheet": "Sheet read_sheet sheet_from",
}
__all__, __getattr__, __dir__ = hand_on(__name__, _HOMES)
