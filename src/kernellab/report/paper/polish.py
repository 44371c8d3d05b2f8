"""A language model may put a paragraph better; it may not change what it says.

Only links may change (articles, pronouns, auxiliaries, a few prepositions), and where sentences end; a sentence that denies
something may not change at all. Every number with its unit, every recorded name, every other word and sign must stand in the
polished paragraph as it does in the plain one, in the same order, and none may be new. Else the plain one stays and the
refusal is reported.
"""

from __future__ import annotations

import random
import re
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from kernellab.ledger.kinds import EntryKind
from kernellab.ledger.store import Store
from kernellab.propose.models import (
    Account,
    Budget,
    Journal,
    Message,
    Model,
    ModelFault,
    Policy,
    Recorded,
    Request,
    load_prices,
    open_model,
)
from kernellab.propose.models.journal import CALL
from kernellab.report.paper.claims import MARK, Claim
from kernellab.report.paper.document import Block, Polish, resolved
from kernellab.report.paper.wording import DENIAL, said

_SYSTEM = (
    "You edit one paragraph of a technical report for flow. You may change articles, pronouns, auxiliary verbs, the words "
    "'in', 'on', 'at', 'with', 'for', 'and', 'but', 'while', and where sentences begin and end. Leave sentences with 'no', "
    "'not', 'none' or another negation exactly as they are. Keep every other word, "
    "number, unit, name and citation mark exactly as it is and in the same order. Add none. Reply with the paragraph alone."
)
_LONGEST = 2400


@dataclass
class Polisher:
    """Asks a model paragraph by paragraph within a budget; `seed` steers only the waits between attempts."""

    model: Model
    name: str
    budget: Budget = field(default_factory=lambda: Budget(calls=80, tokens=200_000))
    policy: Policy = field(default_factory=Policy)
    seed: int = 0

    def polish(self, blocks: Sequence[Block], claims: Mapping[str, Claim]) -> tuple[list[Block], Polish]:
        """The first fault that needs a person ends the polishing: raised if nothing was polished yet, else reported."""
        calls: list[dict[str, Any]] = []
        done, refused, kept = list(blocks), [], 0
        with tempfile.TemporaryDirectory() as aside:
            asked = self._recorded(Path(aside), calls)
            for at, block in enumerate(blocks):
                if block.kind != "paragraph":
                    continue
                try:
                    text = asked.complete(self._request(block, claims, at)).text.strip()
                except ModelFault as fault:
                    refused.append(f"{block.id}: {fault.reason}")
                    if fault.stops and kept == 0 and len(refused) == 1:
                        raise
                    if fault.stops:
                        break
                    continue
                marked, why = attach(text, block.text, claims)
                if why:
                    refused.append(f"{block.id}: {why}")
                else:
                    done[at] = block.model_copy(update={"text": marked, "plain": block.text})
                    kept += 1
        return done, Polish(model=self.name, kept=kept, refused=refused, calls=calls)

    def _recorded(self, aside: Path, calls: list[dict[str, Any]]) -> Recorded:
        """Calls are journalled as a run's are; the outcomes go into the claims file, not into the run's ledger."""

        def append(kind: EntryKind[Any], record: Any) -> None:
            if kind is CALL:
                calls.append(kind.plain(record))

        account = Account(self.budget, load_prices())
        return Recorded(self.model, Journal(Store(aside), append), account, random.Random(self.seed), self.policy)

    def _request(self, block: Block, claims: Mapping[str, Claim], call: int) -> Request:
        shown = with_citations(block.text, claims)
        return Request(model=self.name, system=_SYSTEM, messages=(Message(role="user", content=shown),),
                       max_tokens=1024, temperature=None, call=call)  # fmt: skip


def with_citations(text: str, claims: Mapping[str, Claim]) -> str:
    """The paragraph as a model sees it: claims printed, citations as [@key]."""
    return resolved(re.sub(r"⟦@(\w+)⟧", r"[@\1]", text), claims).replace("`", "")


def attach(text: str, plain: str, claims: Mapping[str, Claim]) -> tuple[str, str]:
    """The polished text with its claims as marks again, or why it is refused."""
    if not text or len(text) > _LONGEST:
        return "", "the reply is empty or too long"
    if any(sign in text for sign in "⟦⟧"):
        return "", "the reply holds signs of the paper's own marks"
    marked = re.sub(r"\[@(\w+)\]", r"⟦@\1⟧", " ".join(text.split()).replace("`", ""))
    wanted = [claims[name] for name in MARK.findall(plain)]
    at = 0
    for claim in wanted:
        found = _find(marked, claim.printed, at)
        if found < 0:
            return "", f"'{claim.printed}' is missing or out of its place"
        marked = marked[:found] + claim.mark + marked[found + len(claim.printed) :]
        at = found + len(claim.mark)
    return (marked, "") if not (why := mismatch(marked, plain)) else ("", why)


def mismatch(polished: str, plain: str) -> str:
    """What the polished text says otherwise than the plain one; the check that an audit repeats."""
    new, old = said(polished), said(plain)
    if new == old:
        return ""
    at = next((i for i, (a, b) in enumerate(zip(new, old, strict=False)) if a != b), min(len(new), len(old)))
    got = new[at] if at < len(new) else "nothing"
    want = old[at] if at < len(old) else "nothing more"
    if DENIAL in (got, want) or old[:at].count(DENIAL) % 2:
        return "it changes a sentence that denies something, or makes one"
    return f"it says '{got}' where the facts have '{want}'"


def _find(text: str, printed: str, start: int) -> int:
    """Where the printed text stands as a whole: 1.12 is not found within 11.12 or 1.123."""
    edge = r"(?<![\w.,⟦@])" if printed[0].isalnum() else ""
    tail = r"(?![\w⟧])(?![.,]\d)" if printed[-1].isalnum() else ""
    found = re.compile(edge + re.escape(printed) + tail).search(text, start)
    return found.start() if found else -1


def polisher_of(locator: str, tokens: int) -> Polisher:
    """From what a person writes after --model; makes no call yet."""
    model = open_model(locator)
    name = locator.partition(":")[2].partition("@http")[0]
    return Polisher(model, name, Budget(calls=200, tokens=tokens))
