"""Priors that come with the package, by the kind of device they were trained on; and the one that a run is to have."""

from __future__ import annotations

from pathlib import Path

from kernellab.core.errors import UsageError
from kernellab.search.prior.checkpoint import read_checkpoint, read_file

FILE = "prior.npz"
"""The name under which a run folder keeps the prior that it was made with."""
_FOLDER = Path(__file__).parent


def shipped(kind: str) -> Path | None:
    found = sorted(_FOLDER.glob(f"{kind}-*.npz"))
    return found[0] if found else None


def prior_file(named: str, kind: str) -> bytes:
    """The bytes of the named file, or of the shipped one for this kind of device; refused where it is for another kind."""
    path = Path(named) if named else shipped(kind)
    if path is None:
        raise UsageError(f"no prior is shipped for '{kind}'",
                         "name one, --proposer policy:FILE; 'klab learn prior RUN... --out FILE' trains it")  # fmt: skip
    data = read_file(path)
    trained = read_checkpoint(data, str(path)).kind
    if trained != kind:
        raise UsageError(f"{path} was trained on runs of '{trained}', and this run is on '{kind}'",
                         f"name one that was trained on '{kind}', or leave the proposer out")  # fmt: skip
    return data
