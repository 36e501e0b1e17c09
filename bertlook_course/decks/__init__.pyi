from .common import LessonDeck as LessonDeck
from .common import letter as letter
