"""The scientist: selects, hypothesises, writes, repairs, and learns from what the numbers say.

One generation: the selector names a base kernel and a divergent reference, the designer proposes experiments, the writer
carries out several of them side by side, each kernel is tuned, each hypothesis gets its verdict. To the loop it is a
proposer like any other (ask, tell); what it asks and decides is in the ledger, so that it can be cut at any moment.
"""

from kernellab.search.scientist.estimate import estimate
from kernellab.search.scientist.model_session import ModelSession, open_session
from kernellab.search.scientist.proposer import Scientist

__all__ = ["ModelSession", "Scientist", "estimate", "open_session"]
