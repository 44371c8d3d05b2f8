"""Papers of runs that did not go well, and papers that cannot be made: marked clearly, or an error and no file."""

from __future__ import annotations

import builtins
import importlib.metadata
import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.support.long_ledger import copy_run

from kernellab.core.errors import EnvironmentFault, KlabError, LedgerFault, UsageError
from kernellab.core.ids import sha256_hex
from kernellab.core.records import TRIAL, dump
from kernellab.ledger import kinds
from kernellab.ledger.journal import read_entries
from kernellab.ledger.keys import SigningKey
from kernellab.ledger.store import Store
from kernellab.propose.prompts.replies import ExperimentReply
from kernellab.report.paper import write
from kernellab.report.paper.check import Auditor
from kernellab.report.paper.document import PaperFile, resolved, segments
from kernellab.report.paper.extract import open_paper
from kernellab.report.paper.ledger_prefix import LedgerPrefix
from kernellab.report.paper.pdf import spelled
from kernellab.report.paper.visible import difference
from kernellab.report.paper.write import NAMES, Written, make, write_paper
from kernellab.search.memory.contrast import ratio
from kernellab.search.memory.specimen import recall
from kernellab.search.scientist import notebook
from kernellab.search.scientist.verdict import judge

from .conftest import RUN, MakeRun

QUESTION, REPLY = b'{"question":1}', b'{"reply":1}'
CALL = {
    "call": 1, "request": sha256_hex(QUESTION), "model": "some-model", "attempts": 1, "faults": [], "status": "answered",
    "reply": sha256_hex(REPLY), "usage": {}, "cost_usd": 0.0123, "seconds": 1.5,
    "spent": {"calls": 1, "failed": 0, "tokens_in": 1234, "tokens_out": 567, "tokens_cached": 0, "usd": 0.0123,
              "unreported": 0, "unpriced": 0},
}  # fmt: skip

STUDY: dict[str, Any] = {
    "id": "H9", "title": "T", "claim": "C.", "statistic": "s", "prediction": "P", "rule": "R", "n": 5, "level": 0.95,
    "seeds": [1], "device": "cuda", "candidates": {}, "others": [], "loans": 0, "digest": "ab" * 32, "hypothesis": {},
}  # fmt: skip
JUDGED: dict[str, Any] = {
    "id": "H9", "digest": "ab" * 32, "verdict": "confirmed", "statistic": "s", "value": None, "low": None, "high": None,
    "level": 0.95, "n": 0, "trials": [], "reason": "", "parts": [],
}  # fmt: skip


def _experiment(hypothesis: str) -> dict[str, Any]:
    """A scientist's note on the run's first two comparable trials, its verdict by the rule."""
    trials = [TRIAL.validate_python(e.body) for e in read_entries(RUN) if e.kind == "trial"]
    first, second = [s for s in recall(trials) if s.timing is not None][:2]
    asked = ExperimentReply(hypothesis=hypothesis, change="wider loads", gain_low=1.05, gain_high=1.2, risk="spills",
                            refuted_if="no gain")  # fmt: skip
    effect = ratio(second, first)
    assert effect is not None
    verdict, reason = judge(effect, asked)
    note = notebook.Tested(
        generation=0, number=0, purpose="improve", experiment=asked, base=first.number, attempts=[],
        trials=[second.number], best=second.number, verdict=verdict, reason=reason, device="here",
        effect=notebook.Effect(value=effect.value, low=effect.low, high=effect.high), task=trials[0].task, dims=trials[0].dims,
    )  # fmt: skip
    return dump(note)


def _text(paper: PaperFile) -> str:
    claims = {c.id: c for c in paper.claims}
    return "\n".join(resolved(t, claims) for b in paper.blocks for t in (b.text, *(c for row in b.rows for c in row)))


def _headings(paper: PaperFile) -> list[str]:
    return [b.text for b in paper.blocks if b.kind == "heading"]


def _nothing_left(folder: Path) -> None:
    assert [p.name for p in folder.iterdir() if p.name not in ("run", "own.md.j2")] == []


