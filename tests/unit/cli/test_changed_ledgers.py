"""A ledger in which somebody changed one line: every command says so in words, with an exit code of its own."""

from __future__ import annotations

import json
import os
import random
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import typer.main

from kernellab.cli import app as cli
from kernellab.core.errors import KlabError
from kernellab.core.ids import canonical_json
from kernellab.ledger.journal import Ledger, read_entries
from kernellab.ledger.keys import load_or_create_key

RUNS = Path(__file__).parents[3] / "runs"
PLAIN, STUDY = RUNS / "h200" / "softmax-bf16-quick", RUNS / "h200-studies" / "K1"
TIMES = int(os.environ.get("KLAB_TEST_CHANGES", "2"))
"""Changes for each way to change a ledger and each run; a hundred and more have been tried."""

COMMAND = typer.main.get_command(cli.app)
Lines = list[bytes]
Main = Callable[..., tuple[int, str, str]]
COMMANDS: dict[str, list[str]] = {
    "show": ["show", "RUN"], "show --json": ["show", "RUN", "--json"], "show --trial": ["show", "RUN", "--trial", "0"],
    "audit": ["audit", "RUN"], "best": ["best", "RUN"], "select": ["select", "RUN"], "replay": ["replay", "RUN", "0"],
    "prune": ["prune", "RUN"], "explain": ["explain", "RUN"], "results": ["results", "RUN", "--out", "page.md"],
    "paper": ["paper", "RUN", "--out", "paper"], "study show": ["study", "show", "RUN"], "study list": ["study", "list", "RUN"],
    "analyse": ["analyse", "RUN"], "certify": ["certify", "RUN", "0"], "review list": ["review", "list", "RUN"],
    "resume": ["resume", "RUN", "--json"],
}  # fmt: skip


