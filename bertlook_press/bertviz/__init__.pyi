from .frames import bertviz_head_view as bertviz_head_view
from .frames import bertviz_model_view as bertviz_model_view
from .frames import bertviz_neuron_view as bertviz_neuron_view