def test_all_four_files_appear(written: Written) -> None:
    assert all((written.folder / name).stat().st_size > 1000 for name in NAMES)
    assert len(list((written.folder / "figures").iterdir())) == len(written.paper.figures)
    assert (written.folder / "paper.json").stat().st_size < 500_000


@pytest.mark.heavy
def test_the_same_ledger_gives_the_same_files(written: Written, tmp_path: Path) -> None:
    write_paper(RUN, tmp_path / "again")
    for name in NAMES:
        assert (tmp_path / "again" / name).read_bytes() == (written.folder / name).read_bytes(), name


def test_a_paper_has_what_a_reader_looks_for(paper: PaperFile) -> None:
    assert _headings(paper) == [
        "Abstract", "What was asked", "Results", "How the search went", "Parameters of the best kernels", "Lineage",
        "Negative results", "Costs", "Limitations", "Reproducibility", "AI contribution and autonomy", "Responsible AI",
        "Involvement checklist", "Paper checklist", "References",
    ]  # fmt: skip
    assert {b.name for b in paper.blocks if b.kind == "table"} >= {"asked", "results", "baselines", "negative", "costs"}
    assert paper.root in _text(paper)


@pytest.mark.heavy
def test_an_unfinished_run_is_marked(make_run: MakeRun, tmp_path: Path) -> None:
    run = make_run(lambda e: e.kind not in ("result", "confirmation", "listing"), ended=False)
    made = write_paper(run, tmp_path / "out").paper
    notes = [b.text for b in made.blocks if b.kind == "note"]
    assert any("has not ended" in n for n in notes)
    assert any("Nothing was confirmed" in n for n in notes)
    assert "results" not in {b.name for b in made.blocks}
    assert Auditor(run).audit(tmp_path / "out" / "paper.pdf").problems == []


def test_a_run_in_which_all_failed_is_marked(make_run: MakeRun, tmp_path: Path) -> None:
    dims = {"N": 16777216}
    result = {"task": "particle_filter", "dims": dims, "status": "nothing-verified", "reason": "no candidate passed",
              "threads": 0, "trial": None}  # fmt: skip
    run = make_run(lambda e: e.kind == "calibration" or e.body.get("status") in ("invalid", "build-failed", "rejected"),
                   [("result", result)])  # fmt: skip
    made = write_paper(run, tmp_path / "out").paper
    assert "nothing was verified" in made.title
    assert any("Nothing was verified" in b.text for b in made.blocks if b.kind == "note")
    assert "Negative results" in _headings(made)
    assert "Lineage" not in _headings(made)
    assert Auditor(run).audit(tmp_path / "out" / "paper.html").problems == []


@pytest.mark.heavy
def test_hypotheses_and_model_costs_are_shown_where_they_are_recorded(make_run: MakeRun, tmp_path: Path) -> None:
    body = _experiment("Wider loads hide latency of eighty cycles")
    run = make_run(more=[("experiment", body), ("model-call", CALL)])
    Store(run).put(QUESTION)
    Store(run).put(REPLY)
    made = write_paper(run, tmp_path / "out").paper
    text = _text(made)
    assert "Hypotheses" in _headings(made)
    assert "Wider loads hide latency of eighty cycles" in text
    assert f"{body['effect']['value']:.4g} [" in text
    assert "1,234" in text
    assert "0.0123 USD" in text
    assert Auditor(run).audit(tmp_path / "out" / "paper.pdf").problems == []


