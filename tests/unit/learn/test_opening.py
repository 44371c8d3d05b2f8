"""A service is opened in a folder, killed, and opened again: no reward is lost and none is given twice."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest
from tests.unit.learn.kernels import ALSO_HONEST, HONEST, UNBUILT, WRONG, code, reply

from kernellab.core.errors import LedgerFault, UsageError
from kernellab.core.events import Event
from kernellab.core.settings import Settings
from kernellab.learn import RewardTerms, Sample, open_service
from kernellab.learn.book import UNSEEN
from kernellab.ledger import kinds
from kernellab.ledger.reward_records import REWARD
from kernellab.ledger.run import Run
from kernellab.report.audit import audit

REPLIES = [HONEST, WRONG, "nothing", ALSO_HONEST, UNBUILT, *(reply(code(head=f"/* {n} */")) for n in range(3))]
SAMPLES = [Sample(f"k{n}", text) for n, text in enumerate(REPLIES)]
_CHILD = """
import sys
from pathlib import Path
from kernellab.core.settings import Settings
from kernellab.learn import RewardTerms, open_service
from tests.unit.learn.test_opening import SAMPLES

def say(event):
    print(event.kind, flush=True)

settings = Settings(effort="quick", sample_s=0.0001, device="cpu")
with open_service(RewardTerms([sys.argv[1]], settings, widest=1e6), Path(sys.argv[2]), say) as service:
    service.score(SAMPLES[:3])
    print("scored", flush=True)
    service.score(SAMPLES)
"""


@pytest.mark.heavy
@pytest.mark.parametrize("after", [("trial", 1), ("scored", 1), ("trial", 4)], ids=["first", "between", "second"])
def test_killed_and_opened_again(terms: RewardTerms, task_file: Path, tmp_path: Path, after: tuple[str, int]) -> None:
    folder, (word, times) = tmp_path / "run", after
    child = subprocess.Popen(
        [sys.executable, "-c", _CHILD, str(task_file), str(folder)],
        stdout=subprocess.PIPE, text=True, cwd=Path(__file__).parents[3],
    )  # fmt: skip
    assert child.stdout is not None
    for line in child.stdout:
        times -= line.strip() == word
        if not times:
            break
    child.send_signal(signal.SIGKILL)
    child.stdout.close()
    child.wait()
    before = {record.sample: record for record in Run(folder).records(REWARD)}
    with open_service(replace(terms, most=256), folder) as service:
        scored = service.score(SAMPLES)
        assert service.score(SAMPLES) == scored
    given = Run(folder).records(REWARD)
    assert Counter(record.sample for record in given) == Counter(sample.id for sample in SAMPLES)
    assert all(record == before.get(record.sample, record) for record in given)
    assert audit(folder).problems == []


@pytest.fixture(scope="module")
def held(terms: RewardTerms, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("held") / "run"
    open_service(terms, folder).close()
    (folder / "artifacts").mkdir()
    return folder


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"form": "seed"}, "the form 'log'"),
        ({"widest": 0.2}, "intervals up to"),
        ({"settings": Settings(effort="standard", device="cpu")}, "effort quick"),
        ({"settings": Settings(effort="quick", device="cpu", threads=2)}, "1 threads"),
        ({"tasks": ["softmax"]}, "the tasks cube"),
    ],
)
def test_a_folder_has_rewards_on_one_set_of_terms(
    terms: RewardTerms, held: Path, change: dict[str, object], words: str
) -> None:
    with pytest.raises(UsageError, match=words):
        open_service(replace(terms, **change), held)  # type: ignore[arg-type]


def test_a_folder_of_another_run_is_refused(terms: RewardTerms) -> None:
    from tests.support.recorded import CUBE

    with pytest.raises(UsageError, match="holds a run of another kind"):
        open_service(terms, CUBE)


def test_a_folder_that_was_cut_off_before_its_plan_is_told(terms: RewardTerms, held: Path, tmp_path: Path) -> None:
    from tests.support.resign import resigned

    cut = resigned(held, tmp_path / "cut", lambda entries: entries.__delitem__(slice(1, None)))
    with pytest.raises(LedgerFault, match="does not say which rewards it holds"):
        open_service(terms, cut)


@pytest.mark.heavy
def test_several_tasks_share_one_ledger_and_one_evaluator(terms: RewardTerms, task_file: Path, tmp_path: Path) -> None:
    square = tmp_path / "square.py"
    square.write_text(task_file.read_text().replace('"cube", about', '"squared", about'))
    both = replace(terms, tasks=[str(task_file), str(square)], memory=1)
    with open_service(both, tmp_path / "run") as service:
        assert list(service.facts()["tasks"]) == ["cube", "squared"]
        asked = [Sample("a", HONEST, "cube"), Sample("b", HONEST, "squared", "N=65536"), Sample("c", WRONG, "squared")]
        scored = service.score(asked)
        with pytest.raises(UsageError, match="names no task"):
            service.score([Sample("d", HONEST)])
    assert [(s.task, s.shape, s.accuracy) for s in scored] == [
        ("cube", "N=32768", 1), ("squared", "N=65536", 1), ("squared", "N=32768", 0),
    ]  # fmt: skip
    run = Run(tmp_path / "run")
    assert {trial.task for trial in run.trials} == {"cube", "squared"}
    assert {trial.proposal.origin for trial in run.trials} == {"policy"}
    assert run.count(kinds.CALIBRATION) >= 3
    assert {"task.py", "task-1.py"} <= {path.name for path in (tmp_path / "run").iterdir()}
    assert audit(tmp_path / "run").problems == []


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"tasks": []}, "no task is named"),
        ({"tasks": ["sphere"]}, "there is no task 'sphere'"),
        ({"tasks": ["softmax", "softmax"]}, "two tasks are called 'softmax'"),
        ({"backend": "fortran"}, "no target here is written in 'fortran'"),
        ({"backend": "triton"}, "does not run on cpu"),
    ],
)
def test_what_cannot_be_opened_is_told_before_anything_is_written(
    terms: RewardTerms, tmp_path: Path, change: dict[str, object], words: str
) -> None:
    with pytest.raises(UsageError, match=words):
        open_service(replace(terms, **change), tmp_path / "run")  # type: ignore[arg-type]
    assert not (tmp_path / "run").exists()


@pytest.mark.heavy
def test_trials_of_a_batch_that_broke_off_do_not_stand_in_for_what_comes_again(
    terms: RewardTerms, tmp_path: Path
) -> None:
    """Whoever listens fails once, in the middle of a batch: nobody looked after its trial, so the kernel is tried anew."""
    failures = ["the screen is gone"]

    def listener(event: Event) -> None:
        if event.kind == "trial" and failures:
            raise RuntimeError(failures.pop())

    with open_service(terms, tmp_path / "run", listener) as service:
        with pytest.raises(RuntimeError, match="the screen is gone"):
            service.score([Sample("a", HONEST)])
        before = len(Run(tmp_path / "run").trials)
        (scored,) = service.score([Sample("a", HONEST)])
        assert scored.why != UNSEEN
        assert [trial.status for trial in Run(tmp_path / "run").trials[before:]][:1] != ["duplicate"]
    assert audit(tmp_path / "run").problems == []
