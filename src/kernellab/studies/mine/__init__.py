"""Self-analysis: what the recorded trials say about parameters and structure, with the evidence for it."""
