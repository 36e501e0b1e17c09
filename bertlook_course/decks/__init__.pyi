from .common import LessonDeck as LessonDeck
from .common import letter as letter
from .models import choose_model as choose_model
from .models import live_models as live_models
from .models import pretrained as pretrained
from .models import short_title as short_title
from .models import stand_in_line as stand_in_line
from .models import subject as subject
