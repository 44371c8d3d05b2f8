"""From facts to the text of a prompt, by templates that a user may replace one by one.

Covered: a template sees facts only, in a sandboxed environment; what it prints cannot forge a marker of the protocol;
an unknown name is an error with template, line and remedy, never an empty string; a prompt stays under its budget.
Not covered: a user's own template that takes for ever or makes endless text; it is trusted like any script of theirs.
"""

from __future__ import annotations

import difflib
import re
import traceback
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from pathlib import Path
from types import MappingProxyType
from typing import Any, Literal, get_args

from jinja2 import (
    ChoiceLoader,
    DictLoader,
    FileSystemLoader,
    StrictUndefined,
    TemplateError,
    TemplateNotFound,
    TemplateSyntaxError,
)
from jinja2.sandbox import ImmutableSandboxedEnvironment

from kernellab.core.errors import UsageError
from kernellab.core.targets import backends, language, languages
from kernellab.propose.prompts.facts import (
    BaselineFacts,
    Contrast,
    DeviceFacts,
    Experiment,
    Failure,
    KernelFacts,
    Mistake,
    ShapeFacts,
    TaskFacts,
    TestedHypothesis,
    VerifierFacts,
)
from kernellab.propose.prompts.markers import inert

Kind = Literal[
    "select", "design", "write", "repair", "translate", "soft_compile", "soft_memory", "soft_numerics", "improve",
]  # fmt: skip
KINDS: tuple[Kind, ...] = get_args(Kind)
FOLDER = Path(__file__).parent / "templates"
_BYTES_A_TOKEN = 3.0
_NEEDS: dict[Kind, tuple[str, ...]] = {
    "select": ("kernels",), "design": ("base",), "repair": ("base", "failures"), "soft_compile": ("base",),
    "soft_memory": ("base",), "soft_numerics": ("base",), "improve": ("verifier", "mistakes"),
}  # fmt: skip


class TemplateFault(UsageError):
    """A template that does not render; the fix names what it may use."""


class PromptTooLong(UsageError):
    """What may never be left out is longer than the budget."""


@dataclass(frozen=True)
class Brief:
    """Everything one prompt may say. Sequences run from the oldest to the newest.

    `base` is the kernel to be changed, repaired or judged; the last of `failures` is the one to be repaired.
    `verifier` is the soft verifier whose prompt is to be improved, `mistakes` some of what it got wrong.
    With feedback "timing" templates get latencies, speed-ups and the fact of a failure, whatever else is given here.
    """

    task: TaskFacts
    device: DeviceFacts
    backend: str
    kernels: tuple[KernelFacts, ...] = ()
    base: KernelFacts | None = None
    reference: KernelFacts | None = None
    contrasts: tuple[Contrast, ...] = ()
    findings: tuple[TestedHypothesis, ...] = ()
    failures: tuple[Failure, ...] = ()
    experiment: Experiment | None = None
    wanted: int = 4
    pytorch: str = ""
    verifier: VerifierFacts | None = None
    mistakes: tuple[Mistake, ...] = ()
    feedback: Literal["full", "timing"] = "full"
    baselines: tuple[BaselineFacts, ...] = ()


@dataclass(frozen=True)
class Prompt:
    """`dropped` says what was left out to keep the budget, in the order in which it went."""

    kind: Kind
    system: str
    user: str
    tokens: int
    dropped: tuple[str, ...] = ()


