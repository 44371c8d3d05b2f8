"""Hard labels: samples built and judged for real, through the sandbox, as the gauntlet does it.

Covered: C kernels in full (every case, then timed and checked calls); kernels for a GPU when built, where there is none.
Not covered: what only a GPU shows. Samples are untrusted code: nothing of them runs outside the project's sandbox.
"""

from __future__ import annotations

import os
import time
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from kernellab.build.base import Candidate, NotBuilt
from kernellab.core.events import silent
from kernellab.core.ids import sha256_hex
from kernellab.core.records import Param
from kernellab.core.settings import Effort, Settings
from kernellab.core.targets import backend_of, home_of
from kernellab.evaluate.open_task import OpenTask
from kernellab.evaluate.request import Clocking, Judging
from kernellab.propose.mutants import Sample
from kernellab.propose.recipe import with_defaults
from kernellab.search.soft.fate import Fate
from kernellab.search.soft.labelled import Labelled, family_of
from kernellab.targets.base import platform
from kernellab.tasks.load import load_task
from kernellab.tasks.spec import Dims, Task

_EFFORT = Effort(least_pairs=11, trial_pairs=11, confirm_pairs=11, processes=1, narrow=0.0, trials=1, confirmations=1)


@dataclass(frozen=True)
class Threaded:
    """A sample, and the number of threads that it is judged with."""

    sample: Sample
    threads: int = 1


def label(samples: Iterable[Threaded], settings: Settings) -> Iterator[Labelled]:
    """Every sample's fate, device by device and task by task."""
    quick = settings.model_copy(update={"build_timeout_s": min(settings.build_timeout_s, 6.0), "cache": False})
    groups: dict[tuple[str, str, int], list[Sample]] = defaultdict(list)
    for given in samples:
        device = home_of(backend_of(given.sample.source))
        groups[device, given.sample.task, given.threads].append(given.sample)
    for (device, task, threads), members in sorted(groups.items(), key=lambda g: g[0]):
        chosen = quick.model_copy(update={"threads": threads, "device": device})
        judged = _built_for_it if platform(device).accelerator else _on_processor
        yield from judged(load_task(task), chosen, members)


def _on_processor(task: Task, settings: Settings, samples: list[Sample]) -> Iterator[Labelled]:
    small = replace(task, sizes={})  # the smaller shapes judge as sharply, and sooner
    dims = small.quick_shape
    judging = Judging(level="full", inputs_seed=os.urandom(32).hex())
    with OpenTask(settings, small, task.name, emit=silent, torch=False) as opened:
        for sample in samples:
            yield _judged(opened, dims, judging, sample)


def _judged(opened: OpenTask, dims: Dims, judging: Judging, sample: Sample) -> Labelled:
    started = time.perf_counter()
    candidate = Candidate(sample.source, sample.origin)
    params = with_defaults(opened.builder, candidate)
    asked = {"judging": judging, "clocking": Clocking(how="fixed"), "effort": _EFFORT}
    found = opened.evaluate(opened.request(dims, candidate, params, **asked))
    if found.status in ("invalid", "build-failed"):
        fate = Fate(outcome=found.status, reason=found.reason[:400])
    else:
        fate = Fate.rejected(found.rejected) if found.rejected is not None else Fate(outcome="passed")
    return _labelled(sample, params, fate, opened.settings.threads, time.perf_counter() - started)


def _built_for_it(task: Task, settings: Settings, samples: list[Sample]) -> Iterator[Labelled]:
    """Skips languages without a compiler here: a missing compiler refuses nothing."""
    with platform(settings.device).workbench(settings) as bench:
        builder = bench.builder
        for sample in samples:
            started = time.perf_counter()
            candidate = Candidate(sample.source, sample.origin)
            params = with_defaults(builder, candidate)
            if builder.lacks(candidate):
                continue
            built = builder.build(task, candidate, params, [task.quick_shape, *task.edge[:2]])
            fate = Fate(outcome="built")
            if isinstance(built, NotBuilt):
                fate = Fate(outcome=built.status, reason=built.reason[:400])
            yield _labelled(sample, params, fate, settings.threads, time.perf_counter() - started)


def _labelled(sample: Sample, params: dict[str, Param], fate: Fate, threads: int, wall_s: float) -> Labelled:
    return Labelled(
        source=sha256_hex(sample.source.encode()), task=sample.task, backend=backend_of(sample.source), params=params,
        family=family_of(sample.origin), origin=sample.origin, operator=sample.operator, what=sample.what,
        threads=threads, fate=fate, wall_s=round(wall_s, 4),
    )  # fmt: skip
