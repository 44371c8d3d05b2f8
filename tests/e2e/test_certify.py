"""Certificates as their users meet them: issued, rechecked, reviewed, promoted; and refused with a reason."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from .command import Done, Klab
from .conftest import Recorded, bodies

pytestmark = pytest.mark.backend_c


@pytest.fixture(scope="module")
def run(recorded: Recorded, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return Path(shutil.copytree(recorded.folder, tmp_path_factory.mktemp("certified") / "run"))


@pytest.fixture(scope="module")
def confirmed(run: Path) -> int:
    return next(int(c["trial"]) for c in bodies(run, "confirmation") if c["timing"] is not None)


@pytest.fixture(scope="module")
def issued(klab: Klab, run: Path, confirmed: int) -> Done:
    done = klab("certify", run, confirmed, "--json")
    assert done.code == 0, done.err
    return done


def test_a_confirmed_trial_is_certified(issued: Done, run: Path, confirmed: int) -> None:
    assert issued.json["status"] == "certified"
    path = Path(issued.json["file"])
    assert path == run / "certificates" / f"trial-{confirmed}.json"
    said = json.loads(path.read_text())
    assert said["evidence"]["root"] == issued.json["ledger_root"]
    assert said["subject"]["name"] == "cube"
    assert (issued.json["pairs"], issued.json["dropped"]) == (said["speed"]["pairs"], said["speed"]["dropped"])


def test_certifying_and_listing_say_how_many_pairs_were_dropped(
    klab: Klab, issued: Done, run: Path, confirmed: int, tmp_path: Path
) -> None:
    kept, dropped = issued.json["pairs"], issued.json["dropped"]
    words = f"({kept} pairs, {dropped} of {kept + dropped} tries dropped)"
    assert words in klab("certify", run, confirmed, "--out", tmp_path / "again.json").out
    assert words in klab("review", "list", issued.json["file"]).out


@pytest.mark.parametrize("status", ["rejected", "invalid", "build-failed", "duplicate"])
def test_other_trials_are_refused(status: str, klab: Klab, recorded: Recorded, tmp_path: Path) -> None:
    out = tmp_path / "no.json"
    klab("certify", recorded.folder, recorded.trial(status), "--out", out).failed(2, f"trial {recorded.trial(status)}")
    assert not out.exists()


def test_a_trial_or_run_that_is_not_there_is_refused(klab: Klab, recorded: Recorded, tmp_path: Path) -> None:
    klab("certify", recorded.folder, 99, "--json").failed(2, "has no trial 99")
    klab("certify", tmp_path / "none", 0).failed(2, "there is no run folder")


def test_another_laboratory_cannot_certify_this_run(klab: Klab, run: Path, confirmed: int, tmp_path: Path) -> None:
    out = tmp_path / "no.json"
    klab("certify", run, confirmed, "--out", out, env={"KLAB_HOME": str(tmp_path / "other")}).failed(2, "foreign run")
    assert not out.exists()


def test_a_tampered_run_is_refused(klab: Klab, copied: Path, confirmed: int) -> None:
    ledger = copied / "ledger.jsonl"
    ledger.write_text(ledger.read_text().replace('"speedup":', '"speedup" :', 1))
    klab("certify", copied, confirmed).failed(5, "does not verify")
    assert not (copied / "certificates").exists()


def test_nobody_accepts_a_certificate_whose_run_was_changed(klab: Klab, copied: Path, confirmed: int) -> None:
    file = klab("certify", copied, confirmed, "--json").json["file"]
    ledger = copied / "ledger.jsonl"
    ledger.write_text(ledger.read_text().replace('"speedup":', '"speedup" :', 1))
    klab("review", "accept", file, "--reason", "looks good").failed(5, "does not verify")


@pytest.mark.heavy
def test_a_recheck_on_the_same_machine_finds_everything_as_it_was(klab: Klab, issued: Done) -> None:
    done = klab("recheck", issued.json["file"], "--json")
    assert done.code in (0, 3, 7), done.err  # 3: right, and the machine is too noisy to say that it is faster
    found = {f["part"]: f["status"] for f in done.json["findings"]}
    for part in ("signature", "records", "task", "anchor", "device", "build", "verdict"):
        assert found[part] == "same", done.json
    assert done.json["status"] == {0: "holds", 3: "slower"}[done.code]


def test_a_certificate_without_its_run_cannot_be_rechecked_in_full(klab: Klab, issued: Done, tmp_path: Path) -> None:
    alone = tmp_path / "a" / "b" / "cert.json"
    alone.parent.mkdir(parents=True)
    alone.write_text(Path(issued.json["file"]).read_text())
    done = klab("recheck", alone)
    assert done.code == 5
    assert "not checked" in done.out
    assert "could not be rechecked here in full" in done.out


def test_a_changed_certificate_is_an_error(klab: Klab, issued: Done, tmp_path: Path) -> None:
    data = json.loads(Path(issued.json["file"]).read_text())
    data["speed"]["speedup"] *= 2
    (tmp_path / "cert.json").write_text(json.dumps(data))
    for command in (["recheck"], ["promote"], ["review", "accept", "--reason", "x"]):
        klab(*command, tmp_path / "cert.json").failed(5, "changed after it was signed")
    klab("recheck", tmp_path / "none.json").failed(2, "cannot be read")


@pytest.mark.heavy
def test_promotion_needs_a_review_and_the_last_one_counts(klab: Klab, issued: Done) -> None:
    path = issued.json["file"]
    klab("promote", path).failed(2, "it is unreviewed")
    assert klab("review", "reject", path, "--reason", "too noisy", "--by", "Ann", "--json").json["status"] == "rejected"
    klab("promote", path).failed(2, "it is rejected: too noisy")
    assert klab("review", "accept", path, "--reason", "measured again", "--by", "Bob").code == 0
    listed = klab("review", "list", Path(path).parents[1], "--json").json["certificates"]
    assert [(c["state"], len(c["reviews"])) for c in listed] == [("accepted", 2)]
    assert klab("promote", path, "--json").json["status"] == "promoted"
    text = klab("review", "list", Path(path).parents[1]).out
    assert "promoted" in text
    assert "Ann: reject, too noisy" in text


@pytest.mark.heavy
def test_a_rejection_is_of_the_trial_and_the_run_still_passes_its_audit(
    klab: Klab, issued: Done, run: Path, confirmed: int, tmp_path: Path
) -> None:
    assert klab("review", "reject", issued.json["file"], "--reason", "found a fault").code == 0
    assert klab("audit", run).code == 0
    fresh = klab("certify", run, confirmed, "--out", tmp_path / "fresh.json", "--json")
    assert fresh.json["residual"][0] == "this trial was rejected in review: found a fault"
    order = ("--as", "module", "--out", tmp_path / "out", "--run", run, "--unreviewed")
    klab("export", tmp_path / "fresh.json", *order).failed(2, "rejected in review: found a fault")
    klab("promote", tmp_path / "fresh.json", "--run", run).failed(2, "it is rejected: found a fault")
    alone = klab("review", "accept", tmp_path / "fresh.json", "--reason", "seen", cwd=tmp_path)
    assert "known to this laboratory alone" in alone.out
    assert klab("promote", tmp_path / "fresh.json", "--run", run).code == 0


def test_a_review_without_a_reason_is_refused(klab: Klab, issued: Done) -> None:
    klab("review", "accept", issued.json["file"], "--reason", " ").failed(2, "needs a reason")
    assert klab("review", "accept", issued.json["file"]).code == 2
