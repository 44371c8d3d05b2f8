"""The contrastive memory: what earlier trials teach, chosen so that the lesson is visible.

Everything here is a pure function of trial records (and of the source texts their hashes name), so a memory is rebuilt
from a ledger at any time and gives the same answer; randomness comes from a generator that the caller passes in.
"""
