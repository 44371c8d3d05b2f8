"""`klab run --model` as its users meet it: what it costs, what goes wrong, what it leaves behind, and how it goes on."""

from __future__ import annotations

import json
import os
import signal
from pathlib import Path

import pytest
from tests.conftest import TASK_FILE
from tests.support.local_model import MISSING, local_model, weights
from tests.support.model_server import HTML, Cut, Error, ModelServer, Say
from tests.support.scripted_scientist import Scripted, code

from .command import Klab, wait_until
from .conftest import bodies

pytestmark = pytest.mark.backend_c
KEY = "key-that-nobody-may-see-4711"
QUICK = ("--shape", "N=32768", "--effort", "quick", "--trials", 8, "--experiments", 2, "--tune", 2)


@pytest.fixture
def task(tmp_path: Path) -> Path:
    """With its own first kernel, a slow one: what nears the floor looks too good where ceilings were measured under load."""
    (tmp_path / "cube.py").write_text(TASK_FILE.replace("-O3", "-O1"))
    return tmp_path / "cube.py"


def test_a_dry_run_says_what_a_run_may_cost_and_asks_nobody(klab: Klab, task: Path) -> None:
    with ModelServer(Scripted()) as server:
        done = klab("run", task, "--model", f"openai:gpt-4.1@{server.url}", "--dry-run", "--budget-usd", 3, "--json")
        assert done.code == 0, done.err
        assert server.calls == 0
    found = done.json
    assert 0 < found["calls"] < found["most_calls"]
    assert 0 < found["usd"] < found["most_usd"]
    assert found["limits"] == {"usd": 3.0}
    page = klab("run", task, "--model", "anthropic:x", "--dry-run")
    assert page.code == 0, page.err
    assert page.out.startswith("anthropic:x: ")
    assert "price not known" in page.out
    assert "nothing was asked" in page.out


@pytest.mark.sample(3)
@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--model", "gpt-4"), "names no model"),
        (("--model", "openai:x@ftp://y"), "not http"),
        (("--model", "replay:nowhere"), "nowhere"),
        (("--budget-usd", "3"), "for a run with a model"),
        (("--dry-run",), "of a run with a model"),
        (("--model", "openai:m", "--feedback", "rumours"), "feedback"),
        (("--model", "openai:m", "--templates", "no-such-folder"), "is no folder"),
        (("--model", "openai:m", "--budget-tokens", "-1"), "budget_tokens"),
        (("--model", "openai:m"), "no key"),
    ],
)
def test_what_cannot_work_is_said_before_anything_is_asked(
    arguments: tuple[str, ...], words: str, klab: Klab, task: Path, tmp_path: Path
) -> None:
    done = klab(
        "run", task, *arguments, "--out", tmp_path / "run", env={"OPENAI_API_KEY": None, "KLAB_MODEL_KEY": None}
    )
    assert done.code in (2, 5), done.out
    done.failed(done.code, words)


@pytest.mark.heavy
def test_a_template_that_does_not_render_is_found_before_anything_is_paid(
    klab: Klab, task: Path, tmp_path: Path
) -> None:
    (tmp_path / "own").mkdir()
    (tmp_path / "own" / "write.j2").write_text("{{ task.nmae }}")
    with ModelServer(Scripted()) as server:
        done = klab(
            "run",
            task,
            "--model",
            f"openai:m@{server.url}",
            "--templates",
            tmp_path / "own",
            "--out",
            tmp_path / "run",
            *QUICK,
        )
    done.failed(2, "write.j2", "nmae")
    assert "did you mean 'name'" in done.err
    assert server.calls == 0


@pytest.mark.heavy
@pytest.mark.sample(1)
@pytest.mark.parametrize(
    ("step", "words"),
    [
        (Error(401, "Incorrect API key provided: " + KEY), "key"),
        (Error(404, "The model `m` does not exist", code="model_not_found"), "m"),
    ],
)
def test_a_fault_that_a_person_must_mend_ends_the_run_with_its_state_safe(
    step: Error, words: str, klab: Klab, task: Path, tmp_path: Path
) -> None:
    run = tmp_path / "run"
    with ModelServer([step]) as server:
        done = klab("run", task, "--model", f"openai:m@{server.url}", "--out", run, *QUICK, env={"KLAB_MODEL_KEY": KEY})
        assert done.code != 0
        done.failed(done.code, words)
        assert [t["status"] for t in bodies(run, "trial")] == ["measured"]
        assert server.calls == 1
        assert KEY not in done.out + done.err
        known = len(bodies(run, "trial"))
        assert known
        server.script = Scripted()
        again = klab("resume", run, "--json", env={"KLAB_MODEL_KEY": KEY})
    assert again.code in (0, 3, 7), again.err
    assert len(bodies(run, "trial")) == 8
    assert klab("audit", run).code == 0
    for path in run.rglob("*"):
        assert not path.is_file() or KEY.encode() not in path.read_bytes(), path


