"""The tables of a paper, each cell a mark or plain words. A table without rows is not there, and neither is its section."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from difflib import SequenceMatcher

from kernellab.core.errors import LedgerFault
from kernellab.core.records import FailedTrial, RejectedTrial
from kernellab.core.targets import fact_titles
from kernellab.ledger import kinds
from kernellab.measurement.stats import median
from kernellab.propose.models.journal import CALL
from kernellab.report.paper.claims import ClaimBook
from kernellab.report.paper.document import Table
from kernellab.report.paper.facts import Facts, ShapeFacts
from kernellab.report.paper.ledger_prefix import look
from kernellab.search.scientist.notebook import TESTED
from kernellab.studies.judgement import VERDICT
from kernellab.studies.registration import STUDY

_RECIPES, _CAUSES, _STEPS, _HYPOTHESES = 14, 14, 10, 40
_LISTED = 90
_DIFFED = 60
_ALIKE = 0.5
_ACROSS = 5
Row = tuple[str, ...]


def make_tables(book: ClaimBook, facts: Facts) -> dict[str, Table]:
    level = facts.marks["level"]
    made = {
        "asked": Table("What the run was asked for, and on what it ran.", ("what", "recorded"), _asked(book, facts)),
        "results": Table(
            f"Published kernels. Latency: median of the confirmation's pairs. Ratio: median of the paired ratios over the "
            f"named baseline, with its {level} interval. Floor: the least time that the measured ceilings allow.",
            ("shape", f"latency, {facts.unit}", "GB/s", "of floor, %", f"ratio [{level}]", "over", "l_inf", "ULP",
             "pairs", "entry"), _results(facts)),
        "kernels": Table("The kernels behind these figures.", ("shape", "kernel", "parameters", "trial"), _kernels(facts)),
        "baselines": _baselines(book, facts),
        "trials": Table("Trials by outcome.", ("shape", "trials", "measured", "rejected", "failed", "duplicate", "busy"),
                        tuple(_trials(book, facts))),
        "recipes": Table("What was tried, best first: trials of each kernel, and the highest median ratio that one of them "
                         "reached while searching (not a confirmed figure).",
                         ("kernel", "trials", "measured", "highest ratio in the search"), tuple(_recipes(book))),
        "lineage": Table("How the best kernels were reached: each trial's lower bound lies above all before it.",
                         ("shape", "trial", "kernel", "changed against the step before", "ratio in the search"),
                         tuple(_lineage(book, facts))),
        "negative": Table("Why trials were rejected or failed, with one example each.",
                          ("outcome", "trials", "example", "reason", "entry"), tuple(_negative(book))),
        "hypotheses": Table("Hypotheses on record before their trials, and what became of them.",
                            ("hypothesis", "predicted", "observed", "values", "verdict", "entry"), tuple(_hypotheses(book))),
        "costs": Table("What the run cost.", ("what", "recorded"), tuple(_costs(book, facts))),
        "environment": Table("The recorded environment.", ("what", "recorded"), tuple(_environment(book))),
    }  # fmt: skip
    return {name: table for name, table in made.items() if table.rows}


def make_codes(book: ClaimBook, facts: Facts) -> dict[str, str]:
    """Source of the headline kernel, and the diff to the step before where the two are versions of one text. A study has
    none: it looks for no best kernel."""
    shape = facts.headline
    if shape is None or shape.best is None or facts.has["study"]:
        return {}
    codes: dict[str, str] = {}
    try:
        codes["source"] = book.mint("source", [shape.best], "lines", most=_LISTED)
        steps = [s for s in shape.lineage if _text(book, s) != _text(book, shape.best)]
        if steps and SequenceMatcher(None, _text(book, steps[-1]), _text(book, shape.best)).ratio() > _ALIKE:
            codes["diff"] = book.mint("diff", [steps[-1], shape.best], "lines", most=_DIFFED)
    except LedgerFault:  # a source that was pruned, on the record: the paper says so among its limitations
        return codes
    return codes


def _text(book: ClaimBook, seq: int) -> str:
    return book.evidence.source(book.evidence.trial_at(seq))


def _asked(book: ClaimBook, facts: Facts) -> tuple[Row, ...]:
    rows = [("task", facts.task), *((("shape", s.label)) for s in facts.shapes)]
    rows += [("device", facts.device), ("purpose", book.field(0, "purpose"))]
    named = {"effort": "words", "sampler": "words", "seed": "id", "win_floor": "number", "threads": "id"}
    if studies := book.evidence.of(STUDY):
        rows.append(("seeds, a replicate each", book.mint("listed", [studies[-1].seq], "words", path="seeds")))
        named = {"effort": "words", "threads": "id"}
    rows += [(name.replace("_", " "), book.field(0, f"settings.{name}", form)) for name, form in named.items()]
    for name in ("trials", "seconds", "gpu_seconds"):
        if getattr(book.evidence.genesis.settings, name):
            rows.append((f"limit of {name.replace('_', ' ')}", book.field(0, f"settings.{name}", "number")))
    return tuple(rows)


def _results(facts: Facts) -> tuple[Row, ...]:
    rows = []
    for shape in facts.shapes:
        c = shape.confirmed
        if c is None:
            continue
        ratio = f"{c.ratio} [{c.low}, {c.high}]" + ("" if c.win else " (no win)")
        rows.append((shape.label, c.latency, c.gbps, c.of_floor, ratio, c.baseline, c.error, c.ulp, c.pairs, c.entry))
    return tuple(rows)


def _kernels(facts: Facts) -> tuple[Row, ...]:
    return tuple((s.label, c.kernel, c.params, c.trial) for s in facts.shapes if (c := s.confirmed))


def _baselines(book: ClaimBook, facts: Facts) -> Table:
    """Baselines down, shapes across while they fit; many shapes go down instead."""
    unit = "ms" if facts.unit == "ms" else "us"
    which = "last calibration" if facts.has["study"] else "calibration"
    caption = f"Baselines in the {which} of each shape, {facts.unit} a call (median). The fastest is the one to beat."
    columns: list[tuple[str, int, dict[str, str]]] = []
    for shape in facts.shapes:
        seq = shape.confirmed.calibration if shape.confirmed else shape.shape.calibration
        if seq is not None:
            found = {n: book.mint("calibrated_latency", [seq], unit, name=n) for n in _fastest_first(book, seq)}
            columns.append((shape.label, seq, found))
    if len(columns) > _ACROSS:
        rows = [(label, _name(book, seq, name), mark, book.mint("entry", [seq], "id"))
                for label, seq, found in columns for name, mark in found.items()]  # fmt: skip
        return Table(caption, ("shape", "baseline", f"latency, {facts.unit}", "entry"), tuple(rows))
    names = list(dict.fromkeys(name for _, _, found in columns for name in found))
    down = []
    for name in names:
        seq = next(s for _, s, found in columns if name in found)
        cells = [found.get(name, "did not run") + _star(book, s, name) for _, s, found in columns]
        down.append((_name(book, seq, name), *cells))
    if down:
        down.append(("entry", *(book.mint("entry", [seq], "id") for _, seq, _ in columns)))
    return Table(caption, ("baseline", *(label for label, _, _ in columns)), tuple(down))


def _fastest_first(book: ClaimBook, seq: int) -> list[str]:
    baselines = book.evidence.at(kinds.CALIBRATION, seq).baselines
    return sorted(baselines, key=lambda name: median(baselines[name][0]))


def _star(book: ClaimBook, seq: int, name: str) -> str:
    return " (fastest)" if book.evidence.at(kinds.CALIBRATION, seq).fastest == name else ""


def _name(book: ClaimBook, seq: int, name: str) -> str:
    return book.mint("key", [seq], "code", path="baselines", name=name)


def _trials(book: ClaimBook, facts: Facts) -> Iterator[Row]:
    for shape in facts.shapes:
        where = {"task": shape.shape.task, "dims": shape.shape.dims}
        if not shape.shape.trials:
            continue
        counts = [book.count("trial", {**where, "status": s}) for s in ("measured", "rejected")]
        failed = book.mint("failed", _failed(book, shape), "whole", dims=shape.shape.dims, task=shape.shape.task)
        others = [book.count("trial", {**where, "status": s}) for s in ("duplicate", "busy")]
        yield shape.label, book.count("trial", where), *counts, failed, *others


def _failed(book: ClaimBook, shape: ShapeFacts) -> list[int]:
    return [s for s in shape.shape.trials if book.evidence.trial_at(s).status in ("invalid", "build-failed")]


def _recipes(book: ClaimBook) -> Iterator[Row]:
    ev = book.evidence
    seqs: dict[str, list[int]] = {}
    for entry in ev.of(kinds.TRIAL):
        seqs.setdefault(entry.record.proposal.name, []).append(entry.seq)
    measured = {name: [s for s in found if s in ev.timings] for name, found in seqs.items()}
    best = {name: max((ev.timings[s].speedup for s in found), default=0.0) for name, found in measured.items()}
    for name in sorted(seqs, key=lambda n: (-best[n], n))[:_RECIPES]:
        where = {"proposal.name": name}
        ratio = book.mint("extreme", measured[name], "number3", of="ratio", which="max") if measured[name] else "none"
        yield (
            book.field(seqs[name][0], "proposal.name", "code"),
            book.count("trial", where),
            book.count("trial", {**where, "status": "measured"}),
            ratio,
        )


def _lineage(book: ClaimBook, facts: Facts) -> Iterator[Row]:
    ev = book.evidence
    for shape in facts.shapes if not facts.has["study"] else ():
        chain = shape.lineage[-_STEPS:]
        for before, seq in zip((None, *chain), chain, strict=False):
            kernel = book.field(seq, "proposal.name", "code")
            if before is None:
                changed = f"the first that was measured, with {book.mint('params', [seq], 'code')}"
                if seq != shape.lineage[0]:
                    changed = f"after earlier steps, with {book.mint('params', [seq], 'code')}"
            elif ev.trial_at(before).proposal.source != ev.trial_at(seq).proposal.source:
                changed = f"another source, with {book.mint('params', [seq], 'code')}"
            else:
                changed = book.mint("changed_params", [before, seq], "code")
            yield shape.label, book.field(seq, "trial", "id"), kernel, changed, book.mint("ratio", [seq], "ratio")


def _negative(book: ClaimBook) -> Iterator[Row]:
    ev = book.evidence
    found: Counter[tuple[str, str]] = Counter()
    first: dict[tuple[str, str], int] = {}
    for entry in ev.of(kinds.TRIAL):
        trial = entry.record
        if not isinstance(trial, (RejectedTrial, FailedTrial)):
            continue
        key = (trial.status, trial.verdict.cause if isinstance(trial, RejectedTrial) else "")
        found[key] += 1
        first.setdefault(key, entry.seq)
    for (status, cause), _ in found.most_common(_CAUSES):
        seq = first[status, cause]
        where = {"status": status, **({"verdict.cause": cause} if cause else {})}
        outcome = f"{status}: {cause}" if cause else status
        reason = book.field(seq, "verdict.reason" if cause else "reason", "words")
        example = f"{book.field(seq, 'proposal.name', 'code')}, {book.mint('params', [seq], 'code')}"
        yield outcome, book.count("trial", where), example, reason, book.mint("entry", [seq], "id")


def _hypotheses(book: ClaimBook) -> Iterator[Row]:
    """Experiments of a scientist's run, and the parts of a study."""
    ev = book.evidence
    for tested in ev.of(TESTED)[:_HYPOTHESES]:
        seq = tested.seq
        if tested.record.experiment is None:
            continue
        low, high = (book.field(seq, f"experiment.{end}", "number") for end in ("gain_low", "gain_high"))
        yield (
            book.field(seq, "experiment.hypothesis", "quote"),
            f"ratio of {low} to {high}",
            _interval(book, seq, "effect"),
            "none",
            book.field(seq, "verdict"),
            book.mint("entry", [seq], "id"),
        )
    claims = {e.record.id: e.seq for e in ev.of(STUDY)}
    for judged in ev.of(VERDICT):
        seq = judged.seq
        for number, part in enumerate(judged.record.parts):
            at = f"parts.{number}"
            registered = claims.get(judged.record.id)
            claim = (
                book.field(registered, "claim", "quote")
                if registered is not None and number == 0
                else "the same, further part"
            )
            yield (
                claim,
                book.field(seq, f"{at}.prediction", "quote"),
                _interval(book, seq, at),
                book.field(seq, f"{at}.n", "whole") if part.n else "none",
                book.field(seq, f"{at}.verdict") if part.testable else book.field(seq, f"{at}.reason"),
                book.mint("entry", [seq], "id"),
            )


