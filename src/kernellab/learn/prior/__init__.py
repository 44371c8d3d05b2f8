"""Training a prior over generated candidates from recorded runs. What asks it is in search/prior; NumPy is all it needs."""
