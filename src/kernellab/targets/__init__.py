"""Everything that differs by target: one file a target, one a platform. core/targets.py has the list of them."""
