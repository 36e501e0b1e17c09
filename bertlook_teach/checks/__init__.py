"""Feedback for exercises: was it answered, is it right, and if not, what is the likely reason?"""

from .. import hand_on

_HOMES = {
    "answers": """
        ArrayCheck Check ChoiceCheck FunctionCheck ListCheck NumberCheck PartsCheck RunCheck SetCheck TextCheck of_run
    """,
    "compare": "Whenever",
    "feedback": "Feedback check_all is_unanswered",
    "sheet": "Sheet read_sheet sheet_from",
}
__all__, __getattr__, __dir__ = hand_on(__name__, _HOMES)
