"""The pages themselves: what they say, what they escape, and that nothing in a ledger makes one fail."""

from __future__ import annotations

import json
import re
import shutil
from html.parser import HTMLParser
from pathlib import Path

import pytest
from tests.support.recorded import CUBE, CUBES
from tests.support.view_runs import FOLDER, growing, hostile_run, noted_run

from kernellab.ledger.entry import HEADS_FILE, LEDGER_FILE
from kernellab.view.frame import asset, policy
from kernellab.view.places import places
from kernellab.view.site import Site

RUNS = Path(__file__).parents[3] / "runs"


class Seen(HTMLParser):
    """Elements and attributes of a page as a browser would meet them."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += [(name, value or "") for name, value in attrs]


def seen(html: str) -> Seen:
    found = Seen()
    found.feed(html)
    return found


def one(root: Path, name: str) -> str:
    return next(p.key for p in places(root).values() if p.name == name)


@pytest.fixture(scope="module")
def site() -> Site:
    return Site(RUNS, served=False)


@pytest.mark.heavy
def test_the_list_of_runs_names_each_with_its_figure(site: Site) -> None:
    page = site.page("index.html")
    assert page.status == 200
    assert "h200-tuned/particle-filter" in page.html
    assert "1.233x [1.155, 1.365] over triton-plain" in page.html
    ledgers = [p.parent for p in RUNS.rglob("ledger.jsonl")]
    inside = [f for f in ledgers if any(other in f.parents for other in ledgers)]  # of a suite's own tasks
    assert page.html.count("<tr data-row") == len(ledgers) - len(inside)


def test_the_list_is_filtered_by_words_status_and_wins() -> None:
    served = Site(RUNS, served=True)
    assert served.page("index.html", {"q": ["tuned softmax"]}).html.count("<tr data-row") == 2
    assert served.page("index.html", {"status": ["confirmed"]}).html.count("<tr data-row") >= 1
    assert "No run fits" in served.page("index.html", {"q": ["nothing-such"]}).html


def test_the_page_of_a_suite_has_its_classes_and_the_curve(site: Site) -> None:
    html = site.page(f"run/{one(RUNS, 'lab-cpu')}/index.html").html
    assert "Score by class of operators" in html
    assert "fast_p: share of the tasks" in html
    assert "1.984 [1.649, 2.390]" in html
    assert html.count("<svg") == 1
    assert re.search(r'href="\.\./\.\./run/[0-9a-f]{16}/index\.html">adamw_step-f32', html)


def test_the_page_of_a_study_has_claim_and_verdict(site: Site) -> None:
    html = site.page("studies.html").html
    assert "Prediction" in html
    assert 'class="tag confirmed"' in html


def test_runs_of_one_task_stand_side_by_side(site: Site) -> None:
    html = site.page("compare.html").html
    assert "runs of softmax_bf16" in html
    chosen = [one(RUNS, "h200/stencil3x3"), one(RUNS, "h200-tuned/stencil3x3")]
    html = site.page("compare.html", {"run": chosen}).html
    assert html.count("<h2>") == 1
    assert "2 runs of stencil3x3" in html


def test_the_notebook_and_a_diff_are_pages(tmp_path: Path) -> None:
    noted_run(tmp_path / "noted")
    site = Site(tmp_path, served=False)
    key = one(tmp_path, "noted")
    assert "notebook: 4 notes, 1 questions" in site.page(f"run/{key}/index.html").html
    html = site.page(f"run/{key}/notebook.html").html
    assert "wider loads help" in html
    assert "What would you try?" in html
    trial = site.page(f"run/{key}/trial-1.html").html
    assert '<span class="add">+four' in trial
    assert '<span class="del">-two' in trial


def test_what_is_not_there_is_said_in_words(site: Site) -> None:
    key = one(RUNS, "h200-tuned/particle-filter")
    for path in ("nothing.html", "run/0000000000000000/index.html", f"run/{key}/trial-99999.html", f"run/{key}/page-9.html",
                 f"run/{key}/../../../etc/passwd", "../../etc/passwd", f"run/{key}/page-0.html"):  # fmt: skip
        page = site.page(path)
        assert page.status == 404, path
        assert "Not found" in page.html
        assert "root:" not in page.html


@pytest.mark.parametrize("harm", ["changed", "cut", "no heads", "not json", "empty", "another record", "deep"])
def test_a_ledger_that_is_not_sound_is_shown_with_a_banner(harm: str, tmp_path: Path) -> None:
    folder = tmp_path / "run"
    shutil.copytree(CUBES, folder)
    ledger = folder / LEDGER_FILE
    lines = ledger.read_bytes().splitlines(keepends=True)
    match harm:
        case "changed":
            ledger.write_bytes(ledger.read_bytes().replace(b'"win":true', b'"win":false'))
        case "cut":
            ledger.write_bytes(b"".join(lines[:-3]))
        case "no heads":
            (folder / HEADS_FILE).unlink()
        case "not json":
            ledger.write_bytes(b"".join([*lines[:3], b"\xff\xfe<script>\n", *lines[3:]]))
        case "empty":
            ledger.write_bytes(b"")
        case "another record":
            body = json.loads(lines[3])
            ledger.write_bytes(
                b"".join([*lines[:3], json.dumps({**body, "body": {"x": [1]}}).encode() + b"\n", *lines[4:]])
            )
        case "deep":
            ledger.write_bytes(b"".join([*lines[:3], b"[" * 100_000 + b"\n", *lines[3:]]))
    site = Site(tmp_path, served=False)
    key = one(tmp_path, "run")
    for path in ("index.html", "compare.html", "studies.html", "certificates.html", f"run/{key}/index.html",
                 f"run/{key}/trial-0.html", f"run/{key}/notebook.html"):  # fmt: skip
        page = site.page(path)
        assert page.status in (200, 404)
    assert "NOT SOUND" in site.page("index.html").html
    html = site.page(f"run/{key}/index.html").html
    assert "NOT SOUND" in html or "cannot be read" in html
    assert 'class="banner"' in html


def test_nothing_in_a_hostile_ledger_becomes_markup(tmp_path: Path) -> None:
    """Every page: no element and no attribute that the templates do not have, no control character, and not too long."""
    hostile_run(tmp_path / FOLDER)
    site = Site(tmp_path, served=False)
    plain = Site(CUBE, served=False)
    known = {tag for path in plain.paths() for tag in seen(plain.page(path).html).tags}
    pages = 0
    for path in site.paths():
        page = site.page(path)
        assert page.status == 200
        found = seen(page.html)
        assert set(found.tags) <= known | {"h3"}
        assert found.tags.count("script") == 1
        assert "img" not in found.tags
        assert not [name for name, _ in found.attributes if name.startswith("on")]
        assert not [
            value for name, value in found.attributes if name in ("href", "src", "action") and "script" in value.lower()
        ]
        assert not re.search("[\x00-\x08\x0b-\x1f\x7f\u202a-\u202e\u2066-\u2069]", page.html)
        assert len(page.html) < 1_500_000
        pages += 1
    assert pages > 10
    trial = site.page(f"run/{next(iter(places(tmp_path)))}/trial-0.html").html
    assert "characters more are not shown" in trial
    assert "&lt;script&gt;alert(&#39;harm&#39;)" in trial


def test_a_page_allows_its_own_script_and_style_alone() -> None:
    assert "default-src 'none'" in policy(True)
    assert "unsafe" not in policy(True) + policy(False)
    assert "frame-ancestors 'none'" in policy(True)
    assert "</" not in asset("view.js")
    assert "</" not in asset("view.css")
    assert "http" not in asset("view.js") + asset("view.css")


def test_a_page_of_a_run_in_progress_says_what_is_new(tmp_path: Path) -> None:
    site = Site(tmp_path, served=True)
    with growing(tmp_path / "run") as run:
        run.add()
        key = one(tmp_path, "run")
        html = site.page(f"run/{key}/index.html").html
        assert 'data-live="live.json"' in html
        told = site.live(f"run/{key}/live.json", {"state": [""]})
        assert told is not None
        assert "trial 0" in told["said"]
        run.add()
        again = site.live(f"run/{key}/live.json", {"state": [told["state"]]})
        assert again is not None
        assert 'href="trial-1.html"' in again["parts"]["trials"]
        charts = site.live(f"run/{key}/charts.json", {})
        assert charts is not None
        assert "best so far" in charts["parts"]["charts"]
        assert 'class="tag running"' in again["parts"]["summary"]
