"""klab view as its users meet it: a real klab, a real Chromium; opened, clicked, resized, looked at."""

from __future__ import annotations

import json
import shutil
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from tests.support.browser import Browser, find_browser
from tests.support.recorded import CUBES
from tests.support.view_runs import FOLDER, growing, hostile_run, noted_run

from .command import Klab, interrupt

pytest.importorskip("starlette")
RUNS = Path(__file__).parents[2] / "runs"
WIDTHS = (400, 1280, 3840)


@contextmanager
def serving(klab: Klab, folder: Path) -> Iterator[str]:
    """The address with the token. Ctrl-C ends it, with nothing to complain about."""
    process = klab.start("view", folder, "--json", "--no-open")
    assert process.stdout
    try:
        told = json.loads(process.stdout.readline())
        assert told["status"] == "serving"
        yield told["url"]
    finally:
        interrupt(process)
        _, errors = process.communicate()
    assert process.returncode == 0, errors
    assert "Traceback" not in errors


@pytest.fixture
def browser(tmp_path: Path) -> Iterator[Browser]:
    program = find_browser()
    if program is None:
        pytest.skip("no browser: chromium is not installed and apt-get cannot install it here")
    with Browser(program, tmp_path / "browser") as made:
        yield made


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of each kind that the pages know: search, study, suite, one with a notebook, one that somebody changed."""
    made = tmp_path_factory.mktemp("runs")
    for name in (
        "h200-tuned/softmax-bf16-quick",
        "h200-tuned/particle-filter",
        "h200/particle-filter",
        "h200-studies/K1",
        "lab-cpu",
    ):
        shutil.copytree(RUNS / name, made / name.replace("/", "-"))
    noted_run(made / "noted")
    ledger = Path(shutil.copytree(CUBES, made / "changed")) / "ledger.jsonl"
    ledger.write_bytes(ledger.read_bytes().replace(b'"win":true', b'"win":false'))
    return made


def over(browser: Browser) -> int:
    """How many pixels the page is wider than its window."""
    return int(browser.run("document.documentElement.scrollWidth - document.documentElement.clientWidth"))


def rows(browser: Browser) -> list[str]:
    script = "[...document.querySelectorAll('[data-row]')].filter(r => !r.hidden).map(r => r.querySelector('th a').textContent)"
    return list(browser.run(script))


@pytest.mark.heavy
def test_the_pages_are_opened_clicked_and_resized(klab: Klab, folder: Path, browser: Browser) -> None:
    with serving(klab, folder) as url:
        browser.open(url)
        assert "token" not in browser.run("location.href")
        assert len(rows(browser)) == 7
        browser.until(lambda: browser.run("document.body.innerText").count("NOT SOUND") == 1)
        browser.until(lambda: "not checked yet" not in browser.run("document.querySelector('#rows').textContent"))
        # by keyboard: filter, sort, go to a row, open it
        browser.press("/")
        browser.type("bf16-quick")
        browser.until(lambda: rows(browser) == ["h200-tuned-softmax-bf16-quick"])
        assert browser.run("document.querySelector('#shown').textContent") == "1 of 7 shown"
        browser.press("Escape")
        browser.press("j")
        assert browser.run("document.activeElement.textContent") == "h200-tuned-softmax-bf16-quick"
        browser.press("Enter")
        browser.until(lambda: "softmax_bf16" in (browser.run("document.querySelector('h1')?.textContent") or ""))
        browser.until(lambda: browser.run("document.querySelectorAll('#charts svg').length") >= 2)
        # by mouse: sort the trials by speed-up, open one, and go on with the keys
        browser.click("#trials-table th:nth-child(4) button")
        browser.click("#trials-table th:nth-child(4) button")
        assert browser.run("document.querySelector('#trials-table th:nth-child(4)').ariaSort") == "descending"
        best = browser.run("document.querySelector('#trials th a').textContent")
        browser.click("#trials th a")
        browser.until(lambda: (browser.run("document.querySelector('h1')?.textContent") or "").startswith(best))
        assert browser.run("document.querySelector('#source') !== null")
        browser.press("u")
        browser.until(lambda: browser.run("document.querySelector('#trials-table') !== null"))
        browser.press("?")
        assert browser.run("document.querySelector('#help').open")
        addresses = [
            f"{url.split('?')[0]}{page}"
            for page in ("", "compare.html", "suites.html", "studies.html", "certificates.html")
        ]
        browser.open(addresses[0])
        addresses += browser.run("[...document.querySelectorAll('[data-row] th a')].map(a => a.href)")
        addresses += [
            a.replace("index.html", page) for a in addresses[-1:] for page in ("notebook.html", "trial-1.html")
        ]
        for address in addresses:
            browser.open(address)
            assert browser.run("document.querySelectorAll('main h1').length") == 1
            assert browser.run("[...document.querySelectorAll('table')].every(t => t.caption)")
            unnamed = "[...document.querySelectorAll('a, button, input, select')].filter(e => !(e.textContent.trim() || e.ariaLabel || e.labels?.length)).length"
            assert browser.run(unnamed) == 0
            for width in WIDTHS:
                browser.resize(width)
                assert over(browser) <= 0, (address, width)
    assert [said for said in browser.said if "Failed to load" not in said] == []


@pytest.mark.heavy
def test_a_new_trial_of_a_run_in_progress_comes_on_the_screen(klab: Klab, tmp_path: Path, browser: Browser) -> None:
    with growing(tmp_path / "runs" / "live") as run, serving(klab, tmp_path / "runs") as url:
        for _ in range(3):
            run.add()
        browser.open(url)
        browser.until(lambda: "running" in browser.run("document.body.innerText"))
        browser.click("[data-row] th a")
        browser.until(lambda: browser.run("document.querySelector('#trials') !== null"))
        assert rows(browser)[0] == "#2"
        browser.run("document.querySelector('#trials tr:nth-child(2) a').focus()")
        number = run.add()
        browser.until(lambda: rows(browser)[0] == f"#{number}")
        assert browser.run("document.activeElement.textContent") == "#1"
        browser.until(lambda: f"trial {number}" in browser.run("document.querySelector('#said').textContent"))
        shown = browser.run("document.querySelector('#charts [role=img]')?.ariaLabel")
        for _ in range(6):
            run.add()
        number = run.count - 1
        browser.until(lambda: rows(browser)[0] == f"#{number}")
        browser.until(
            lambda: browser.run("document.querySelector('#charts [role=img]')?.ariaLabel") not in (None, shown)
        )
        with (run.folder / "ledger.jsonl").open("ab") as file:
            file.write(b'{"body":{"half')
        browser.open(browser.run("location.href"))
        assert rows(browser)[0] == f"#{number}"
    assert browser.said == []


@pytest.mark.heavy
def test_a_hostile_ledger_does_nothing(klab: Klab, tmp_path: Path, browser: Browser) -> None:
    hostile_run(tmp_path / "runs" / FOLDER)
    with serving(klab, tmp_path / "runs") as url:
        browser.open(url)
        run = browser.run("document.querySelector('[data-row] th a').href")
        pages = ("index.html", "notebook.html", *(f"trial-{n}.html" for n in range(4)))
        for address in (url.split("?")[0], *(run.replace("index.html", page) for page in pages)):
            browser.open(address)
            assert browser.run("document.scripts.length") == 1
            assert browser.run("document.querySelectorAll('img, iframe, object, [onerror], [onload]').length") == 0
            assert "alert" in browser.run("document.body.innerText")
            browser.resize(400)
            assert over(browser) <= 0, address
        refused = "(() => { const s = document.createElement('script'); s.textContent = 'window.ran = 1'; document.body.append(s); return window.ran ?? 0; })()"
        assert browser.run(refused) == 0
    assert not [said for said in browser.said if said.startswith("dialog") or "exception" in said]


@pytest.mark.heavy
def test_the_pages_as_files_need_no_server(klab: Klab, folder: Path, tmp_path: Path, browser: Browser) -> None:
    out = tmp_path / "pages"
    done = klab("view", folder / "noted", "--static", out, "--json")
    assert done.code == 0, done.err
    assert done.json["pages"] == len(list(out.rglob("*.html")))
    browser.open((out / "index.html").as_uri())
    browser.click("[data-row] th a")
    browser.until(lambda: browser.run("document.querySelectorAll('#charts svg').length") >= 1)
    browser.press("/")
    browser.type("rejected")
    browser.until(lambda: 0 < len(rows(browser)) < 9)
    assert browser.said == []


@pytest.mark.heavy
def test_bad_input_is_a_message_with_a_fix(klab: Klab, folder: Path, tmp_path: Path) -> None:
    klab("view", tmp_path / "nowhere").failed(2, "there is no folder")
    (tmp_path / "empty").mkdir()
    klab("view", tmp_path / "empty", "--json").failed(2, "there are no runs in")
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "file").touch()
    klab("view", folder, "--static", tmp_path / "full").failed(2, "is not an empty folder")
    klab("view", folder, "--static", folder / "noted" / "pages").failed(2, "lies inside the run")
    klab("view", folder, "--port", "99999").failed(2)
    klab("view", folder, env={"KLAB_VIEW_TOKEN": "short"}).failed(2, "KLAB_VIEW_TOKEN is no token")
    without = "import sys\nsys.modules['starlette'] = None\ndel sys.argv[0]\nfrom kernellab.cli.entry import main\nsys.exit(main())\n"
    python = str(Path(__import__("sys").executable))
    klab("view", folder, before=(python, "-c", without)).failed(5, "the package 'starlette'", "kernellab[view]")


def test_a_term_signal_ends_it_too(klab: Klab, folder: Path) -> None:
    process: subprocess.Popen[str] = klab.start("view", folder, "--json", "--no-open")
    assert process.stdout
    assert json.loads(process.stdout.readline())["status"] == "serving"
    process.send_signal(signal.SIGTERM)
    _, errors = process.communicate()
    assert process.returncode == 143
    assert "Traceback" not in errors
