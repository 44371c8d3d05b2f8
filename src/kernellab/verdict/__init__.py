"""The judge: whether an artifact computes what its task says."""
