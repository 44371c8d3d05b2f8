"""The page of certificates, with one that was issued for a real run: its figure, its state, and a change that it does not hide."""

from __future__ import annotations

import html
import json
import re
import shutil
from pathlib import Path

import pytest
from tests.support.softmax_run import softmax_run
from tests.support.view_runs import HARM

from kernellab.certify.certificate import Certificate
from kernellab.certify.history import promote, review
from kernellab.certify.issue import certify
from kernellab.ledger.keys import KEY_FILE
from kernellab.ledger.run import Run
from kernellab.view.places import places
from kernellab.view.site import Site

pytestmark = pytest.mark.backend_c


@pytest.fixture
def issued(
    tmp_path: Path, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> tuple[Certificate, Path]:
    """A certificate of a copy of the run, under a key whose laboratory knows of no reviews yet."""
    run, key = softmax_run(tmp_path_factory)
    (tmp_path / "home").mkdir()
    shutil.copy(key / KEY_FILE, tmp_path / "home" / KEY_FILE)
    monkeypatch.setenv("KLAB_HOME", str(tmp_path / "home"))
    folder = Path(shutil.copytree(run, tmp_path / "runs" / "mine"))
    confirmed = next(c.trial for c in Run(folder).confirmations if c.timing is not None)
    return certify(folder, confirmed)


def page_of(path: Path) -> str:
    page = Site(path.parents[2], served=False).page("certificates.html")
    assert page.status == 200
    return page.html


def state(path: Path) -> list[str]:
    return re.findall(r'<span class="tag (\w+)">', page_of(path))


def test_a_certificate_has_its_figure_accuracy_and_key_and_leads_to_its_trial(
    issued: tuple[Certificate, Path],
) -> None:
    certificate, path = issued
    shown = html.unescape(page_of(path))
    assert "1 certificate; the signature of each was checked" in shown
    for words in (certificate.kernel.name, certificate.speed.figure, "96x64", certificate.named_key,
                  f"{certificate.accuracy.cases} cases", f"{certificate.trust}, {certificate.tier}"):  # fmt: skip
        assert words in shown, words
    assert ("(no win)" in shown) == (not certificate.speed.win)
    root = path.parents[2]
    (place,) = places(root).values()
    link = f"run/{place.key}/trial-{certificate.evidence.trial}.html"
    assert f'href="{link}"' in shown
    assert Site(root, served=False).page(link).status == 200


def test_the_state_follows_the_reviews(issued: tuple[Certificate, Path]) -> None:
    certificate, path = issued
    assert state(path) == ["unreviewed"]
    review(path, certificate, "reject", "too noisy")
    assert state(path) == ["rejected"]
    review(path, certificate, "accept", "measured again")
    assert state(path) == ["accepted"]
    promote(path, certificate)
    assert state(path) == ["promoted"]


def test_a_changed_certificate_is_shown_as_not_sound_and_gives_no_figure(issued: tuple[Certificate, Path]) -> None:
    certificate, path = issued
    changed = json.loads(path.read_text())
    changed["kernel"]["name"] = HARM
    path.write_text(json.dumps(changed))
    shown = page_of(path)
    assert state(path) == ["unsound"]
    assert "NOT SOUND" in shown
    assert certificate.speed.figure not in html.unescape(shown)
    assert "<img" not in shown
