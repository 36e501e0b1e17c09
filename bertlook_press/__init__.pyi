from . import bertviz as bertviz
from . import classroom as classroom
from . import commands as commands
from . import pages as pages
