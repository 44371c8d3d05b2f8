"""The Python API: optimize(), verify(), measure(), build(), check(), judge(), study(), analyse(). The CLI does no more."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kernellab.core.errors import UsageError
from kernellab.core.events import Listener
from kernellab.core.records import Param
from kernellab.core.settings import load_science, load_settings
from kernellab.propose.given import Given, given_candidate
from kernellab.propose.recipe import read_candidate
from kernellab.report.notebook_bar import watched
from kernellab.search.outcome import Outcome, default_folder
from kernellab.tasks.load import load_task, task_locator
from kernellab.tasks.load import locate as find_task
from kernellab.tasks.modules.example_inputs import with_inputs
from kernellab.tasks.modules.record import PRECISIONS, is_record
from kernellab.tasks.modules.wishes import AS_IT_IS, Wishes
from kernellab.tasks.room import read_shape
from kernellab.tasks.spec import Dims, Task, dims_label, parse_dims

if TYPE_CHECKING:  # each is imported by the function that needs it: a verdict is there before all of them are loaded
    from kernellab.evaluate.judge_solution import Judgement
    from kernellab.search.construct import Construction
    from kernellab.search.question import Question
    from kernellab.search.scientist.estimate import Forecast
    from kernellab.studies.conduct import Report
    from kernellab.studies.mine.miner import Analysis
    from kernellab.verdict.check_task import Checked

Asked = str | Path | Task | Callable[..., Any]
"""A built-in name, the path of a task file, a Task, a PyTorch module as FILE.py:Class, or a module or function itself."""
task = with_inputs
"""@kernellab.task(example_inputs=[...]): a function of tensors, or a module, that the functions here take as it is."""


def optimize(
    task: Asked,
    *,
    example_inputs: Sequence[Any] | None = None,
    dtype: str = "",
    shapes: Sequence[Dims | str] | str = (),
    candidates: Sequence[Given] = (),
    out: str | Path | None = None,
    warm_start: str | Path | None = None,
    profile: bool = False,
    listener: Listener | None = None,
    science: Mapping[str, Any] | None = None,
    pytorch: str | Path | None = None,
    templates: str | Path | None = None,
    wishes: Wishes | None = None,
    **settings: Any,
) -> Outcome:
    """Search for the fastest verified kernel of a task: a built-in name, the path of a task file, or a PyTorch module
    (FILE.py:Class, or the module or function itself with `example_inputs`), for which kernels are generated from its graph.

    `dtype` (f32, bf16, f16) picks the variant of a built-in task. `profile`: say what bounds the best kernels.
    `science`: settings of the scientist, `model` first of all ("openai:NAME@URL", "anthropic:NAME", "replay:RUN");
    `pytorch`: a file with code to translate; `templates`: a folder with prompts of your own.
    `wishes`: how a module is taken (module_wishes()).
    `listener` hears every event; where none is given, a notebook shows a bar with the time left.
    Keyword arguments are settings: effort, device, threads, seed, trials, seconds, proposer, sampler, compiler, sandbox, ...
    """
    from kernellab.search.runs import run_search

    asked, merged = question(science or {}, pytorch, templates), load_settings(settings)
    task = locate(task, dtype, wishes, example_inputs)
    chosen = [_shape(task, s) for s in ([shapes] if isinstance(shapes, str) else shapes)]
    extra = [given_candidate(c) for c in candidates]
    warm = Path(warm_start) if warm_start is not None else None
    folder = _folder(out, task)
    with watched(listener) as emit:
        return run_search(task, merged, folder, chosen, extra, warm, emit, profile, asked)


def forecast(
    task: Asked,
    *,
    example_inputs: Sequence[Any] | None = None,
    dtype: str = "",
    shapes: Sequence[Dims | str] = (),
    candidates: Sequence[Given] = (),
    science: Mapping[str, Any] | None = None,
    pytorch: str | Path | None = None,
    templates: str | Path | None = None,
    wishes: Wishes | None = None,
    **settings: Any,
) -> Forecast:
    """What such a run with a model would ask and cost at most. Asks nobody, builds nothing, needs no key."""
    from kernellab.propose.prompts import PromptBook
    from kernellab.search.runs import known_candidates
    from kernellab.search.scientist.estimate import estimate

    task = locate(task, dtype, wishes, example_inputs)
    asked = question(science or {}, pytorch, templates)
    if not asked.science.model:
        raise UsageError("an estimate is of a run with a model", "name it: --model openai:NAME")
    on, chosen, known = known_candidates(task, load_settings(settings), [given_candidate(c) for c in candidates])
    book = PromptBook(asked.templates)
    return estimate(on, chosen, asked.science, len(shapes) or len(on.tune), [c.text for c in known], book)


def question(
    science: Mapping[str, Any], pytorch: str | Path | None = None, templates: str | Path | None = None
) -> Question:
    """What a scientist is to do, checked before anything is opened."""
    from kernellab.ledger.disk import require_ledger
    from kernellab.propose.models.opening import check_locator
    from kernellab.propose.prompts import PromptBook
    from kernellab.search.question import Question
    from kernellab.search.scientist.model_session import refuse_impossible

    asked = load_science(dict(science))
    code = read_candidate(pytorch).text if pytorch is not None else ""
    folder = Path(templates) if templates is not None else None
    if not asked.model and (code or folder or any(v is not None for v in science.values())):
        raise UsageError("these options are for a run with a model", "name it: --model openai:NAME (docs/scientist.md)")
    if asked.model:
        provider, rest = check_locator(asked.model)
        if provider == "replay":
            require_ledger(Path(rest))
        refuse_impossible(asked)
        PromptBook(folder)
    return Question(asked, code, folder)


def verify(
    candidate: Given,
    task: Asked,
    *,
    example_inputs: Sequence[Any] | None = None,
    dtype: str = "",
    shape: Dims | str | None = None,
    params: dict[str, Param] | None = None,
    wishes: Wishes | None = None,
    out: str | Path | None = None,
    sanitize: bool = False,
    listener: Listener | None = None,
    **settings: Any,
) -> Outcome:
    """Judge one candidate file in seconds: every case at every shape, those kept back too. Nothing is timed; measure() does.

    `sanitize`: on a GPU, let compute-sanitizer look at the edge shapes too; a finding is a rejection.
    """
    from kernellab.search.verify import verify_candidate

    given, merged = given_candidate(candidate), load_settings({"effort": "quick", **settings})
    task = locate(task, dtype, wishes, example_inputs)
    chosen = _shape(task, shape) if shape is not None else None
    folder = _folder(out, "verify")
    with watched(listener) as emit:
        return verify_candidate(task, given, merged, folder, chosen, params, emit, sanitize)


def measure(
    candidate: Given,
    task: Asked,
    *,
    example_inputs: Sequence[Any] | None = None,
    dtype: str = "",
    shape: Dims | str | None = None,
    params: dict[str, Param] | None = None,
    wishes: Wishes | None = None,
    out: str | Path | None = None,
    listener: Listener | None = None,
    **settings: Any,
) -> Outcome:
    """Judge and measure one candidate file against the fastest baseline, at standard effort unless told otherwise."""
    from kernellab.search.runs import try_candidate

    given, merged = given_candidate(candidate), load_settings(settings)
    task = locate(task, dtype, wishes, example_inputs)
    chosen = _shape(task, shape) if shape is not None else None
    folder = _folder(out, "bench")
    with watched(listener) as emit:
        return try_candidate(task, given, merged, folder, chosen, params, emit)


def build(
    candidate: Given,
    task: Asked,
    *,
    example_inputs: Sequence[Any] | None = None,
    dtype: str = "",
    shape: Dims | str | None = None,
    params: dict[str, Param] | None = None,
    wishes: Wishes | None = None,
    listings: Sequence[str] = (),
    **settings: Any,
) -> Construction:
    """Build one candidate file for every shape of a task and run nothing; no GPU is needed.

    The setting `target` names the architecture; `listings` ("ptx", "sass") asks for the code in words.
    """
    from kernellab.search.construct import construct

    task = locate(task, dtype, wishes, example_inputs)
    chosen = _shape(task, shape, judged=False) if shape is not None else None
    return construct(task, given_candidate(candidate), load_settings(settings), chosen, params, listings)


def study(
    hypothesis: str | Path,
    *,
    out: str | Path | None = None,
    others: Sequence[str | Path] = (),
    listener: Listener | None = None,
    **settings: Any,
) -> Report:
    """Register a hypothesis (a shipped one's id, or a file) and test it; `others`: runs of other devices to compare with."""
    from kernellab.studies.conduct import run_study
    from kernellab.studies.library import find

    path = find(str(hypothesis))
    merged, folder = load_settings(settings), _folder(out, path.stem)
    with watched(listener) as emit:
        return run_study(path, merged, folder, [Path(o) for o in others], emit)


def paper(run: str | Path, out: str | Path) -> Path:
    """Write the paper of a run (PDF, page, Markdown, claims) from its ledger; needs kernellab[paper]. Gives the PDF."""
    from kernellab.report.paper.write import write_paper

    write_paper(Path(run), Path(out))
    return Path(out) / "paper.pdf"


def analyse(run: str | Path) -> Analysis:
    """The patterns in a run's ledger that hold after the correction for many tests."""
    from kernellab.studies.mine.miner import mine_run

    return mine_run(Path(run))


def locate(task: Asked, dtype: str, wishes: Wishes | None = None, example_inputs: Sequence[Any] | None = None) -> str:
    """The name of a built-in task's variant for this dtype; a task file stands for itself, a PyTorch module is captured."""
    if isinstance(task, Task):
        task = task_locator(task)
    task = str(task) if isinstance(task, Path) else task
    if not isinstance(task, str):
        from kernellab.tasks.modules.live import locate_object

        located = locate_object(task, example_inputs, wishes or Wishes())
    elif example_inputs is not None:
        raise UsageError(f"'{task}' brings its own inputs", "example_inputs are for a module or function itself")
    else:
        located = find_task(task, wishes or Wishes())
    if wishes is not None and not is_record(located):
        raise UsageError(
            f"'{task}' is no PyTorch module: --eval and --precision are for those",
            "leave them out, or name FILE.py:Class",
        )
    return load_task(located, dtype).name if dtype else located


def module_wishes(eval_mode: bool = False, precision: str = "", backward: bool = False) -> Wishes | None:
    """How a module is to be taken; None: as it is, by its dtypes' own precision. `backward`: its gradients instead."""
    if precision and precision not in PRECISIONS:
        raise UsageError(f"there is no precision '{precision}'", f"use one of {', '.join(PRECISIONS)}")
    chosen = next((p for p in PRECISIONS if p == precision), PRECISIONS[0])
    return Wishes(eval_mode, chosen, backward=backward) if eval_mode or precision or backward else None


def check(
    task: Asked,
    *,
    example_inputs: Sequence[Any] | None = None,
    dtype: str = "",
    device: str = "cpu",
    wishes: Wishes | None = None,
) -> Checked:
    """Prove a task's judge, alone and in seconds: no kernel is built and nothing is timed."""
    from kernellab.verdict.check_task import check_task

    return check_task(load_task(locate(task, dtype, wishes, example_inputs)).on(device))


def judge(
    solution: str | Path,
    problem: str,
    *,
    timed: bool = False,
    wishes: Wishes | None = None,
    listener: Listener | None = None,
    **settings: Any,
) -> Judgement:
    """Judge somebody else's ModelNew against a problem (FILE.py:Model), on the processor: trust level `host`, no claim."""
    from kernellab.evaluate.judge_solution import SolutionJudge, solution_text

    file = Path(solution)
    chosen = load_settings({**settings, "device": "cpu"})
    folder = str(file.absolute().parent)
    solution_text(file)
    with watched(listener) as emit, SolutionJudge(chosen, problem, [folder], wishes or AS_IT_IS, emit) as judge_of:
        return judge_of.judge(file, timed)


def _shape(task: str, shape: Dims | str, judged: bool = True) -> Dims:
    text = shape if isinstance(shape, str) else dims_label(shape)
    return read_shape(text, load_task(task)) if judged else parse_dims(text, load_task(task))


def _folder(out: str | Path | None, name: str) -> Path:
    named = load_task(name).name if is_record(name) else Path(name).stem
    return Path(out) if out is not None else default_folder(named)
