"""What the course consists of: lessons, decks and their routes, sources."""

from .. import hand_on

_HOMES = {
    "bibliography": "PAPERS find_paper papers_folder read_bibliography short_reference source surnames",
    "copies": "Copied copy_course",
    "decks": "find_deck find_root",
    "lessons": "GUEST LESSONS Lesson MAP PARTS lesson paths_to",
    "questions": "QUESTIONS Questions",
    "routes": "ROUTES deck_routes on_route route_copy routes_of",
    "tally": "Votes count_votes",
}
__all__, __getattr__, __dir__ = hand_on(__name__, _HOMES)
