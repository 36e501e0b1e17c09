from .common import LessonDeck as LessonDeck
from .common import choose_model as choose_model
from .common import live_models as live_models
from .common import pretrained as pretrained
from .common import short_title as short_title
from .common import stand_in_line as stand_in_line
from .common import subject as subject
