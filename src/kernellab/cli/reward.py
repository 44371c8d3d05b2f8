"""klab reward: rewards for a trainer's samples, from a file of them or over HTTP."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from kernellab.cli import pages
from kernellab.cli.options import Compiler, Device, Json, SandboxTier, Threads, named, out_option
from kernellab.core.errors import UsageError
from kernellab.core.events import Event
from kernellab.core.settings import load_settings

TOKEN_VARIABLE = "KLAB_REWARD_TOKEN"


def reward(
    task: Annotated[list[str], typer.Option("--task", help="A task: a name, a file, FILE.py:Class; repeatable.")],
    http: Annotated[str | None, typer.Option(help="PORT: serve over HTTP on loopback, behind a token; 0: any.")] = None,
    samples: Annotated[
        Path | None, typer.Option("--samples", parser=named, metavar="FILE", help="Score the samples of a JSONL file.")
    ] = None,
    form: Annotated[str, typer.Option(help="log: 0.3 + log2(1 + s), capped at the floor's; seed: s.")] = "log",
    widest: Annotated[float, typer.Option(min=0.01, help="Widest interval of a speed-up that is rewarded.")] = 0.1,
    backend: Annotated[str, typer.Option(help="The language of replies (default: the device's first).")] = "",
    memory_gb: Annotated[float, typer.Option(min=0.0, help="For shapes that are kept open.")] = 4.0,
    most: Annotated[int, typer.Option(min=1, max=4096, help="Samples in a batch, at most.")] = 256,
    full_share: Annotated[
        float, typer.Option(min=0.0, max=1.0, help="Share of rewarded samples judged in full; 1: every text, once.")
    ] = 0.05,
    effort: Annotated[str, typer.Option("--effort", help="quick, standard or full.")] = "quick",
    device: Device = None,
    threads: Threads = None,
    compiler: Compiler = None,
    sandbox: SandboxTier = None,
    out: Annotated[Path | None, out_option("The run folder; one that exists is gone on with.")] = None,
    as_json: Json = False,
) -> None:
    """Rewards for whole replies of a policy, judged, timed and recorded; with --http for any trainer."""
    from kernellab.learn import RewardTerms, open_service
    from kernellab.search.outcome import default_folder

    if (http is None) == (samples is None):
        raise UsageError("say where samples come from", "--http PORT to serve them, or --samples FILE.jsonl")
    if form not in ("log", "seed"):
        raise UsageError(f"there is no form '{form}'", "log or seed")
    flags = {"effort": effort, "device": device, "threads": threads, "compiler": compiler, "sandbox": sandbox}
    settings = load_settings(flags)
    memory = int(memory_gb * (1 << 30))
    terms = RewardTerms(task, settings, form, widest, backend, memory, most, full_share)  # type: ignore[arg-type]
    folder = out or default_folder("reward")
    given = _read(samples) if samples is not None else []
    listening = _listening(http) if http is not None else None
    with open_service(terms, folder, _say) as service:
        if listening is not None:
            from kernellab.learn.server import serve

            socket, token = listening
            with socket:
                serve(service, socket, token)
            return
        _scored(service, given, most, as_json)


def _say(event: Event) -> None:
    if event.kind in ("note", "start"):
        sys.stderr.write(f"klab: {event.text}\n")


def _listening(text: str) -> Any:
    """The port is taken and the token told before tasks are opened, which takes a while."""
    from kernellab.core.loopback import bind, read_address, read_token

    host, port = read_address(text)
    token, fresh = read_token(variable=TOKEN_VARIABLE)
    socket = bind(host, port)
    shown = f"[{host}]" if ":" in host else host
    sys.stderr.write(f"klab: rewards at http://{shown}:{socket.getsockname()[1]}\n")
    sys.stderr.write(f"token: {token}\n" if fresh else f"token: the one in {TOKEN_VARIABLE}\n")
    sys.stderr.flush()
    return socket, token


def _read(path: Path) -> list[dict[str, Any]]:
    """A sample a line; what is wrong with one is told with its line."""
    try:
        lines = path.read_bytes().splitlines()
    except OSError as err:
        raise UsageError(f"{path} cannot be read: {err.strerror}", "give a file with a sample a line") from None
    found = []
    for number, line in enumerate(lines, 1):
        try:
            found.append(json.loads(line.decode("utf-8")))
        except (ValueError, RecursionError) as err:
            raise UsageError(f"{path}, line {number} is not JSON: {str(err)[:120]}", "a sample is an object") from None
    return found


def _scored(service: Any, given: list[dict[str, Any]], most: int, as_json: bool) -> None:
    rows: list[dict[str, Any]] = []
    for first in range(0, len(given), most):
        rows += service.score_plain(given[first : first + most])
        if not as_json:
            for row in rows[first:]:
                told = "masked" if row["reward"] is None else f"{row['reward']:.3f}"
                sys.stdout.write(f"{row['id']}  {told}  {row['why']}\n")
    if as_json:
        pages.print_json({"status": "scored", "run": str(service.folder), "rewards": rows})
