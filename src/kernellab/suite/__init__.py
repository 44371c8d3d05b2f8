"""Whole suites: which problems are worth a search, runs of all of them under one signed root, and what came of it."""
