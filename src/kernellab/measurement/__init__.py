"""The bench: how fast an artifact is, and against what."""
