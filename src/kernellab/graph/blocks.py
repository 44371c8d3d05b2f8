"""Neighbours whose errors are averaged: the mean of all would hide a tile that is wrong among all that is right."""

from __future__ import annotations

BLOCK = 64
FEWEST = 16
"""From how many elements on such a mean says something."""
