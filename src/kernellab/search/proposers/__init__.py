"""Who proposes: one file each, found by name in `registry.py`."""
