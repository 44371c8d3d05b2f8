"""The plan of a registered study, derived again from its record: no candidate is run, and no device is asked.

Covered: which trials a study has (task, shape, replicate, source, parameters), and under which distributions each is
examined. Not covered: a SPACE that a source computes by more than a range (the registered one stands), and which
built-in recipes there were then (those that were registered stand).
"""

from __future__ import annotations

import ast
import itertools
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from kernellab.build.base import Candidate
from kernellab.core.errors import UsageError
from kernellab.core.records import Param
from kernellab.ledger.records import Genesis
from kernellab.propose.recipe import Recipe
from kernellab.studies.design import borrows, cells_of, key_of, key_of_trial
from kernellab.studies.evidence import Evidence
from kernellab.studies.hypothesis import Hypothesis, Population
from kernellab.studies.registration import Registration
from kernellab.tasks.load import is_task_file, load_task
from kernellab.tasks.spec import Dims, parse_dims

Planned = dict[str, set[str]]
"""Keys of the planned trials, each with the distributions under which it is examined."""
_MOST_CHOICES = 10_000
_VERSION = "use the version of kernellab that made the study"


def planned(hypothesis: Hypothesis, registered: Registration, start: Genesis, evidence: Evidence) -> Planned:
    """`start`: the run's first entry. Refused in words where the record is not enough."""
    found: Planned = {}
    device = registered.device
    used: set[str] = set()
    for population, task, shapes in _wards(hypothesis, device, start):
        if borrows(hypothesis, device):
            keys = _borrowed(hypothesis, task, shapes, evidence, start.environment.device)
        else:
            recipes = _recipes(hypothesis, population, task, registered, evidence)
            used |= {r.name for r in recipes}
            cells = cells_of(hypothesis, population, shapes, recipes)
            keys = (key_of(task, cell.dims, cell.seed, idea) for cell in cells for idea in cell.ideas)
        for key in keys:
            found.setdefault(key, set()).update(population.distributions)
    unused = set(registered.candidates) - used
    if unused and not borrows(hypothesis, device):
        raise UsageError(f"candidate {min(unused)} is registered, and no population speaks of it", _VERSION)
    return found


def stated(text: str, name: str) -> Any:
    """The value that a file states for a name, read without running it; {} for none, None where it is computed."""
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as err:
        raise UsageError(f"the source of a candidate cannot be read: {type(err).__name__}", _VERSION) from None
    uses = [n for n in ast.walk(tree) if isinstance(n, ast.Name) and n.id == name]
    for node in tree.body:
        targets = (
            node.targets if isinstance(node, ast.Assign) else [node.target] if isinstance(node, ast.AnnAssign) else []
        )
        if targets == uses and isinstance(node, (ast.Assign, ast.AnnAssign)) and node.value is not None:
            try:
                return ast.literal_eval(_Ranges().visit(node.value))
            except (ValueError, TypeError):
                return None
    return None if uses else {}


class _Ranges(ast.NodeTransformer):
    """range(...) of numbers, and list(...) or tuple(...) of what is stated, written out."""

    def visit_Call(self, node: ast.Call) -> ast.expr:
        self.generic_visit(node)
        name = node.func.id if isinstance(node.func, ast.Name) else ""
        given = [ast.literal_eval(a) for a in node.args]
        if name not in ("range", "list", "tuple") or node.keywords:
            raise ValueError(name)
        values = range(*given) if name == "range" else given[0] if given else []
        if len(values) > _MOST_CHOICES:
            raise ValueError(name)
        return ast.copy_location(ast.List([ast.Constant(v) for v in values], ast.Load()), node)


def _wards(hypothesis: Hypothesis, device: str, start: Genesis) -> Iterator[tuple[Population, str, Sequence[Dims]]]:
    """Each task of the population with its shapes. A task file is not run: the run's first entry names it and its shapes."""
    for population in hypothesis.on(device):
        for name, dtype in itertools.product(population.tasks, population.dtypes or [""]):
            if is_task_file(name):
                if start.task.builtin:
                    raise UsageError(f"the record does not name the task of {name}", _VERSION)
                yield population, start.task.name, _recorded_shapes(population, start.shapes)
            else:
                task = load_task(name, dtype)
                yield population, task.name, [parse_dims(s, task) for s in population.shapes]


def _recorded_shapes(population: Population, shapes: Sequence[Dims]) -> list[Dims]:
    """The recorded shapes with the extents that the population asks for; records sort a shape's names."""
    wanted = [sorted(s.replace(" ", "").lower().split("," if "=" in s else "x")) for s in population.shapes]
    found = [d for d in shapes if sorted(map(str, d.values())) in wanted
             or sorted(f"{k}={v}".lower() for k, v in d.items()) in wanted]  # fmt: skip
    if len(found) != len({s.replace(" ", "").lower() for s in population.shapes}):
        raise UsageError("the recorded shapes are not those of the population", _VERSION)
    return found


def _recipes(
    hypothesis: Hypothesis, population: Population, task: str, registered: Registration, evidence: Evidence
) -> list[Recipe]:
    texts = {name: evidence.read(sha) for name, sha in registered.candidates.items()}
    gone = [name for name, text in texts.items() if not text]
    if gone:
        raise UsageError(f"the source of candidate {gone[0]} is not in the store", "bring it back from a copy")
    files = {_name(c) for p in hypothesis.population for c in p.candidates if c.endswith(".py")}
    names = [_name(c) for c in population.candidates] or [
        n for n, text in texts.items() if n not in files and task in (stated(text, "TASKS") or ())
    ]
    missing = [n for n in names if n not in texts]
    if missing:
        raise UsageError(f"candidate {missing[0]} of the hypothesis is not registered", _VERSION)
    return [Recipe(Candidate(texts[n], n), _space(n, texts[n], registered), "") for n in names]


def _name(candidate: str) -> str:
    return Path(candidate).stem if candidate.endswith(".py") else candidate


def _space(name: str, text: str, registration: Registration) -> dict[str, list[Param]]:
    said = stated(text, "SPACE")
    if not isinstance(said, dict | None):
        raise UsageError(f"the SPACE of candidate {name} is no mapping", _VERSION)
    states = None if said is None else [[k, list(v)] for k, v in said.items() if v]
    registered = states if registration.spaces is None else registration.spaces.get(name)
    if registered is None:
        raise UsageError(f"candidate {name} computes its SPACE, and the registration does not say it", _VERSION)
    if states not in (None, registered):
        raise UsageError(f"the space registered for candidate {name} is not the one in its source", _VERSION)
    return {k: list(v) for k, v in registered}


def _borrowed(
    hypothesis: Hypothesis, task: str, shapes: Sequence[Dims], evidence: Evidence, device: str
) -> Iterator[str]:
    lent = [b.trial for b in evidence.borrowed if b.trial.device != device]
    here = [t for t in lent if t.task == task and t.dims in shapes]
    return (key_of_trial(trial, seed) for trial in here for seed in hypothesis.seeds)
