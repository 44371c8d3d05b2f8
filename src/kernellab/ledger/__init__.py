"""The tamper-evident record of a run: entries, signed heads, blobs, and an index rebuilt from them."""