def test_a_study_is_reported_as_one(make_run: MakeRun) -> None:
    study = {**STUDY, "title": "Wide loads", "claim": "Loads of 16 bytes are ”faster“.", "prediction": "ratio above 1.02",
             "rule": "confirmed if the 95 % interval lies above 1.02", "seeds": [7, 8]}  # fmt: skip
    figures = {"value": 1.05, "low": 1.03, "high": 1.07, "level": 0.95, "n": 12, "trials": [], "statistic": "s"}
    part = {**figures, "name": "part", "prediction": "ratio above 1.02", "verdict": "confirmed", "testable": True,
            "rule": "R", "reason": "as predicted"}  # fmt: skip
    other = {
        **part,
        "value": None,
        "low": None,
        "high": None,
        "testable": False,
        "reason": "not testable here: one device",
    }
    verdict = {**JUDGED, "verdict": "confirmed", "parts": [part, other]}
    run = make_run(lambda e: e.kind in ("calibration", "trial"), [("study", study), ("study-verdict", verdict)])
    made = make(LedgerPrefix(run), "").paper
    assert made.title.startswith("Study H9 “Wide loads” on NVIDIA H200")
    assert "“Loads of 16 bytes are 'faster'.”" in _text(made)
    assert made.title.endswith(": confirmed")
    assert _headings(made)[:4] == ["Abstract", "What was asked", "Hypotheses", "Results"]
    assert not [b for b in made.blocks if b.kind == "note"]
    rows = {b.name: b.rows for b in made.blocks if b.kind == "table"}
    assert "1.05 [1.03, 1.07]" in _text(made)
    assert "7, 8" in _text(made)
    assert rows["hypotheses"][0][3] == "values"
    assert not {"lineage", "source", "sweepa"} & {b.name for b in made.blocks}
    assert "sampler" not in {row[0] for row in rows["asked"]}
    assert "published" not in _text(made)
    assert "not testable here: one device" in _text(made)


def _statements(**genesis: Any) -> str:
    evidence = LedgerPrefix(RUN)
    body = evidence.entries[0].body
    for name, value in genesis.items():
        body[name] = {**body[name], **value}
    evidence.start = kinds.GENESIS.read(body)
    return _text(make(evidence, "").paper)


@pytest.mark.heavy
def test_statements_follow_the_records() -> None:
    plain, open_run, fixed = _statements(), _statements(environment={"tier": "T0"}), _statements(params={"BLOCK": 64})
    assert "in a sandbox without network" in plain
    assert "in a sandbox" not in open_run
    assert "outside its reach" not in open_run
    assert "Candidates ran without a sandbox" in open_run
    assert "run without a sandbox, as was asked for" in open_run
    assert "parameters were chosen by a sampler." in plain
    assert "what a person had not fixed was chosen by a sampler." in fixed


@pytest.mark.parametrize("verdict", ["confirmed", "rejected", "inconclusive"])
def test_a_study_says_who_designed_it_and_that_it_failed(make_run: MakeRun, verdict: str) -> None:
    measured = next(e.body for e in read_entries(RUN) if e.body.get("status") == "measured")
    borrowed = {"study": "H9", "run": "another", "root": "ab" * 32, "trial": measured}
    run = make_run(lambda e: e.kind == "calibration" or e.body.get("status") == "measured",
                   [("study", STUDY), ("borrowed", borrowed), ("study-verdict", {**JUDGED, "verdict": verdict})])  # fmt: skip
    text = _text(make(LedgerPrefix(run), "").paper)
    assert ("Negative results are reported: yes." in text) == (verdict != "confirmed")
    assert "the ledger does not say who wrote it" in text
    assert "the registered design names them" in text
    assert "borrowed whole from other runs" in text
    assert "All figures come from one device" not in text


def test_hostile_text_in_a_ledger_stays_text(make_run: MakeRun, tmp_path: Path) -> None:
    evil = '</script><script>alert(1)</script> #panic() $x$ \\" ⟦c1⟧ `x` | a | \u202e \x00 [@tillet] *b* %PDF'
    run = make_run(more=[("experiment", _experiment(evil))])
    write_paper(run, tmp_path / "out")
    assert "<script>alert" not in (tmp_path / "out" / "paper.html").read_text()
    for kind in ("pdf", "html"):
        assert Auditor(run).audit(tmp_path / "out" / f"paper.{kind}").problems == []


def test_an_empty_run_is_refused(make_run: MakeRun, tmp_path: Path) -> None:
    run = make_run(lambda e: False, ended=False)
    with pytest.raises(UsageError, match="no trial") as caught:
        write_paper(run, tmp_path / "out")
    assert "resume" in caught.value.fix
    _nothing_left(tmp_path)


