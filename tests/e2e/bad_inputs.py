"""Calls that cannot work, as a table: what is typed, the exit code that is documented for it, and words of the message.

Names in braces are places that `Places` makes: {run} is a recorded run, {cut} and {changed} damaged copies of it, {empty} an empty
folder, {file} a text file, {absent} nothing at all; {cube} a task file, {good} a candidate for it, {out} where nothing is yet.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from tests.support.recorded import CUBE

from .conftest import CANDIDATES, TASK, candidate

USAGE, NOTHING, MACHINE = (2,), (4,), (5,)
COMMANDS = """run check judge build verify bench resume audit anchor prove results paper audit-table prune tune-verifier generate
compile select best explain mcp setup-agent exec reward dataset analyse certify recheck promote export replay show runs tasks init
doctor demo study-run study-new study-show study-list suite-check suite-run suite-report review-list review-accept
review-reject learn-sft learn-grpo learn-distil learn-eval learn-report learn-prior model-fetch view""".split()  # noqa: SIM905
OF_A_RUN = {
    "show": (), "audit": (), "resume": (), "replay": ("0",), "explain": (), "select": (), "results": (), "paper": ("--out", "{out}"),
    "prune": (), "certify": ("0",), "prove": ("0", "--out", "{out}"), "anchor": ("--to", "{out}"), "analyse": (),
    "dataset": ("--out", "{out}"), "best": (), "suite-report": (),
}  # fmt: skip
"""Commands whose first argument is a run folder, with what else they need."""


@dataclass(frozen=True)
class Bad:
    """`codes`: any of them may come, where it depends on the machine which one."""

    arguments: tuple[str, ...]
    codes: tuple[int, ...]
    words: tuple[str, ...]

    @property
    def name(self) -> str:
        return " ".join(self.arguments)[:80]


def _command(name: str) -> tuple[str, ...]:
    return tuple(name.split("-")) if name.split("-")[0] in ("study", "suite", "review", "learn", "model") else (name,)


def _everywhere() -> Iterator[Bad]:
    """The same mistake with every command."""
    for name in COMMANDS:
        yield Bad((*_command(name), "--no-such-option"), USAGE, ("No such option",))
    for name, more in OF_A_RUN.items():
        for place in ("{absent}", "{empty}", "{file}"):
            yield Bad((*_command(name), place, *more), (2, 5), ())


RUN = ("run", "{cube}", "--candidate", "{good}", "--out", "{out}")
VERIFY = ("verify", "{good}", "--task", "{cube}", "--out", "{out}")
JUST = [
    # commands and arguments
    Bad(("rnu", "softmax"), USAGE, ("No such command",)),
    Bad(("run",), USAGE, ("Missing argument",)),
    Bad(("verify", "{good}"), USAGE, ("Missing option", "--task")),
    Bad(("replay", "{run}"), USAGE, ("Missing argument",)),
    Bad(("study", "rnu"), USAGE, ("No such command",)),
    Bad(("run", "softmax", "--out"), USAGE, ("requires an argument",)),
    # tasks
    Bad(("run", "sofmax", "--out", "{out}"), USAGE, ("no task 'sofmax'", "did you mean 'softmax'")),
    Bad(("run", "", "--out", "{out}"), USAGE, ("no task",)),
    Bad(("run", "{absent}.py", "--out", "{out}"), USAGE, ("there is no file",)),
    Bad(("run", "{empty}", "--out", "{out}"), USAGE, ()),
    Bad(("run", "{file}", "--out", "{out}"), USAGE, ()),
    Bad(("run", "lab:no_such", "--out", "{out}"), USAGE, ("no_such",)),
    Bad(("run", "nosuite:thing", "--out", "{out}"), USAGE, ()),
    Bad(("run", "softmax", "--dtype", "f64", "--out", "{out}"), USAGE, ("f64",)),
    Bad(("run", "{cube}", "--dtype", "bf16", "--candidate", "{good}", "--out", "{out}"), USAGE, ("dtype",)),
    Bad(("run", "{cube}:Model", "--out", "{out}"), USAGE, ("Model",)),
    Bad(("check", "{absent}.py"), USAGE, ("there is no file",)),
    Bad(("check", "sofmax"), USAGE, ("softmax",)),
    Bad(("tasks", "--suite", "nowhere"), USAGE, ("nowhere",)),
    Bad(("tasks", "--path", "{absent}"), USAGE, ()),
    Bad(("tasks", "--path", "{empty}"), USAGE, ()),
    # shapes
    Bad(("run", "softmax", "--shape", "1000000000x1000000000", "--out", "{out}"), USAGE, ("GB", "smaller shape")),
    Bad(("run", "softmax", "--shape", "0x4", "--out", "{out}"), USAGE, ("not a shape",)),
    Bad(("run", "softmax", "--shape", "-3x4", "--out", "{out}"), USAGE, ("not a shape",)),
    Bad(("run", "softmax", "--shape", "4", "--out", "{out}"), USAGE, ("not a shape",)),
    Bad(("run", "softmax", "--shape", "M=4", "--out", "{out}"), USAGE, ("not a shape",)),
    Bad(("run", "softmax", "--shape", "M=4,M=4", "--out", "{out}"), USAGE, ("not a shape",)),
    Bad(("run", "softmax", "--shape", "M=1e3,N=4", "--out", "{out}"), USAGE, ("not a shape",)),
    Bad(("run", "softmax", "--shape", "9" * 400 + "x1", "--out", "{out}"), USAGE, ()),
    Bad((*VERIFY, "--shape", "64x64"), USAGE, ("not a shape",)),
    Bad(("bench", "{good}", "--task", "{cube}", "--shape", "", "--out", "{out}"), USAGE, ("not a shape",)),
    # numbers and words of options
    Bad((*RUN, "--threads", "999"), USAGE, ("999 threads are more than",)),
    Bad((*RUN, "--threads", "0"), USAGE, ("greater than or equal to 1",)),
    Bad((*RUN, "--threads", "1.5"), USAGE, ("valid integer",)),
    Bad((*RUN, "--trials", "0"), USAGE, ("--trials",)),
    Bad((*RUN, "--trials", "many"), USAGE, ("valid integer",)),
    Bad((*RUN, "--seconds", "nan"), USAGE, ("finite",)),
    Bad((*RUN, "--seconds", "soon"), USAGE, ("valid number",)),
    Bad((*RUN, "--seed", "-1"), USAGE, ("greater than or equal to 0",)),
    Bad((*RUN, "--effort", "heroic"), USAGE, ("setting 'effort'", "quick")),
    Bad((*RUN, "--device", "tpu"), USAGE, ("setting 'device'",)),
    Bad((*RUN, "--sampler", "astrology"), USAGE, ("sampler",)),
    Bad((*RUN, "--proposer", "nobody"), USAGE, ("there is no proposer 'nobody'",)),
    Bad((*RUN, "--proposer", "replay"), USAGE, ("behind its name",)),
    Bad((*RUN, "--proposer", "replay:{absent}"), (2, 5), ()),
    Bad((*RUN, "--proposer", "scientist"), USAGE, ("needs a model",)),
    Bad((*RUN, "--sandbox", "T9"), USAGE, ("setting 'sandbox'",)),
    Bad((*RUN, "--compiler", "no-such-cc"), USAGE, ("no compiler 'no-such-cc'",)),
    Bad((*RUN, "--compiler", "{file}"), (2, 5), ()),
    Bad((*RUN, "--target", "z80"), (2, 5), ()),
    Bad((*RUN, "--track", "clearml"), USAGE, ("there is no tracker 'clearml'",)),
    Bad((*RUN, "--warm-start", "{empty}"), (2, 5), ("holds no ledger",)),
    Bad((*RUN, "--vram-gb", "-1"), USAGE, ("vram_gb",)),
    Bad((*RUN, "--precision", "fp4"), USAGE, ("fp4",)),
    Bad(("run", "softmax", "--out", ""), USAGE, ("an empty path",)),
    Bad(("run", "{cube}", "--candidate", "{good}", "--out", "{file}"), (2, 5), ()),
    Bad(("run", "{cube}", "--candidate", "{good}", "--out", "{run}"), USAGE, ("already holds a ledger",)),
    # candidates
    Bad(("run", "{cube}", "--out", "{out}"), USAGE, ("no candidates for task 'cube'",)),
    Bad(("run", "{cube}", "--candidate", "{absent}", "--out", "{out}"), USAGE, ("cannot be read",)),
    Bad(("run", "{cube}", "--candidate", "{empty}", "--out", "{out}"), USAGE, ("cannot be read",)),
    Bad(("run", "{cube}", "--candidate", "{binary}", "--out", "{out}"), USAGE, ("cannot be read",)),
    Bad(("run", "{cube}", "--candidate", "{unparsable}", "--out", "{out}"), USAGE, ("unparsable",)),
    Bad(("run", "{cube}", "--candidate", "{endless}", "--out", "{out}"), USAGE, ("endless",)),
    Bad(("run", "softmax", "--shape", "4294967296x4294967296", "--out", "{out}"), USAGE, ("GB", "smaller shape")),
    Bad(("verify", "{absent}", "--task", "{cube}", "--out", "{out}"), USAGE, ("cannot be read",)),
    Bad(("verify", "{unparsable}", "--task", "{cube}", "--out", "{out}"), (2, 4), ()),
    Bad(("verify", "{keyword}", "--task", "{cube}", "--out", "{out}"), (2, 4), ("int",)),
    Bad(("verify", "{plugin}", "--task", "{cube}", "--out", "{out}"), NOTHING, ("-fplugin",)),
    Bad(("verify", "{wrong}", "--task", "{cube}", "--out", "{out}"), NOTHING, ("wrong-output",)),
    Bad(("verify", "{broken}", "--task", "{cube}", "--out", "{out}"), NOTHING, ("error",)),
    Bad((*VERIFY, "--param", "PAD"), USAGE, ("PAD",)),
    Bad((*VERIFY, "--param", "NOPE=1"), USAGE, ("NOPE",)),
    Bad((*VERIFY, "--sanitize"), USAGE, ("--sanitize",)),
    Bad((*VERIFY, "--device", "cuda"), (2, 5), ()),
    Bad(("build", "{good}", "--task", "{cube}", "--ptx"), USAGE, ("--listing",)),
    Bad(("build", "{good}", "--task", "{cube}", "--ptx", "--listing", "{out}"), USAGE, ("neither PTX nor SASS",)),
    Bad(("build", "{good}", "--task", "{cube}", "--target", "z80"), (2, 4, 5), ()),
    Bad(("build", "{broken}", "--task", "{cube}"), NOTHING, ("error",)),
    Bad(("judge", "{good}", "--problem", "{absent}.py"), USAGE, ()),
    # models and budgets
    Bad((*RUN, "--model", "openai:x", "--budget-usd", "1"), USAGE, ("no price is known for 'x'",)),
    Bad((*RUN, "--model", "openai:gpt-4.1", "--budget-usd", "0.0001"), USAGE, ("less than one reply may cost",)),
    Bad((*RUN, "--model", "openai:x", "--budget-tokens", "5"), USAGE, ("less than one reply may take",)),
    Bad((*RUN, "--model", "openai:x", "--budget-calls", "0"), USAGE, ("allows no call",)),
    Bad((*RUN, "--model", "nobody:x"), USAGE, ("nobody:x",)),
    Bad((*RUN, "--model", ":smile:"), USAGE, (":smile:",)),
    Bad((*RUN, "--model", "replay:{absent}"), (2, 5), ()),
    Bad((*RUN, "--budget-usd", "3"), USAGE, ("for a run with a model",)),
    Bad((*RUN, "--templates", "{empty}"), USAGE, ("for a run with a model",)),
    Bad(("run", "softmax", "--dry-run"), USAGE, ("with a model",)),
    Bad((*RUN, "--model", "openai:x", "--templates", "{absent}"), USAGE, ()),
    Bad((*RUN, "--model", "openai:x", "--feedback", "gossip"), USAGE, ("feedback",)),
    Bad((*RUN, "--model", "openai:x", "--backend", "fortran"), USAGE, ("backend",)),
    Bad(("tune-verifier",), USAGE, ()),
    Bad(("tune-verifier", "{absent}", "--model", "openai:x"), USAGE, ()),
    # records
    Bad(("show", "{cut}"), MACHINE, ("truncated",)),
    Bad(("show", "{changed}"), MACHINE, ()),
    Bad(("audit", "{cut}"), MACHINE, ()),
    Bad(("audit", "{changed}"), MACHINE, ()),
    Bad(("resume", "{changed}"), MACHINE, ("is not sound",)),
    Bad(("explain", "{changed}"), MACHINE, ()),
    Bad(("select", "{changed}"), MACHINE, ()),
    Bad(("replay", "{changed}", "0"), MACHINE, ()),
    Bad(("certify", "{changed}", "0"), MACHINE, ()),
    Bad(("best", "{changed}"), MACHINE, ()),
    Bad(("audit", "{run}", "--root", "00" * 32), MACHINE, ("the root is",)),
    Bad(("audit", "{run}", "--key", "xyz"), (2, 5), ()),
    Bad(("audit", "{run}", "--anchor", "{absent}"), (2, 5), ()),
    Bad(("show", "{run}", "--trial", "99"), USAGE, ("no trial 99",)),
    Bad(("show", "{run}", "--trial", "-1"), USAGE, ("no trial -1",)),
    Bad(("show", "{run}", "--status", "splendid"), USAGE, ("splendid",)),
    Bad(("explain", "{run}", "99"), USAGE, ("no trial 99",)),
    Bad(("explain", "{run}", "first"), USAGE, ("valid integer",)),
    Bad(("replay", "{run}", "99"), USAGE, ("no trial 99",)),
    Bad(("replay", "{run}", "--", "-1"), USAGE, ("no trial -1",)),
    Bad(("certify", "{run}", "99"), USAGE, ("no trial 99",)),
    Bad(("certify", "{run}", "0"), USAGE, ("is a foreign run", "{run}")),
    Bad(("prove", "{run}", "99", "--out", "{out}"), USAGE, ("no trial 99",)),
    Bad(("prove",), USAGE, ()),
    Bad(("prove", "--check", "{file}"), (2, 5), ()),
    Bad(("select", "{run}", "-n", "0"), USAGE, ("0 exemplars",)),
    Bad(("select", "{run}", "--scheme", "best"), USAGE, ("no scheme 'best'",)),
    Bad(("select", "{run}", "--tau", "-1"), USAGE, ("tau",)),
    Bad(("resume", "{run}", "--more", "-1"), USAGE, ("--more",)),
    Bad(("anchor", "{changed}", "--to", "{out}"), MACHINE, ()),
    Bad(("recheck", "{absent}"), (2, 5), ()),
    Bad(("recheck", "{file}"), (2, 5), ()),
    Bad(("promote", "{file}"), (2, 5), ()),
    Bad(("export", "{file}", "--out", "{out}"), (2, 5), ()),
    Bad(("export", "{file}", "--as", "fortran", "--out", "{out}"), (2, 5), ()),
    Bad(("review", "accept", "{file}", "--reason", "x"), (2, 5), ()),
    Bad(("review", "accept", "{file}"), USAGE, ("--reason",)),
    Bad(("runs", "{absent}"), USAGE, ()),
    Bad(("runs", "{file}"), (2, 5), ()),
    Bad(("results", "{run}", "--out", "{empty}"), (2, 5), ()),
    Bad(("dataset", "{run}", "--out", "{empty}"), (2, 5), ()),
    Bad(("audit-table", "{absent}"), USAGE, ()),
    Bad(("audit-table", "{binary}"), USAGE, ()),
    Bad(("analyse", "{run}", "--most", "0"), USAGE, ("--most",)),
    # tools, plans, servers
    Bad(("generate", "softmax", "--strategy", "guess", "--workspace", "{out}"), USAGE, ("strategy",)),
    Bad(("generate", "softmax", "--base", "nothing", "--workspace", "{out}"), USAGE, ("nothing",)),
    Bad(("generate", "softmax", "--space", "BLOCK", "--workspace", "{out}"), USAGE, ("names no choices",)),
    Bad(("generate", "softmax", "--space", "BLOCK=", "--workspace", "{out}"), USAGE, ("names no choices",)),
    Bad(("generate", "softmax", "--strategy", "write", "--workspace", "{out}"), USAGE, ("model",)),
    Bad(("compile", "k0123456789abcdef", "--workspace", "{out}"), USAGE, ("no kernel",)),
    Bad(("compile", "{good}", "--workspace", "{out}"), USAGE, ("what this source is for",)),
    Bad(("compile", "{good}", "--task", "{cube}", "--flag", "-fplugin=x.so", "--workspace", "{out}"), NOTHING, ("-fplugin",)),
    Bad(("exec", "{absent}"), USAGE, ()),
    Bad(("exec", "{file}"), USAGE, ()),
    Bad(("exec", "{plan}"), USAGE, ("artefact_dir",)),
    Bad(("mcp", "--http", "0.0.0.0:1"), USAGE, ("not loopback",)),
    Bad(("mcp", "--http", "port"), USAGE, ("is no port",)),
    Bad(("mcp", "--timeout-s", "-1"), USAGE, ("makes no sense",)),
    Bad(("mcp", "--task", "{absent}.py"), USAGE, ("there is no file",)),
    Bad(("setup-agent", "emacs"), USAGE, ("emacs",)),
    Bad(("reward", "--task", "softmax"), USAGE, ()),
    Bad(("reward", "--http", "0"), USAGE, ("--task",)),
    Bad(("reward", "--task", "sofmax", "--http", "0", "--out", "{out}"), USAGE, ("softmax",)),
    Bad(("learn", "sft", "--model", "{empty}", "--data", "{absent}", "--out", "{out}"), USAGE, ("holds no model",)),
    Bad(("learn", "sft", "--model", "{absent}", "--data", "{file}", "--out", "{out}"), USAGE, ("holds no model",)),
    Bad(("learn", "sft", "--model", "{empty}", "--out", "{out}"), USAGE, ("--data",)),
    Bad(("learn", "distil", "{empty}", "--out", "{out}"), USAGE, ("is no specialist",)),
    Bad(("learn", "distil", "{absent}", "--out", "{out}"), USAGE, ("is no specialist",)),
    Bad(("learn", "distil", "{file}", "--out", "{out}"), USAGE, ("is no specialist",)),
    Bad(("learn", "distil", "{run}", "{run}", "--out", "{out}"), USAGE, ("is no specialist",)),
    Bad(("learn", "distil", "{empty}"), USAGE, ("--out",)),
    Bad(("learn", "distil", "{empty}", "--best", "0", "--out", "{out}"), USAGE, ("--best",)),
    Bad(("learn", "report", "{empty}"), USAGE, ("holds neither a model nor rewards",)),
    Bad(("learn", "report", "{absent}"), USAGE, ("holds neither a model nor rewards",)),
    Bad(("learn", "report", "{file}"), USAGE, ("holds neither a model nor rewards",)),
    Bad(("learn", "report", "{run}"), USAGE, ("no rewards",)),
    Bad(("learn", "report", "{changed}"), USAGE, ("does not pass the audit",)),
    Bad(("learn", "prior", "{absent}", "--out", "{out}"), USAGE, ()),
    Bad(("learn", "prior", "{empty}", "--out", "{out}"), USAGE, ()),
    Bad(("run", "softmax", "--proposer", "policy:{absent}", "--out", "{out}"), USAGE, ("cannot be read",)),
    Bad(("run", "softmax", "--proposer", "policy:{file}", "--out", "{out}"), USAGE, ("is no prior",)),
    Bad(("learn", "eval", "--model", "{empty}", "--task", "softmax"), USAGE, ("holds no model",)),
    Bad(("learn", "eval", "--model", "{empty}", "--task", "softmax", "-n", "0"), USAGE, ()),
    Bad(("learn", "grpo", "--model", "{empty}", "--task", "sofmax", "--out", "{out}"), USAGE, ("softmax",)),
    Bad(("learn", "grpo", "--model", "{empty}", "--task", "softmax", "--group", "1", "--out", "{out}"), USAGE, ("--group",)),
    Bad(("model", "fetch", "gpt", "--out", "{out}"), USAGE, ("there is no model 'gpt'",)),
    Bad(("model", "fetch", "smollm2-135m", "--out", "{out}", "--wheel", "{file}"), USAGE, ("does not hold",)),
    Bad(("view", "{absent}"), USAGE, ()),
    Bad(("view", "{empty}", "--port", "70000"), USAGE, ("--port",)),
    # studies, suites, the rest
    Bad(("study", "run", "H999", "--out", "{out}"), USAGE, ("H999",)),
    Bad(("study", "run", "{file}", "--out", "{out}"), USAGE, ()),
    Bad(("study", "show", "H999"), USAGE, ("H999",)),
    Bad(("study", "new", "../x y"), USAGE, ()),
    Bad(("study", "run", "H3", "--other", "{absent}", "--out", "{out}"), USAGE, ()),
    Bad(("suite", "run", "nowhere", "--out", "{out}"), USAGE, ("nowhere",)),
    Bad(("suite", "run", "lab", "--tasks", "no*such", "--out", "{out}"), USAGE, ()),
    Bad(("suite", "run", "lab", "--sample", "0", "--out", "{out}"), USAGE, ("--sample",)),
    Bad(("suite", "run", "lab", "--candidates", "{absent}", "--out", "{out}"), USAGE, ()),
    Bad(("suite", "check", "--path", "{empty}"), USAGE, ()),
    Bad(("suite", "report", "{run}"), (2, 5), ()),
    Bad(("init", "9lives!"), USAGE, ()),
    Bad(("init", ""), USAGE, ()),
    Bad(("doctor", "--gauntlet", "--sample", "-1"), USAGE, ("--sample",)),
    Bad(("doctor", "--gauntlet", "--cheats", "{absent}"), USAGE, ()),
    Bad(("demo", "--out", "{run}"), USAGE, ("is there already",)),
]  # fmt: skip
TABLE = (*_everywhere(), *JUST)


def make_places(folder: Path) -> dict[str, str]:
    """What the names in braces stand for. Nothing in it is changed by a call that fails."""
    folder.mkdir(parents=True, exist_ok=True)
    made = {name: folder / name for name in ("empty", "absent", "out", "cut", "changed")}
    made["empty"].mkdir()
    texts = {
        "file": "just a line of text\n", "unparsable": "def launch(:\n", "cube": TASK, "plan": json.dumps({"artefact_dir": "x"}),
        "endless": candidate(head="import itertools\nSPACE = {'PAD': itertools.count()}"),
        "keyword": candidate(head="SPACE = {'int': [1, 2]}"),
        "plugin": candidate(head="FLAGS = ['-O3', '-fplugin=x.so']"),
        **CANDIDATES,
    }  # fmt: skip
    for name, text in texts.items():
        made[name] = folder / f"{name}.py"
        made[name].write_text(text)
    made["binary"] = folder / "binary.py"
    made["binary"].write_bytes(b"\xff\xfe\x00\x80")
    made["run"] = Path(shutil.copytree(CUBE, folder / "run"))
    shutil.copytree(CUBE, made["cut"])
    lines = (made["cut"] / "ledger.jsonl").read_bytes().splitlines(keepends=True)
    (made["cut"] / "ledger.jsonl").write_bytes(b"".join(lines[:-2]))
    shutil.copytree(CUBE, made["changed"])
    text = (made["changed"] / "ledger.jsonl").read_text()
    (made["changed"] / "ledger.jsonl").write_text(text.replace('"speedup":', '"speedup": ', 1))
    return {name: str(path) for name, path in made.items()}


def spelled(bad: Bad, places: dict[str, str]) -> list[str]:
    return [word.format_map(places) if "{" in word else word for word in bad.arguments]
