"""An essay's hypotheses, registered before they are tested."""