def test_a_signature_that_does_not_fit_is_refused(make_run: MakeRun, tmp_path: Path) -> None:
    run = make_run()
    heads = (run / "heads.jsonl").read_text().splitlines()
    head = json.loads(heads[-1])
    head["sig"] = head["sig"][:-2] + ("00" if head["sig"][-2:] != "00" else "11")
    heads[-1] = json.dumps(head, sort_keys=True, separators=(",", ":"))
    (run / "heads.jsonl").write_text("\n".join(heads) + "\n")
    with pytest.raises(LedgerFault, match="signature") as caught:
        write_paper(run, tmp_path / "out")
    assert caught.value.fix
    _nothing_left(tmp_path)


def test_a_folder_that_is_no_run_is_refused(tmp_path: Path) -> None:
    with pytest.raises(KlabError):
        write_paper(tmp_path, tmp_path / "out")
    _nothing_left(tmp_path)


@pytest.mark.heavy
@pytest.mark.parametrize(
    ("text", "word"),
    [
        ("# Title\n\n{{ nobody }}", "nobody"),
        ("# Title\n\n{% if %}", "line 3"),
        ("# Title\n\n{% include 'none.md.j2' %}", "none.md.j2"),
        ("# Title\n\n{{ 1 / 0 }}", "division"),
        ("# Title\n\n{{ ''.__class__.__mro__ }}", "template error"),
        ("# Title\n\nit is 4.2 times faster", "4.2"),
        ("# Title\n\n@figure pie", "pie"),
        ("no title here", "title"),
        ("# Title\n\n⟦@nobody⟧", "nobody"),
    ],
)
def test_a_template_error_is_an_error_with_a_fix(tmp_path: Path, text: str, word: str) -> None:
    own = tmp_path / "own.md.j2"
    own.write_text(text)
    with pytest.raises(UsageError, match=word) as caught:
        write_paper(RUN, tmp_path / "out", template=own)
    assert caught.value.fix
    _nothing_left(tmp_path)


@pytest.mark.heavy
def test_a_template_of_ones_own_is_used_and_audited(tmp_path: Path) -> None:
    own = tmp_path / "own.md.j2"
    own.write_text("# {{ task }} in {{ counts.trials }} trials\n\nSee ⟦@efron⟧.\n\n@table results\n\n@references\n")
    made = write_paper(RUN, tmp_path / "out", template=own).paper
    assert made.title.endswith("trials")
    file = tmp_path / "out" / "paper.pdf"
    report = Auditor(RUN).audit(file)
    assert report.status == "partial"
    assert not report.remade
    assert report.traced < report.numbers
    assert any("--template" in what for what in report.unchecked)
    named = Auditor(RUN, own).audit(file)
    assert (named.status, named.remade, named.problems) == ("partial", True, [])
    assert named.traced < named.numbers
    assert any("nobody checked what is said" in what for what in named.unchecked)
    assert any("it lacks what is written here" in what for what in named.unchecked)
    other = tmp_path / "other.md.j2"
    other.write_text(own.read_text() + "\n## More\n\nWords.\n")
    assert any("not made with" in p for p in Auditor(RUN, other).audit(file).problems)


@pytest.mark.heavy
@pytest.mark.parametrize(
    "text",
    [
        "{% for i in range(10**12) %}x{% endfor %}",
        "{% macro m() %}{{ m() }}{% endmacro %}{{ m() }}",
        "{{ 'x' * 10000000000 }}",
        "{{ 10000000000 * 'x' }}",
        "{{ ['x'] * 1000000000 }}",
        "{{ 9 ** 99999999 }}",
        "{{ 1 // 0 }}",
        "{{ (1, 2)[5:][0] }}",
    ],
)
def test_a_template_that_runs_wild_is_an_error_and_leaves_nothing(tmp_path: Path, text: str) -> None:
    own = tmp_path / "own.md.j2"
    own.write_text(f"# {{{{ task }}}}\n\n{text}\n")
    with pytest.raises(UsageError, match="template"):
        write_paper(RUN, tmp_path / "out", template=own)
    _nothing_left(tmp_path)


def test_a_template_that_gives_a_number_another_unit_is_refused(tmp_path: Path) -> None:
    own = tmp_path / "own.md.j2"
    own.write_text("# {{ task }}\n\nIt takes {{ headline.confirmed.latency }} hours.\n")
    with pytest.raises(UsageError, match="hours"):
        write_paper(RUN, tmp_path / "out", template=own)
    _nothing_left(tmp_path)


