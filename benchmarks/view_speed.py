"""How long a person waits for `klab view`: the first paint of a large folder, and a new trial of a run in progress.

    python benchmarks/view_speed.py [--runs 200] [--trials 100000] [--new 20] [--folder DIR]

Writes the runs through the real writer, from a recorded one (again only where DIR does not hold them yet), starts klab view,
and opens it in Chromium. First paint: the browser's first-contentful-paint of the list, from the start of the navigation, with
nothing read before. A new trial: from the return of the append to the moment at which its row is on the page.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

from tests.support.browser import Browser, find_browser  # noqa: E402
from tests.support.long_ledger import repeat_run  # noqa: E402
from tests.support.view_runs import growing  # noqa: E402

from kernellab.ledger.keys import SigningKey  # noqa: E402

SOURCE = ROOT / "tests" / "data" / "runs" / "cubes"
PAINT = "performance.getEntriesByName('first-contentful-paint')[0]?.startTime"


def make(folder: Path, runs: int, trials: int) -> None:
    key = SigningKey.generate()
    for number in range(runs):
        if not (folder / f"run-{number:03}").exists():
            repeat_run(SOURCE, folder / f"run-{number:03}", trials // runs, key)


def painted(browser: Browser, address: str) -> float:
    browser.open(address)
    browser.until(lambda: browser.run(PAINT) is not None)
    return float(browser.run(PAINT)) / 1e3


def new_trials(browser: Browser, address: str, folder: Path, count: int) -> list[float]:
    """Seconds for each, one after the other."""
    delays = []
    with growing(folder) as run:
        run.add()
        browser.open(address)
        browser.run(
            "document.querySelector('#q').value = 'run-live'; document.querySelector('#q').dispatchEvent(new Event('input'))"
        )
        browser.until(
            lambda: bool(browser.run("[...document.querySelectorAll('th a')].some(a => a.textContent === 'run-live')"))
        )
        browser.run("[...document.querySelectorAll('th a')].find(a => a.textContent === 'run-live').click()")
        browser.until(lambda: bool(browser.run("document.querySelector('#trials [data-row]') !== null")))
        for _ in range(count):
            number = run.add()
            began = time.perf_counter()
            browser.until(lambda n=number: browser.run("document.querySelector('#trials th a').textContent") == f"#{n}")  # type: ignore[misc]
            delays.append(time.perf_counter() - began)
            time.sleep(0.7)
    return delays


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--runs", type=int, default=200)
    parser.add_argument("--trials", type=int, default=100_000)
    parser.add_argument("--new", type=int, default=20)
    parser.add_argument("--folder", type=Path)
    options = parser.parse_args()
    program = find_browser()
    assert program, "no Chromium here"
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as base:
        folder = options.folder or Path(base) / "runs"
        began = time.perf_counter()
        make(folder, options.runs, options.trials)
        size = sum(p.stat().st_size for p in folder.glob("*/ledger.jsonl"))
        print(
            f"{options.runs} runs, {options.trials} trials, {size / 1e6:.0f} MB of ledgers, in {time.perf_counter() - began:.0f} s"
        )
        began = time.perf_counter()
        command = [str(Path(sys.executable).with_name("klab")), "view", str(folder), "--json", "--no-open"]
        view = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        assert view.stdout
        with Browser(program, Path(base)) as browser:
            address = json.loads(view.stdout.readline())["url"]
            print(f"serving after {time.perf_counter() - began:.2f} s")
            browser.resize(1280)
            first = painted(browser, address)
            print(
                f"first paint, nothing read before: {first:.2f} s ({browser.run('document.querySelectorAll(`[data-row]`).length')} rows)"
            )
            again = [painted(browser, address.split("?")[0]) for _ in range(5)]
            print(f"again, while ledgers are checked: {statistics.median(again):.2f} s, at most {max(again):.2f} s")
            began = time.perf_counter()
            browser.until(lambda: "not checked yet" not in browser.run("document.querySelector('#rows').textContent"))
            print(f"all ledgers checked {time.perf_counter() - began:.0f} s later")
            again = [painted(browser, address.split("?")[0]) for _ in range(5)]
            print(f"first paint then: {statistics.median(again):.2f} s, at most {max(again):.2f} s")
            shutil.rmtree(folder / "run-live", ignore_errors=True)
            delays = new_trials(browser, address.split("?")[0], folder / "run-live", options.new)
            print(
                f"a new trial on the page: {statistics.median(delays):.2f} s in the middle, at most {max(delays):.2f} s of {len(delays)}"
            )
        os.kill(view.pid, signal.SIGINT)
        view.wait()


if __name__ == "__main__":
    main()
