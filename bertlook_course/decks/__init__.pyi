from . import lesson06 as lesson06
from . import lesson07 as lesson07
