"""klab paper, klab audit of papers and klab audit-table as their users meet them; and the page in a real browser."""

from __future__ import annotations

import json
import os
import re
import shutil
import struct
import subprocess
from pathlib import Path

import pytest

from kernellab.report.paper.document import PaperFile

from .command import Klab
from .conftest import Recorded

ROOT = Path(__file__).parents[2]
RUN = ROOT / "runs" / "h200" / "softmax-bf16-quick"
PUBLISHED = ROOT / "docs" / "paper-softmax-h200"
TABLES = ROOT / "tests" / "data" / "foreign"
BROWSERS = ("chromium", "chromium-browser", "google-chrome")


@pytest.fixture(scope="module")
def made(klab: Klab, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("papers") / "paper"
    done = klab("paper", RUN, "--out", out, "--json")
    assert done.code == 0, done.err
    assert done.json["status"] == "written"
    assert done.json["claims"] > 80
    return out


def test_a_paper_is_written_whole(made: Path) -> None:
    assert {p.name for p in made.iterdir()} == {"paper.pdf", "paper.html", "paper.md", "paper.json", "figures"}
    assert (made / "paper.pdf").read_bytes().startswith(b"%PDF")
    assert "# `softmax_bf16` on NVIDIA H200" in (made / "paper.md").read_text()


@pytest.mark.heavy
def test_a_paper_passes_its_audit(made: Path, klab: Klab) -> None:
    done = klab("audit", made / "paper.pdf", "--run", RUN, "--json")
    assert done.code == 0, done.out
    assert done.json["numbers"] == done.json["traced"] > 300
    assert done.json["remade"]


@pytest.mark.heavy
def test_the_paper_of_a_run_on_this_machine(recorded: Recorded, klab: Klab, tmp_path: Path) -> None:
    done = klab("paper", recorded.folder, "--out", tmp_path / "paper")
    assert done.code == 0, done.err
    checked = klab("audit", tmp_path / "paper" / "paper.pdf", "--run", recorded.folder)
    assert checked.code == 0, checked.out
    assert "byte for byte" in checked.out


@pytest.mark.heavy
def test_a_changed_digit_fails_the_audit_in_words(made: Path, klab: Klab, tmp_path: Path) -> None:
    page = (made / "paper.html").read_text()
    ratio = re.search(r'data-claim="c\d+"[^>]*>(1\.\d{3})</span>', page)
    assert ratio is not None
    (tmp_path / "paper.html").write_text(page.replace(f">{ratio[1]}<", ">9.999<", 1))
    done = klab("audit", tmp_path / "paper.html", "--run", RUN)
    assert done.code == 5
    assert "AUDIT FAILED" in done.out
    assert "9.999" in done.out


def test_a_paper_needs_its_run(made: Path, klab: Klab) -> None:
    klab("audit", made / "paper.pdf").failed(2, "--run RUN")


@pytest.mark.heavy
def test_what_cannot_be_a_paper_is_an_error_with_a_fix(klab: Klab, tmp_path: Path) -> None:
    klab("paper", tmp_path / "nowhere", "--out", tmp_path / "out").failed(2, "no run folder")
    klab("paper", tmp_path, "--out", tmp_path / "out").failed(2, "holds no ledger")
    klab("paper", RUN, "--out", tmp_path / "out", "--model", "gpt").failed(2, "names no model")
    klab("audit", TABLES / "softmax_table.csv", "--run", RUN).failed(2, "not a paper")
    assert list(tmp_path.iterdir()) == []


def test_a_table_of_others(klab: Klab, tmp_path: Path) -> None:
    done = klab("audit-table", TABLES / "softmax_table.csv", "--json")
    assert done.code == 5
    assert len(done.json["contradictions"]) == 9
    told = klab("audit-table", TABLES / "outcomes_table.md")
    assert "248/250 is 99.2 %, not 35" in told.out
    (tmp_path / "good.csv").write_text("kernel,latency (ms),speed-up\na,2.0,1.0\nb,1.0,2.0\n")
    assert klab("audit-table", tmp_path / "good.csv").code == 0
    klab("audit-table", tmp_path / "none.csv").failed(2, "none.csv")


def _browser() -> str:
    found = next((path for name in BROWSERS if (path := shutil.which(name))), None)
    if found is None:
        pytest.skip("no browser: chromium is not installed and apt-get cannot install it here")
    return found


def _browse(page: Path, home: Path, *options: str) -> str:
    """One headless visit without network. As root chromium needs to run without its sandbox; the page is our own."""
    command = [_browser(), "--headless", "--disable-gpu", "--hide-scrollbars", "--no-first-run", "--disable-dev-shm-usage",
               f"--user-data-dir={home / 'profile'}", "--host-resolver-rules=MAP * ~NOTFOUND", "--window-size=1100,1600",
               *(["--no-sandbox"] if os.geteuid() == 0 else []), *options, page.as_uri()]  # fmt: skip
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.heavy
def test_the_page_opens_in_a_browser(made: Path, tmp_path: Path) -> None:
    """Its text is there, no element is wider than the window, every figure is drawn and says what it shows."""
    probe = (
        "<script>addEventListener('load',()=>{const d=document.documentElement;"
        "const f=[...document.querySelectorAll('figure')].map(x=>x.querySelector('svg').getBoundingClientRect());"
        "document.body.dataset.seen=JSON.stringify({over:d.scrollWidth-d.clientWidth,"
        "figures:f.map(r=>[r.width,r.height]),alts:[...document.querySelectorAll('figure [role=img]')]"
        ".map(x=>x.getAttribute('aria-label').length)})})</script></body>"
    )
    page = tmp_path / "probed.html"
    page.write_text((made / "paper.html").read_text().replace("</body>", probe))
    dom = _browse(page, tmp_path, "--dump-dom")
    paper = PaperFile.model_validate_json((made / "paper.json").read_bytes())
    seen = json.loads(re.search(r'data-seen="([^"]*)"', dom)[1].replace("&quot;", '"'))  # type: ignore[index]
    assert seen["over"] <= 0
    assert len(seen["figures"]) == len(paper.figures) >= 3
    assert all(width > 200 and height > 100 for width, height in seen["figures"])
    assert min(seen["alts"]) > 40
    assert "Limitations" in dom


@pytest.mark.heavy
def test_a_paper_fits_a_telephone(made: Path, tmp_path: Path) -> None:
    """400 pixels wide: only tables and code are scrolled, each in its own box. A window is never so narrow, a frame is."""
    probe = (
        "<script>addEventListener('load',()=>{const d=document.documentElement;const out=[...document.querySelectorAll("
        "'body *')].filter(e=>!e.parentElement.closest('.scroll, pre, svg')"
        "&&e.getBoundingClientRect().right>d.clientWidth+1).map(e=>e.tagName);"
        "parent.document.body.dataset.seen=JSON.stringify([d.scrollWidth-d.clientWidth,out])})</script></body>"
    )
    (tmp_path / "page.html").write_text((made / "paper.html").read_text().replace("</body>", probe))
    outer = tmp_path / "outer.html"
    outer.write_text('<!doctype html><body><iframe src="page.html" style="width:400px;height:900px"></iframe></body>')
    dom = _browse(outer, tmp_path, "--allow-file-access-from-files", "--dump-dom")
    assert json.loads(re.search(r'data-seen="([^"]*)"', dom)[1].replace("&quot;", '"')) == [0, []]  # type: ignore[index]


@pytest.mark.heavy
def test_the_page_is_one_file_and_shows_something(made: Path, tmp_path: Path) -> None:
    text = (made / "paper.html").read_text()
    assert re.findall(r'(?:src|href)="(?!https://)[^"]*"', text) == []
    assert not re.search(r"<(?:link|img|iframe)\b|@import|url\(", text.split("<script")[0])
    shot = tmp_path / "page.png"
    _browse(made / "paper.html", tmp_path, f"--screenshot={shot}")
    data = shot.read_bytes()
    assert struct.unpack(">II", data[16:24]) == (1100, 1600)
    assert len(data) > 50_000


@pytest.mark.heavy
def test_a_paper_of_other_code_passes_in_part(made: Path, klab: Klab, tmp_path: Path) -> None:
    data = json.loads((made / "paper.json").read_bytes())
    data["made_by"]["code"] = "0" * 64
    (tmp_path / "paper.json").write_text(json.dumps(data, ensure_ascii=False, indent=1) + "\n")
    done = klab("audit", tmp_path / "paper.json", "--run", RUN)
    assert done.code == 6
    assert "AUDIT PARTIAL" in done.out
    assert "not checked: it names another code" in done.out
    assert "byte for byte" not in done.out
    told = klab("audit", tmp_path / "paper.json", "--run", RUN, "--json")
    assert (told.code, told.json["status"], told.json["remade"]) == (6, "partial", False)


def test_options_that_do_not_fit_a_paper_are_refused(made: Path, klab: Klab) -> None:
    klab("audit", made / "paper.json", "--run", RUN, "--rerun", "1").failed(2, "--rerun 1")
    klab("audit", made / "paper.json", "--run", RUN, "--template", made / "none.j2").failed(2, "none.j2")
    klab("audit", RUN, "--run", RUN).failed(2, "of a paper")


@pytest.mark.heavy
@pytest.mark.sample(1)
@pytest.mark.parametrize("kind", ["pdf", "html", "json", "md"])
def test_the_published_paper_holds(klab: Klab, kind: str) -> None:
    done = klab("audit", PUBLISHED / f"paper.{kind}", "--run", ROOT / "runs" / "h200-tuned" / "softmax-bf16", "--json")
    assert done.code == 0, done.out
    assert done.json["problems"] == []
    assert done.json["remade"]
    assert done.json["numbers"] == done.json["traced"] > 500


def test_the_published_paper_is_small() -> None:
    assert sum(p.stat().st_size for p in PUBLISHED.rglob("*") if p.is_file()) < 2_000_000
