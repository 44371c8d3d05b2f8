"""Studies: hypotheses that are registered before they are tested, and patterns mined from what was recorded."""
