"""One generalist from several specialists: their base, taught what they wrote and the judge rewarded, by the code of `sft`.

What is taught is settled, and written down, before the first step: a distillation that was stopped goes on with the same
lessons, or is refused.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from kernellab.core.errors import UsageError
from kernellab.core.files import read_plain, write_file
from kernellab.core.ids import digest
from kernellab.learn.lm.model import open_model
from kernellab.learn.lm.rewarded import AuditedLedger, Harvest, Reply, balanced, choose, rewarded
from kernellab.learn.lm.specialists import Specialist, base_of
from kernellab.learn.lm.teach import Teaching, fine_tune, fits, require_trainer
from kernellab.learn.lm.trained import RECORD, Trained, checkpoint_in

CORPUS = "corpus.json"
MOST = 4
"""Replies to a prompt that are taught, at most."""


def distil(
    specialists: Sequence[Specialist], base: Path | None, out: Path, settings: Teaching,
    audited: Callable[[Path], AuditedLedger], most: int = MOST,
) -> Trained:  # fmt: skip
    """`audited`: the audit of a ledger, which refuses in words one that fails it."""
    folder = base_of(specialists, base)
    require_trainer()
    ledgers = {path: audited(path) for one in specialists for path in one.ledgers}
    found = rewarded(specialists, ledgers)
    for owner, one in enumerate(specialists):
        _refuse_unrewarded(one, owner, found, [ledgers[path] for path in one.ledgers])
    opened = open_model(folder)
    too_long = f"longer than {settings.longest} tokens"
    chosen = choose(found, most, lambda lesson: fits(opened, lesson, settings.longest), too_long)
    if not chosen.kept:
        raise UsageError(f"every rewarded reply is {too_long}", "raise --longest")
    taught = balanced(chosen.kept)
    facts = _facts(specialists, ledgers, chosen, taught, most)
    _settle(out, facts)
    return fine_tune("distil", opened, [reply.lesson for reply in taught], out, settings, facts)


def _refuse_unrewarded(one: Specialist, owner: int, found: Harvest, ledgers: Sequence[AuditedLedger]) -> None:
    if any(reply.owner == owner for reply in found.kept):
        return
    why = sum((found.left_out[ledger.root] for ledger in ledgers), Counter())
    told = ", ".join(f"{count} {reason}" for reason, count in why.items()) or "its ledger holds no sample"
    raise UsageError(f"{one.folder} wrote nothing that was rewarded and may be taught: {told}", "leave it out")


def _facts(
    specialists: Sequence[Specialist], ledgers: dict[Path, AuditedLedger], chosen: Harvest, taught: Sequence[Reply],
    most: int,
) -> dict[str, Any]:  # fmt: skip
    """`lessons`: different ones; `rows`: with those that come again for balance."""

    def of(ledger: AuditedLedger) -> dict[str, Any]:
        kept = sum(reply.ledger == ledger for reply in chosen.kept)
        return {"folder": str(ledger.folder), "run": ledger.run, "root": ledger.root, "entries": ledger.entries,
                "replies": kept, "left_out": dict(chosen.left_out[ledger.root])}  # fmt: skip

    told = [
        {
            "folder": str(one.folder), "record": one.training.digest, "ledgers": [of(ledgers[path]) for path in one.ledgers],
            "lessons": sum(reply.owner == owner for reply in chosen.kept),
            "rows": sum(reply.owner == owner for reply in taught),
        }
        for owner, one in enumerate(specialists)
    ]  # fmt: skip
    what = digest([[reply.lesson.prompt, reply.lesson.reply] for reply in taught])
    return {"specialists": told, "most": most, "lessons": len(chosen.kept), "rows": len(taught), "taught": what}


def _settle(out: Path, facts: dict[str, Any]) -> None:
    """The corpus is written down once; what was begun with another is not gone on with."""
    path = out / CORPUS
    if not path.exists():
        if checkpoint_in(out) or (out / RECORD).exists():
            raise UsageError(f"{out} holds another training", "choose another --out")
        out.mkdir(parents=True, exist_ok=True)
        write_file(path, json.dumps(facts, indent=2, sort_keys=True) + "\n")
        return
    try:
        before = json.loads(read_plain(path))["taught"]
    except (OSError, ValueError, KeyError, TypeError):
        before = ""
    if before != facts["taught"]:
        raise UsageError(f"{out} was begun with other lessons ({path} names them)", "choose another --out")
