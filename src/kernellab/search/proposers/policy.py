"""The tuner behind a learned prior: first what the prior expects most of, then what trials teach beyond it.

The run folder keeps the prior's file, and the first entry names it by its SHA-256: a resumed run has the same one, and the
audit says if it was changed. Where nothing was generated the prior knows nothing: that is noted, and the tuner searches.
"""

from __future__ import annotations

from kernellab.core.errors import UsageError
from kernellab.core.events import Event
from kernellab.core.ids import sha256_hex
from kernellab.ledger import kinds
from kernellab.ledger.records import Note
from kernellab.ledger.run import Run
from kernellab.propose.base import Proposer
from kernellab.propose.generated import generated_candidates
from kernellab.search.experiment_run import ExperimentRun
from kernellab.search.prior.checkpoint import Checkpoint, read_checkpoint, read_file
from kernellab.search.prior.expected import Expected
from kernellab.search.prior.rates import rates_of
from kernellab.search.prior.shipped import FILE, prior_file
from kernellab.search.prior.tuner import PriorTuner
from kernellab.search.proposers.base import ProposerKind, ProposerSession, SearchContext, ShapeContext
from kernellab.search.proposers.tuner import tuner_of


class PolicySession(ProposerSession):
    def __init__(self, search: SearchContext) -> None:
        super().__init__(self._for_shape)
        self._checkpoint = _kept(search.run)
        devices = self._checkpoint.facts.get("devices", [])
        if search.run.device_name not in devices:
            text = f"the prior was trained on {', '.join(devices)}: it may rank otherwise than this device does"
            search.run.emit(Event("note", text))

    def _for_shape(self, shape: ShapeContext) -> Proposer:
        search = shape.search
        run, settings = search.run, search.run.settings
        found = generated_candidates(run.task, settings.device)
        rates = rates_of(run.device_name, settings.threads)
        expected = Expected(self._checkpoint, search.recipes, found.written, shape.dims, rates)
        if expected.generated:
            return PriorTuner(search.recipes, shape.seed, shape.warm, expected)
        why = f" ({found.why_not})" if found.why_not else ""
        text = f"the prior knows generated candidates alone, and {run.task.name} has none{why}: the tuner searches"
        run.append(kinds.NOTE, Note.model_validate({"prior": text}))
        run.emit(Event("note", text))
        return tuner_of(shape)


def _kept(run: ExperimentRun) -> Checkpoint:
    """The one in the run's folder, if it is the one that the run began with."""
    data = read_file(run.folder / FILE)
    if sha256_hex(data) != (Run(run.folder).genesis.files or {}).get(FILE):
        text = f"{run.folder / FILE} is not the prior that this run began with"
        raise UsageError(text, "put it back, or start another run")
    return read_checkpoint(data, str(run.folder / FILE))


def _files(argument: str, device: str) -> dict[str, bytes]:
    return {FILE: prior_file(argument, device)}


PROPOSER = ProposerKind(
    "policy", "policy[:FILE], the tuner behind a prior that was learned from runs", PolicySession, argument="may",
    files=_files,
)  # fmt: skip