def _interval(book: ClaimBook, seq: int, path: str) -> str:
    if not isinstance(look(book.evidence.body(seq), f"{path}.value"), (int, float)):
        return "nothing to compare"
    value, low, high = (book.field(seq, f"{path}.{end}", "number4") for end in ("value", "low", "high"))
    return f"{value} [{low}, {high}]"


def _costs(book: ClaimBook, facts: Facts) -> Iterator[Row]:
    ev = book.evidence
    yield "wall time, first entry to last", facts.marks["wall"]
    if ev.of(kinds.TRIAL):
        yield "wall time of all trials", book.total("trial", "wall_s", "seconds+")
        built = ev.matching("trial", {"artifact.cached": False})
        fresh = {"artifact.cached": False}
        code = book.mint("distinct", built, "whole", kind="trial", path="artifact.id", where=fresh)
        yield "different machine code built afresh", code
        yield "time of those builds", book.total("trial", "artifact.build_s", "seconds+", {"artifact.cached": False})
        yield "trials answered from the build cache", book.count("trial", {"artifact.cached": True})
    if timed := sorted(ev.timings):
        what = "GPU time" if facts.has["gpu"] else "processor time"
        yield f"{what} inside the clock, baselines included", book.mint("clocked", timed, "seconds+")
    if facts.has["models"]:
        yield "model calls", book.count("model-call")
        yield "tokens sent", book.total("model-call", "spent.tokens_in", "whole")
        yield "tokens received", book.total("model-call", "spent.tokens_out", "whole")
        if not any(call.spent.unpriced for call in ev.records(CALL)):
            yield "money", book.total("model-call", "spent.usd", "usd+")
        else:
            yield "money", "not known: a model without a listed price was used"
    else:
        yield "model calls", "none: no language model took part in the search"


def _environment(book: ClaimBook) -> Iterator[Row]:
    facts = book.evidence.genesis.environment.facts
    named = ("device", *fact_titles(), "compiler", "python", "libc", "kernel", "tier", "threads")
    for name in named:
        if facts.get(name) not in (None, ""):
            yield name, book.field(0, f"environment.{name}")
    if facts.get("packages"):
        yield "packages", book.mint("packages", [0], "words", path="environment.packages")
    yield "digest of the above", book.field(0, "environment.digest", "code")
