"""The pages by their addresses, for the server and for files alike. What cannot be read is a page that says so."""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kernellab.core.errors import KlabError, LedgerFault, UsageError
from kernellab.core.ids import sha256_hex
from kernellab.ledger import kinds
from kernellab.ledger.run import well_formed
from kernellab.ledger.suite_records import PURPOSE as SUITE
from kernellab.view.checks import Checks
from kernellab.view.drawings import Drawing, convergence, roofline, samples, sweep
from kernellab.view.folder_facts import FolderFacts, Listed, comparisons
from kernellab.view.frame import render
from kernellab.view.live_run import LiveRun, OpenRuns
from kernellab.view.notebook_facts import notebook_facts
from kernellab.view.places import Place
from kernellab.view.run_facts import PAGE, RunFacts, run_facts
from kernellab.view.suite_facts import suite_facts
from kernellab.view.trial_facts import trial_facts

_RUN = re.compile(r"run/([0-9a-f]{16})/(?:(index)\.html|page-(\d{1,9})\.html|trial-(\d{1,9})\.html|(notebook)\.html)?")
_LIVE = re.compile(r"(?:run/([0-9a-f]{16})/)?(live|charts)\.json")
_MOST_CHARTS = 12
_AT_ONCE = 1
Query = Mapping[str, list[str]]
NO_QUERY: Query = {}


@dataclass(frozen=True)
class Page:
    status: int
    html: str


