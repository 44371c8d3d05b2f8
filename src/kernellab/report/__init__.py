"""Reports: what a run folder says, re-derived from its ledger alone."""