@pytest.fixture
def main(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> Main:
    """klab in this process: any error that is none of its own comes through."""
    monkeypatch.setenv("KLAB_HOME", str(tmp_path / "home"))
    monkeypatch.chdir(tmp_path)

    def run(*arguments: str) -> tuple[int, str, str]:
        try:
            code, fault = COMMAND.main(arguments, "klab", standalone_mode=False), None
        except KlabError as error:
            code, fault = error.exit_code, error
        told = f"{fault.what} {fault.fix}" if fault else ""
        return code or 0, capsys.readouterr().out, told

    return run


def inner(value: Any, rng: random.Random) -> tuple[Any, Any]:
    """Some place inside a record: the dictionary or list, and its key."""
    key = rng.choice(list(value) if isinstance(value, dict) else range(len(value)))
    deeper = isinstance(value[key], (dict, list)) and value[key] and rng.random() < 0.7
    return inner(value[key], rng) if deeper else (value, key)


def rename_key(record: dict[str, Any], rng: random.Random) -> None:
    place, key = inner(record, rng)
    if isinstance(place, dict):
        place[key[:1].upper() + key[1:] + "x"] = place.pop(key)


def delete_key(record: dict[str, Any], rng: random.Random) -> None:
    place, key = inner(record, rng)
    del place[key]


def change_type(record: dict[str, Any], rng: random.Random) -> None:
    place, key = inner(record, rng)
    place[key] = rng.choice([v for v in (None, "x", -7, 10**30, 0.5, [], {}, True, [1], {"a": 1}) if v != place[key]])


def in_a_line(change: Callable[[dict[str, Any], random.Random], None]) -> Callable[[Lines, random.Random], Lines]:
    def changed(lines: Lines, rng: random.Random) -> Lines:
        at = rng.randrange(len(lines))
        record = json.loads(lines[at])
        change(record, rng)
        return [*lines[:at], canonical_json(record) + b"\n", *lines[at + 1 :]]

    return changed


def drop_line(lines: Lines, rng: random.Random) -> Lines:
    at = rng.randrange(len(lines))
    return lines[:at] + lines[at + 1 :]


def swap_lines(lines: Lines, rng: random.Random) -> Lines:
    a, b = rng.sample(range(len(lines)), 2)
    swapped = list(lines)
    swapped[a], swapped[b] = lines[b], lines[a]
    return swapped


def truncate(lines: Lines, rng: random.Random) -> Lines:
    whole = b"".join(lines)
    return [whole[: rng.randrange(len(whole))]]


CHANGES: dict[str, Callable[[Lines, random.Random], Lines]] = {
    "rename": in_a_line(rename_key), "delete": in_a_line(delete_key), "type": in_a_line(change_type),
    "drop": drop_line, "swap": swap_lines, "truncate": truncate,
}  # fmt: skip


def copy(source: Path, to: Path) -> Path:
    """Records alone: the store is not looked at before the chain is."""
    to.mkdir()
    for name in ("ledger.jsonl", "heads.jsonl"):
        shutil.copyfile(source / name, to / name)
    (to / "artifacts").symlink_to(source / "artifacts")
    return to


@pytest.mark.heavy
@pytest.mark.sample(4)
@pytest.mark.parametrize("way", CHANGES)
@pytest.mark.parametrize("source", [PLAIN, STUDY], ids=["run", "study"])
def test_no_command_breaks_on_a_changed_ledger(source: Path, way: str, main: Main, tmp_path: Path) -> None:
    rng = random.Random(f"{way} {source.name}")
    whole = (source / "ledger.jsonl").read_bytes().splitlines(keepends=True)
    for time in range(TIMES):
        folder = copy(source, tmp_path / f"run{time}")
        changed = b"".join(CHANGES[way](whole, rng))
        if changed == b"".join(whole):
            continue
        (folder / "ledger.jsonl").write_bytes(changed)
        for name, arguments in COMMANDS.items():
            code, out, err = main(*(str(folder) if a == "RUN" else a for a in arguments))
            if name == "show":
                assert (code, "NOT SOUND" in out) == (5, True)
            elif name == "show --json":
                assert code == 5
                assert json.loads(out.splitlines()[-1])["status"] == "unsound"
            elif name in (
                "audit",
                "best",
                "select",
                "replay",
                "prune",
                "explain",
                "results",
                "paper",
                "analyse",
                "certify",
            ):
                assert code == 5, (name, out, err)
                assert "klab audit" in err or name == "audit", (name, err)
            elif name == "study show":
                assert "NOT SOUND" in out + err or "holds no study" in err, (name, out, err)


@pytest.mark.sample(2)
@pytest.mark.parametrize("way", ["rename", "delete", "type"])
@pytest.mark.parametrize("source", [PLAIN, STUDY], ids=["run", "study"])
def test_no_command_breaks_on_records_of_another_version(source: Path, way: str, main: Main, tmp_path: Path) -> None:
    """Signed as they are, and yet not what this version writes."""
    rng = random.Random(f"{way} {source.name} signed")
    change = {"rename": rename_key, "delete": delete_key, "type": change_type}[way]
    bodies = [(e.kind, dict(e.body)) for e in read_entries(source)]
    for time in range(TIMES):
        at = rng.randrange(len(bodies))
        body = json.loads(json.dumps(bodies[at][1]))
        change(body, rng)
        folder = tmp_path / f"run{time}"
        entries = [*bodies[:at], (bodies[at][0], body), *bodies[at + 1 :]]
        with Ledger.create(folder, entries[0][1], load_or_create_key()) as ledger, ledger.batch():
            for kind, record in entries[1:]:
                ledger.append(kind, record)
        (folder / "artifacts").symlink_to(source / "artifacts")
        for name, arguments in COMMANDS.items():
            if name not in ("prune", "resume", "replay", "paper"):  # they go on where the change does not matter
                main(*(str(folder) if a == "RUN" else a for a in arguments))


@pytest.mark.heavy
def test_the_audit_of_a_paper_does_not_break_on_a_changed_ledger(main: Main, tmp_path: Path) -> None:
    assert main("paper", str(PLAIN), "--out", "paper")[0] == 0
    for old, new in ((b'"params"', b'"Params"'), (b'"latency_s"', b'"Latency_s"'), (b'"dims"', b'"Dims"')):
        folder = copy(PLAIN, tmp_path / f"run-{new.decode()}")
        (folder / "ledger.jsonl").write_bytes((PLAIN / "ledger.jsonl").read_bytes().replace(old, new))
        code, out, _ = main("audit", "paper/paper.json", "--run", str(folder))
        assert code == 5, out