class Site:
    """`served`: by a process that can be asked again; otherwise for files, checked before they are written."""

    def __init__(self, root: Path, served: bool) -> None:
        self.served = served
        self.shown = threading.Event()
        """Set when the first page is made: what takes long and nobody waits for begins then."""
        self.folder = FolderFacts(root, Checks(at_once=not served, after=self.shown))
        self._runs = OpenRuns()
        self._pages: dict[str, Callable[[Query], Page]] = {
            "": self._index, "index.html": self._index, "suites.html": self._suites, "studies.html": self._studies,
            "certificates.html": self._certificates, "compare.html": self._compare,
        }  # fmt: skip

    def page(self, path: str, query: Query = NO_QUERY) -> Page:
        made = self._page(path, query)
        self.shown.set()
        return made

    def prepare(self) -> None:
        """Reads for the first page before anybody asks for it: while a browser starts."""
        self._page("", NO_QUERY)

    def _page(self, path: str, query: Query) -> Page:
        try:
            if path in self._pages:
                return self._pages[path](query)
            if found := _RUN.fullmatch(path):
                return self._of_run(found, query)
        except UsageError as fault:
            return self.message(404, "Not found", fault.what, fault.fix, path.count("/"))
        except KlabError as fault:
            return self.message(200, "Cannot be read", fault.what, fault.fix, path.count("/"))
        return self.message(404, "Not found", "there is no such page", "the list of runs leads to every page", 0)

    def message(self, status: int, title: str, what: str, fix: str, depth: int = 0) -> Page:
        return Page(status, self._render("message.html", depth, title=title, what=what, fix=fix, here=""))

    def refusal(self, status: int, what: str, fix: str) -> Page:
        """For whoever has no business here: it does not even name the folder."""
        return Page(status, render("refused.html", 0, self.served, what=what, fix=fix))

    def paths(self) -> Iterator[str]:
        """Every page there is, for whoever writes them all."""
        yield from (path for path in self._pages if path)
        for key, place in self.folder.places().items():
            yield f"run/{key}/index.html"
            try:
                run = self._runs.get(place)
            except KlabError:
                continue
            trials = run.count(kinds.TRIAL)
            yield from (f"run/{key}/page-{number}.html" for number in range(2, -(-trials // PAGE) + 1))
            yield from (f"run/{key}/trial-{number}.html" for number in range(trials))
            yield f"run/{key}/notebook.html"

    def live(self, path: str, query: Query) -> dict[str, Any] | None:
        """What changed since the state that the page has; None where nothing did. UsageError for a wrong address."""
        found = _LIVE.fullmatch(path)
        if found is None:
            raise UsageError("there is no such page", "")
        has = (query.get("state") or [""])[0]
        if found[1] is None:
            return self._live_index(query, has)
        place = self._place(found[1])
        return self._live_charts(place) if found[2] == "charts" else self._live_run(place, has)

    def _render(self, template: str, depth: int, here: str, **facts: Any) -> str:
        name = self.folder.root.resolve().name or str(self.folder.root)
        return render(template, depth, self.served, folder=name, here=here, **facts)

    # The pages of the folder

    def _index(self, query: Query) -> Page:
        runs, asked = self._fitting(query)
        facts = {"runs": runs, "asked": asked, "state": _state(runs), "waiting": self.folder.checks.waiting}
        return Page(200, self._render("runs.html", 0, "runs", **facts))

    def _fitting(self, query: Query) -> tuple[list[Listed], dict[str, str]]:
        asked = {name: (query.get(name) or [""])[0].strip() for name in ("q", "status", "wins")}
        words = asked["q"].lower().split()
        runs = [run for run in self.folder.listed(inner=False) if _fits(run, words, asked)]
        return runs, asked

    def _live_index(self, query: Query, has: str) -> dict[str, Any] | None:
        runs, _ = self._fitting(query)
        if (state := _state(runs)) == has:
            return None
        rows = render("_runs.html", 0, self.served, runs=runs)
        waiting = self.folder.checks.waiting
        said = f"{len(runs)} runs; {waiting} ledgers are being checked" if waiting else f"{len(runs)} runs, checked"
        return {"state": state, "said": said, "parts": {"rows": rows}, "charts": False}

    def _suites(self, _: Query) -> Page:
        return Page(200, self._render("suites.html", 0, "suites", runs=self.folder.suites()))

    def _studies(self, _: Query) -> Page:
        found = []
        for listed in self.folder.studies():
            try:
                run = self._runs.get(listed.place)
                with run.guard:
                    found.append((listed, run_facts(run).studies, ""))
            except KlabError as fault:
                found.append((listed, [], fault.what))
        return Page(200, self._render("studies.html", 0, "studies", found=found))

    def _certificates(self, _: Query) -> Page:
        return Page(200, self._render("certificates.html", 0, "certificates", found=self.folder.certificates()))

    def _compare(self, query: Query) -> Page:
        chosen = query.get("run") or []
        runs = [run for run in self.folder.listed() if not chosen or run.place.key in chosen]
        facts = {"found": comparisons(runs), "chosen": len(chosen)}
        return Page(200, self._render("compare.html", 0, "compare", **facts))

    # The pages of a run

    def _place(self, key: str) -> Place:
        found = self.folder.places().get(key)
        if found is None:
            raise UsageError("there is no such run in this folder", "it may have been moved: see the list of runs")
        return found

    def _of_run(self, found: re.Match[str], query: Query) -> Page:
        place = self._place(found[1])
        self.folder.checks.first(place)
        listed = self.folder.look(place)
        facts = {"place": place, "listed": listed, "whole": not self.served or "charts" in query}
        try:
            run = self._runs.get(place)
            with run.guard, well_formed(place.folder):
                return self._readable(run, facts, found)
        except LedgerFault as fault:
            return Page(200, self._render("unreadable.html", 2, "runs", fault=fault, **facts))

    def _readable(self, run: LiveRun, facts: dict[str, Any], found: re.Match[str]) -> Page:
        _, _, page, trial, notebook = found.groups()
        if trial is not None:
            told = trial_facts(run, int(trial))
            drawn = [samples(t, name) for t, name in _timings(told.timing, told.confirmation) if t is not None]
            facts |= {"t": told, "drawn": [d for d in drawn if d], "entry": told.entry}
            return Page(200, self._render("trial.html", 2, "runs", **facts))
        if notebook:
            return Page(200, self._render("notebook.html", 2, "runs", notebook=notebook_facts(run), **facts))
        if run.purpose == SUITE:
            inner = {p.folder.name: p for p in self.folder.places().values() if p.suite == facts["place"].key}
            facts |= {"suite": suite_facts(run.folder), "inner": inner}
            return Page(200, self._render("suite.html", 2, "suites", **facts))
        told_run = run_facts(run, int(page or 1))
        if told_run.page > told_run.pages or told_run.page < 1:
            raise UsageError(f"there are {told_run.pages} pages of trials", "see the page of the run")
        charts = _charts(run, facts["whole"]) if told_run.page == 1 else []
        state = self._run_state(facts["place"], facts["listed"])
        return Page(200, self._render("run.html", 2, "runs", r=told_run, charts=charts, state=state, **facts))

    def _run_state(self, place: Place, listed: Listed) -> str:
        return f"{place.stamp()[0][1]}-{listed.ledger}-{listed.running}"

    def _live_run(self, place: Place, has: str) -> dict[str, Any] | None:
        listed = self.folder.look(place)
        state = self._run_state(place, listed)
        if state == has:
            return None
        run = self._runs.get(place)
        with run.guard, well_formed(place.folder):
            told = run_facts(run)
        facts = {"r": told, "place": place, "listed": listed}
        parts = {name: render(f"_{name}.html", 2, self.served, **facts) for name in ("banner", "summary", "trials")}
        return {"state": state, "said": _said(told), "parts": parts, "charts": True}

    def _live_charts(self, place: Place) -> dict[str, Any]:
        run = self._runs.get(place)
        with run.guard, well_formed(place.folder):
            charts = _charts(run, whole=True)
        return {"parts": {"charts": render("_charts.html", 2, self.served, charts=charts)}}


def _fits(run: Listed, words: list[str], asked: dict[str, str]) -> bool:
    text = f"{run.place.name} {run.task} {run.device} {run.status} {run.purpose}".lower()
    status_fits = asked["status"] in ("", run.status)
    return all(word in text for word in words) and status_fits and (run.won or not asked["wins"])


def _state(runs: list[Listed]) -> str:
    told = [f"{r.place.key} {r.ledger} {r.status} {r.trials} {r.best} {r.problem}" for r in runs]
    return sha256_hex("\n".join(told).encode(errors="replace"))[:16]


def _said(told: RunFacts) -> str:
    last = told.lines[0] if told.lines else None
    newest = f"trial {last.number}, {last.name[:80]}: {last.status}, {last.says[:120]}" if last else "no trial yet"
    return f"{told.progress.words}. {newest}"


def _timings(timing: Any, confirmation: Any) -> list[tuple[Any, str]]:
    return [(timing, "samples"), (confirmation.timing if confirmation else None, "confirmation")]


def _charts(run: LiveRun, whole: bool) -> list[Drawing]:
    """All of a run; or only the first, so that a page need not wait: it asks for the others when it is there."""
    shapes = range(min(len(run.shapes), _MOST_CHARTS))
    drawn = [convergence(run, index) for index in (shapes if whole else shapes[:_AT_ONCE])]
    if whole and run.ended:
        drawn += [roofline(run), *(sweep(run, index) for index in shapes)]
    return [d for d in drawn if d is not None]
