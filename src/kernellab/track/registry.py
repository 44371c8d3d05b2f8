"""The list of trackers. A new one is a file with a TRACKER, and a line here."""

from __future__ import annotations

import importlib
import importlib.util

from kernellab.core.errors import EnvironmentFault, UsageError
from kernellab.track.base import Tracker, TrackerKind

TRACKERS = {
    "trackio": "kernellab.track.trackio",
    "tensorboard": "kernellab.track.tensorboard",
    "wandb": "kernellab.track.wandb",
    "mlflow": "kernellab.track.mlflow",
}
"""Names and modules; a module is read when it is asked for."""


def open_tracker(name: str) -> Tracker:
    """The tracker of this name, ready to begin."""
    if name not in TRACKERS:
        raise UsageError(f"there is no tracker '{name}'", f"the known ones: {', '.join(TRACKERS)}")
    kind: TrackerKind = importlib.import_module(TRACKERS[name]).TRACKER
    if importlib.util.find_spec(kind.package) is None:
        raise EnvironmentFault(
            f"the package '{kind.package}' is not installed", f"pip install 'kernellab[{kind.extra}]'"
        )
    return kind.open()