@pytest.mark.heavy
def test_bad_replies_cost_a_proposal_each_and_the_run_goes_on(klab: Klab, task: Path, tmp_path: Path) -> None:
    run = tmp_path / "run"
    bad = [HTML, "two <answer>a</answer><answer>b</answer>", *(code("#" * n) for n in (300_000, 10_000_000))]
    script = Scripted({"write": lambda n, _: bad[n] if n < len(bad) else None})
    with ModelServer(script) as server:
        done = klab(
            "run",
            task,
            "--model",
            f"openai:m@{server.url}",
            "--out",
            run,
            *QUICK,
            "--json",
            "--experiments",
            4,
            "--repairs",
            1,
        )
    assert done.code in (0, 3, 7), done.err
    faults = {b["failure"]["fault"] for b in bodies(run, "unread")}
    assert faults == {"two-answers", "too-large"}
    assert {f["kind"] for b in bodies(run, "model-call") for f in b["faults"]} == {"not-json", "too-long"}
    assert done.json["model"]["failed"] == 2


@pytest.mark.heavy
def test_a_candidate_that_a_model_wrote_sees_no_key(klab: Klab, task: Path, tmp_path: Path) -> None:
    spy = (
        "<answer>\n```python\nimport os\nSOURCE = 'void cube(void) {}'\n\ndef launch(x, y):\n"
        "    raise RuntimeError('SEEN ' + repr(dict(os.environ)))\n```\n</answer>"
    )
    with ModelServer(Scripted({"write": lambda n, _: spy, "repair": lambda n, _: spy})) as server:
        done = klab(
            "run",
            task,
            "--model",
            f"openai:m@{server.url}",
            "--out",
            tmp_path / "run",
            *QUICK,
            env={"KLAB_MODEL_KEY": KEY},
        )
    assert KEY not in done.out + done.err
    seen = [t["reason"] for t in bodies(tmp_path / "run", "trial") if "SEEN" in t.get("reason", "")]
    assert seen
    for path in (tmp_path / "run").rglob("*"):
        assert not path.is_file() or KEY.encode() not in path.read_bytes(), path
    assert any(s.key == KEY for s in server.seen)


@pytest.mark.heavy
def test_a_run_cut_in_the_middle_of_a_generation_goes_on_without_paying_again(
    klab: Klab, task: Path, tmp_path: Path
) -> None:
    run, asked = tmp_path / "run", []
    script = Scripted(drip_s=0.01)

    def counting(body: dict[str, object]) -> Say:
        asked.append(json.dumps(body, sort_keys=True))
        return script(body)  # type: ignore[return-value]

    def written() -> int:
        path = run / "ledger.jsonl"
        return path.read_bytes().count(b'"origin":"llm"') if path.exists() else 0

    with ModelServer(counting) as server:
        child = klab.start("run", task, "--model", f"openai:m@{server.url}", "--out", run, *QUICK)
        wait_until(lambda: written() >= 1)
        os.kill(child.pid, signal.SIGKILL)
        child.communicate()
        before = len(bodies(run, "trial"))
        again = klab("resume", run, "--json")
    assert again.code in (0, 3, 7), again.err
    assert before < len(bodies(run, "trial")) == 8
    doubts = [b for b in bodies(run, "model-intent") if b["asked_before"]]
    assert len(asked) - len(set(asked)) <= len(doubts)
    assert klab("audit", run).code == 0


@pytest.mark.slow
@pytest.mark.skipif(weights() is None, reason=MISSING)
def test_a_real_small_model_fails_in_real_ways_and_the_run_still_ends_in_order(
    klab: Klab, task: Path, tmp_path: Path
) -> None:
    """135 million parameters write no kernels: every reply is a format failure, recorded, and the recipes' best is confirmed.
    The prompts are the user's own, and short: so small a model reads a few hundred tokens in a few seconds."""
    run, own = tmp_path / "run", tmp_path / "own"
    own.mkdir()
    (own / "system.j2").write_text("You are a kernel engineer. End with <answer>...</answer>.")
    for kind in ("select", "design", "write"):
        (own / f"{kind}.j2").write_text("Improve this kernel for {{ task.name }}, part " + kind + ".")
    config = tmp_path / "config" / "kernellab"
    config.mkdir(parents=True)
    (config / "config.toml").write_text("[scientist]\nmax_tokens = 48\ntemperature = 0.0\n")
    with local_model() as url:
        done = klab("run", task, "--model", f"openai:smollm2@{url}", "--out", run, *QUICK, "--repairs", 0, "--budget-calls", 4, "--json",
                    "--templates", own, env={"XDG_CONFIG_HOME": str(tmp_path / "config")})  # fmt: skip
    assert done.code in (0, 3, 7), done.err
    assert done.json["model"]["calls"] == 4
    assert bodies(run, "unread")
    assert klab("audit", run).code == 0


@pytest.mark.slow
def test_a_stream_that_is_cut_every_time_ends_in_a_record(klab: Klab, task: Path, tmp_path: Path) -> None:
    run = tmp_path / "run"
    with ModelServer(Scripted({"write": lambda n, _: Cut("<answer>half")})) as server:
        done = klab(
            "run", task, "--model", f"openai:m@{server.url}", "--out", run, *QUICK, "--budget-calls", 4, "--json"
        )
    assert done.code in (0, 3, 7), done.err
    assert server.calls == 4
    assert "cut-stream" in {f["kind"] for b in bodies(run, "model-call") for f in b["faults"]}
