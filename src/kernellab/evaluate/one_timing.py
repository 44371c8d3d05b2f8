"""One timing: every figure follows from its samples and its calibration, and a confirmation is the whole of its fixed plan.

Covered: figures that do not follow; samples that are no times; a weaker baseline than the fastest, other threads than were
calibrated; a disturbed measurement that calls itself undisturbed; a confirmation with fewer or more pairs than its effort
has, or unevenly shared out: pairs that were added until it won, or replicates that were chosen.
Not covered: samples that were made up to fit all this.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from kernellab.core.records import Confirmation, Timing
from kernellab.core.settings import Settings
from kernellab.evaluate.one_artifact import FORMAT
from kernellab.ledger.records import Calibration
from kernellab.measurement.bench import TOO_GOOD
from kernellab.measurement.stats import median, replicated_speedup

_CLOSE = 1e-12
_ONE_PROCESS = {"quick": 41, "standard": 201, "full": 401}
"""Pairs of a confirmation when it was one process: ledgers that were written before it became several."""


def sampled_figures(timing: Timing) -> dict[str, float]:
    """What follows from the samples alone."""
    speedup = replicated_speedup(timing.candidate_s, timing.baseline_s, timing.processes)
    return {
        "speedup": speedup.value,
        "speedup_low": speedup.low,
        "speedup_high": speedup.high,
        "latency_s": median(timing.candidate_s),
    }


def derived_figures(timing: Timing, stage: Calibration) -> dict[str, float]:
    """Every derived number, from the samples and the calibration in force."""
    latency = median(timing.candidate_s)
    return {
        **sampled_figures(timing),
        "gb_per_s": stage.bytes / latency / 1e9,
        "floor_s": stage.floor_s,
        "memory_floor_s": stage.memory_floor_s,
        "of_floor": stage.floor_s / latency,
        "of_memory_floor": stage.memory_floor_s / latency,
    }


def figure_problem(name: str, got: float, wanted: float) -> str:
    """'' where a figure is what it should be."""
    same = abs(got - wanted) <= _CLOSE * max(abs(got), abs(wanted))
    return "" if same else f"{name} is {got!r}, its samples give {wanted!r}"


def figure_problems(timing: Timing, wanted: Mapping[str, float]) -> Iterator[str]:
    yield from filter(None, (figure_problem(name, getattr(timing, name), figure) for name, figure in wanted.items()))


def no_times(timing: Timing) -> bool:
    return min(*timing.candidate_s, *timing.baseline_s, *(s for pair in timing.dropped for s in pair), 1.0) <= 0


def timing_problems(timing: Timing, stage: Calibration) -> Iterator[str]:
    """Whether a timing, of a trial or of a confirmation, is what its samples and its calibration say."""
    if no_times(timing):
        yield "holds samples that are no times"
        return
    yield from figure_problems(timing, derived_figures(timing, stage))
    if timing.baseline != stage.fastest:
        yield f"is measured against {timing.baseline}, the fastest baseline is {stage.fastest}"
    if timing.threads != stage.threads:
        yield f"names {timing.threads} threads, its calibration had {stage.threads}"
    if not timing.disturbed and len(timing.dropped) >= len(timing.candidate_s):
        yield f"calls itself undisturbed with {len(timing.dropped)} pairs set aside and {len(timing.candidate_s)} kept"


def whole_problems(timing: Timing, asked: Settings, format: int) -> Iterator[str]:
    """A confirmation has its fixed number of pairs, unless the machine disturbed too many, and beats no ceiling."""
    effort, pairs = asked.profile, len(timing.candidate_s)
    if not timing.processes and format >= FORMAT:
        yield "does not say which process gave which pair"
    wanted = effort.confirm_pairs if timing.processes else _ONE_PROCESS[asked.effort]
    if pairs < wanted and pairs + len(timing.dropped) < 2 * wanted and not timing.disturbed:
        yield f"has {pairs} pairs, a confirmation at this effort has {wanted}"
    elif timing.processes and not timing.disturbed:
        yield from _shared_out(timing, effort.processes, effort.confirm_pairs // effort.processes)
    if timing.processes and timing.checked < pairs:
        yield f"had {timing.checked} calls judged in full for {pairs} pairs"
    if timing.stopped != "budget":
        yield f"was stopped as '{timing.stopped}', and a confirmation never is"
    if timing.latency_s < TOO_GOOD * timing.floor_s:
        yield f"claims {timing.latency_s} s a call, below what the ceilings allow ({timing.floor_s} s)"


def _shared_out(timing: Timing, processes: int, each: int) -> Iterator[str]:
    """A process that gives fewer pairs has set half of its tries aside, and is disturbed; none gives more."""
    if len(timing.processes) != processes:
        yield f"comes from {len(timing.processes)} processes, a confirmation at this effort has {processes}"
    elif any(count != each for count in timing.processes):
        yield f"has {timing.processes} pairs of its processes, a confirmation at this effort has {each} of each"


def confirmation_timing_problems(
    confirmation: Confirmation, stage: Calibration, asked: Settings, format: int
) -> Iterator[str]:
    """Both, of the timing that a claim rests on."""
    if confirmation.timing is None:
        return
    if confirmation.busy:
        yield "was timed, and says that the machine was too busy to"
    yield from timing_problems(confirmation.timing, stage)
    yield from whole_problems(confirmation.timing, asked, format)