def test_a_paper_is_not_put_into_a_run(make_run: MakeRun) -> None:
    run = make_run()
    before = sorted(run.iterdir())
    with pytest.raises(UsageError, match="folder of a run") as caught:
        write_paper(RUN, run)
    assert "--out" in caught.value.fix
    with pytest.raises(UsageError, match="lies in the folder of a run"):
        write_paper(RUN, run / "sub" / "paper")
    assert sorted(run.iterdir()) == before


@pytest.mark.parametrize("name", NAMES)
def test_a_file_that_klab_did_not_write_is_not_replaced(name: str, tmp_path: Path) -> None:
    (tmp_path / name).write_text('{"mine": 1}')
    with pytest.raises(UsageError, match=f"{name} is there already and not a paper"):
        write_paper(RUN, tmp_path)
    assert [p.name for p in tmp_path.iterdir()] == [name]
    (tmp_path / "file").write_text("")
    with pytest.raises(UsageError, match="file is a file"):
        write_paper(RUN, tmp_path / "file" / "paper")


@pytest.mark.heavy
def test_names_in_any_script_pass_the_audit(tmp_path: Path) -> None:
    """The PDF spells what its typefaces do not have, or set from right to left; page and Markdown print it as it is."""
    name = "漢字مرحبا_é_שלום"
    source = tmp_path / "source"
    shutil.copytree(RUN, source)
    ledger = source / "ledger.jsonl"
    ledger.write_text(ledger.read_text().replace('"particle_filter"', f'"{name}"'))
    copy_run(source, tmp_path / "run", SigningKey.generate(), lambda e: True, ended=True)
    made = write_paper(tmp_path / "run", tmp_path / "out").paper
    assert name in made.title
    assert name in (tmp_path / "out" / "paper.html").read_text()
    for kind in ("pdf", "html"):
        report = Auditor(tmp_path / "run").audit(tmp_path / "out" / f"paper.{kind}")
        assert (report.problems, report.status) == ([], "ok")
    opened = open_paper(tmp_path / "out" / "paper.pdf")
    assert opened.visible is not None
    assert difference(opened.visible, list(segments(made)), lambda text: spelled(text, made.font)) is None
    assert "U+6F22" in opened.visible


def test_a_missing_font_is_an_error_and_leaves_nothing(tmp_path: Path) -> None:
    with pytest.raises(EnvironmentFault, match="no such face") as caught:
        write_paper(RUN, tmp_path / "out", font="No Such Face")
    assert "--font" in caught.value.fix
    _nothing_left(tmp_path)


def test_a_missing_package_names_the_extra(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def absent(name: str) -> str:
        raise importlib.metadata.PackageNotFoundError(name)

    write.made_by.cache_clear()
    monkeypatch.setattr("kernellab.report.paper.charts.version", absent)
    with pytest.raises(EnvironmentFault) as caught:
        write_paper(RUN, tmp_path / "out")
    assert "kernellab[paper]" in caught.value.fix
    _nothing_left(tmp_path)


def test_a_full_disk_leaves_the_old_paper(written: Written, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    out = tmp_path / "out"
    shutil.copytree(written.folder, out)
    (out / "paper.pdf").write_bytes(b"old")
    plain: Callable[..., Any] = builtins.open
    real = Path.write_bytes

    def full(path: Path, data: bytes) -> int:
        if path.name == "paper.md":
            raise OSError(28, "No space left on device")
        return real(path, data)

    monkeypatch.setattr(Path, "write_bytes", full)
    with pytest.raises(EnvironmentFault, match="No space"):
        write_paper(RUN, out)
    assert plain(out / "paper.pdf", "rb").read() == b"old"
    assert [p.name for p in tmp_path.iterdir()] == ["out"]


def test_a_file_in_the_place_of_the_folder_is_refused(tmp_path: Path) -> None:
    (tmp_path / "out").write_text("mine")
    with pytest.raises(UsageError):
        write_paper(RUN, tmp_path / "out")
    assert (tmp_path / "out").read_text() == "mine"