def estimate_tokens(text: str) -> int:
    """Tokens without a tokeniser: three UTF-8 bytes each, more than code (about 3.3) and prose (about 4.3) take."""
    return -int(-len(text.encode("utf-8", "replace")) // _BYTES_A_TOKEN)


class PromptBook:
    """The built-in templates, those of `folder` that have the same names, and over both `texts` by name."""

    def __init__(self, folder: Path | None = None, texts: Mapping[str, str] = MappingProxyType({})) -> None:
        self._folder = folder
        own = sorted(path.name for path in FOLDER.glob("*.j2"))
        if folder is not None:
            _check_folder(folder, own)
        places = (folder, FOLDER, *(found.prompts for found in languages()))
        folders = [FileSystemLoader(str(f)) for f in places if f is not None]
        self._loader = ChoiceLoader([DictLoader(texts), *folders])
        self._templates = ImmutableSandboxedEnvironment(
            loader=self._loader, undefined=StrictUndefined, finalize=_printed, autoescape=False,
            trim_blocks=True, lstrip_blocks=True, keep_trailing_newline=True,
        )  # fmt: skip
        self._templates.filters.update(
            fenced=_fenced, numbered=_numbered, params=_params, first_line=_first_line, floor_us=_floor_us
        )

    def render(self, kind: Kind, brief: Brief, budget: int | None = None) -> Prompt:
        """The prompt, with `budget` tokens at most.

        What goes first where it is too long: previous kernels, findings, contrasts, failures and mistakes but the last,
        each from the oldest on, then the divergent reference. Task, device, base kernel, experiment and format rules
        never go.
        """
        missing = [name for name in _NEEDS.get(kind, ()) if not getattr(brief, name)]
        if missing:
            raise ValueError(f"a {kind} prompt needs {' and '.join(missing)}")
        shown = _timing_only(brief) if brief.feedback == "timing" else brief
        shown = shown if kind == "select" else _without_repetition(shown)
        system = self._text("system.j2", shown)
        room = None if budget is None else budget - estimate_tokens(system)
        user, dropped = self._fitting(f"{kind}.j2", shown, room)
        return Prompt(kind, system, user, estimate_tokens(system) + estimate_tokens(user), dropped)

    def source(self, kind: Kind) -> str:
        """The text of a kind's own template."""
        return self._loader.get_source(self._templates, f"{kind}.j2")[0]

    def check(self, task: TaskFacts, device: DeviceFacts, backend: str) -> None:
        """Render every template once, so that a bad one is found before anything is paid for."""
        for kind in KINDS:
            self.render(kind, _sample(task, device, backend))

    def _fitting(self, name: str, brief: Brief, room: int | None) -> tuple[str, tuple[str, ...]]:
        """Bisection over the fixed order of what may go: a handful of renderings, however much there is."""
        text = self._text(name, brief)
        if room is None or estimate_tokens(text) <= room:
            return text, ()
        steps = _expendable(brief)
        least = self._text(name, _without(brief, steps))
        if estimate_tokens(least) > room:
            raise PromptTooLong(
                f"{name}: what may not be left out takes {estimate_tokens(least)} tokens, {max(room, 0)} are left",
                "raise the budget of a prompt, or shorten the template",
            )
        low, high, best = 0, len(steps), least  # `low` steps are too few, `high` are enough
        while high - low > 1:
            middle = (low + high) // 2
            text = self._text(name, _without(brief, steps[:middle]))
            if estimate_tokens(text) <= room:
                high, best = middle, text
            else:
                low = middle
        return best, tuple(label for label, _ in steps[:high])

    def _text(self, name: str, brief: Brief) -> str:
        known = {f.name: getattr(brief, f.name) for f in fields(brief)}
        known |= {"written": language(brief.backend).written, "backends": backends()}
        try:
            return _tidy(self._templates.get_template(name).render(known))
        except RecursionError:
            raise TemplateFault(f"prompt template {name} includes itself", "break the circle") from None
        except Exception as err:  # noqa: BLE001  templates may be the user's: say where they failed
            raise self._fault(name, err, list(known)) from None

    def _fault(self, name: str, err: Exception, known: list[str]) -> TemplateFault:
        line, where = _place(err, name)
        if isinstance(err, TemplateNotFound):
            names = self._templates.list_templates()
            return TemplateFault(
                f"prompt template {where}: there is no template '{err.name}'", _near(str(err.name), names)
            )
        said = err.message if isinstance(err, TemplateError) and err.message else f"{type(err).__name__}: {err}"
        source = "" if self._folder is None or not (self._folder / where).is_file() else f" (in {self._folder})"
        what = f"prompt template {where}{source}, line {line}: {_plain(said)}"
        if isinstance(err, TemplateSyntaxError):
            return TemplateFault(what, "correct the Jinja2 syntax of that line")
        return TemplateFault(what, _remedy(said, known))


def _check_folder(folder: Path, own: list[str]) -> None:
    if not folder.is_dir():
        raise UsageError(f"{folder} is no folder", "give a folder with templates such as write.j2")
    for path in sorted(folder.glob("*.j2")):
        if path.name not in own and difflib.get_close_matches(path.name, own, 1, 0.8):
            raise UsageError(f"{path} replaces no template", _near(path.name, own))


def _place(err: Exception, name: str) -> tuple[int, str]:
    """Line and template of an error: from the error itself, or the innermost frame that Jinja2 maps to a template."""
    if isinstance(err, TemplateSyntaxError):
        return err.lineno, err.name or name
    frames = [f for f in traceback.extract_tb(err.__traceback__) if f.filename.endswith(".j2")]
    return (frames[-1].lineno or 0, Path(frames[-1].filename).name) if frames else (0, name)


def _plain(said: str) -> str:
    return " ".join(said.replace("kernellab.propose.prompts.facts.", "").split())[:300]


def _remedy(said: str, known: list[str]) -> str:
    """The nearest name that exists: a variable, or a field of the facts."""
    quoted = said.split("'")[-2] if said.count("'") >= 2 else ""
    facts = (TaskFacts, DeviceFacts, KernelFacts, Contrast, TestedHypothesis, Experiment, Failure)
    attributes = {f.name for kind in facts for f in fields(kind)} | {"backend", "signature", "is_gpu"}
    if "is undefined" in said:
        return _near(said.split("'")[1] if "'" in said else "", known)
    return _near(quoted, sorted(attributes)) if "has no attribute" in said else f"templates may use {', '.join(known)}"


def _near(name: str, names: list[str]) -> str:
    close = difflib.get_close_matches(name, names, 1)
    return (f"did you mean '{close[0]}'? " if close else "") + f"there are {', '.join(names)}"


def _without_repetition(brief: Brief) -> Brief:
    """Base and reference have their own place in the prompt."""
    own = {k.id for k in (brief.base, brief.reference) if k is not None}
    return replace(brief, kernels=tuple(k for k in brief.kernels if k.id not in own))


def _expendable(brief: Brief) -> list[tuple[str, str]]:
    """What may be left out, in order: a label for the record and the field it goes from."""
    steps = [(f"kernel {k.id}", "kernels") for k in brief.kernels]
    steps += [(f"finding: {f.claim[:60]}", "findings") for f in brief.findings]
    steps += [(f"contrast {c.faster} / {c.slower}", "contrasts") for c in brief.contrasts]
    steps += [(f"failure: {f.cause[:60]}", "failures") for f in brief.failures[:-1]]
    steps += [(f"mistake: {m.said[:60]}", "mistakes") for m in brief.mistakes[:-1]]
    return steps + ([(f"reference {brief.reference.id}", "reference")] if brief.reference is not None else [])


def _without(brief: Brief, steps: list[tuple[str, str]]) -> Brief:
    counts: dict[str, int] = {}
    for _, name in steps:
        counts[name] = counts.get(name, 0) + 1
    cut: dict[str, Any] = {n: getattr(brief, n)[count:] for n, count in counts.items() if n != "reference"}
    if "reference" in counts:
        cut["reference"] = None
    return replace(brief, **cut)


def _timing_only(brief: Brief) -> Brief:
    """Taken out before any template sees it, so that no template of a user's can show it either."""

    def bare(kernel: KernelFacts) -> KernelFacts:
        status = kernel.status if kernel.status in ("measured", "untried") else "failed"
        return replace(
            kernel,
            status=status,
            of_floor=None,
            registers=None,
            spill_bytes=None,
            shared_bytes=None,
            reason="",
            bound="",
            loop="",
        )

    return replace(
        brief,
        kernels=tuple(map(bare, brief.kernels)),
        base=None if brief.base is None else bare(brief.base),
        reference=None if brief.reference is None else bare(brief.reference),
        contrasts=tuple(replace(c, deltas={}) for c in brief.contrasts),
        mistakes=tuple(replace(m, truth="") for m in brief.mistakes),
        failures=tuple(Failure(f.stage if f.stage == "format" else "measure", "failed", "") for f in brief.failures),
    )


def _sample(task: TaskFacts, device: DeviceFacts, backend: str) -> Brief:
    kernel = KernelFacts("trial 1", "def launch(): ...", {"A": 1}, "untried")
    experiment = Experiment("h", "c", 1.0, 1.1, "r", "f")
    failure = Failure("build", "error", "line 1")
    return Brief(
        task, device, backend, (replace(kernel, id="trial 0"),), kernel, replace(kernel, id="trial 2"),
        findings=(TestedHypothesis("claim", "held", None, (1,), device.name),), failures=(failure, failure),
        experiment=experiment, pytorch="def f(x): return x",
        verifier=VerifierFacts("soft_numerics", "text", "right on 1 of 2"),
        mistakes=(Mistake(task, kernel.source, kernel.params, "pass", True, "wrong-output"),),
    )  # fmt: skip


def _printed(value: Any) -> str:
    """Whatever a template prints is data: markers in it are made harmless."""
    return inert(str(value))


def _fenced(text: str, language: str = "") -> str:
    """A code block whose fence is longer than any run of backticks inside."""
    longest = max(map(len, re.findall("`+", text)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}{language}\n{text.strip(chr(10))}\n{fence}"


def _numbered(text: str) -> str:
    return "\n".join(f"L{i:<4} {line}" for i, line in enumerate(text.splitlines(), 1))


def _params(params: dict[str, Any]) -> str:
    return ", ".join(f"{k}={v!r}" for k, v in params.items())


def _first_line(text: str) -> str:
    return text.strip().split("\n", 1)[0]


def _floor_us(shape: ShapeFacts, device: DeviceFacts) -> float:
    """About the least microseconds for a call: memory at copy speed or arithmetic, whichever is slower."""
    memory = shape.megabytes / (device.copy_gb_per_s or float("inf")) * 1e3
    return max(memory, shape.gigaflops / (device.gflops or float("inf")) * 1e6)


def _tidy(text: str) -> str:
    """At most one empty line in a row outside of code blocks, whose line numbers count."""
    kept: list[str] = []
    fence = ""
    for line in text.strip().split("\n"):
        if fence:
            fence = "" if line == fence else fence
        elif line.startswith("```"):
            fence = "`" * (len(line) - len(line.lstrip("`")))
        elif not line.strip() and not kept[-1].strip():
            continue
        kept.append(line)
    return "\n".join(kept) + "\n"
