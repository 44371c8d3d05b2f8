"""What is told of a ledger that grows, look by look."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.support.view_runs import growing, growing_suite

from kernellab.core.errors import LedgerFault
from kernellab.core.events import Event
from kernellab.ledger import kinds
from kernellab.ledger.records import End
from kernellab.view.story import Story


def looked(story: Story) -> list[str]:
    """Each event in a word: a trial by its number, a task of a suite by its name."""
    heard: list[Event] = []
    story.look(heard.append)
    return [_word(event) for event in heard]


def _word(event: Event) -> str:
    if event.kind == "trial":
        return f"#{event.data['trial'].trial}"
    if event.kind == "start":
        return f"start {Path(event.data['folder']).name}"
    done = event.data.get("suite_task")
    return f"done {done['task']}" if done else f"{event.kind} {event.text}"


def test_every_look_tells_what_has_come_and_nothing_twice(tmp_path: Path) -> None:
    with growing(tmp_path / "live") as run:
        run.add()
        story = Story(run.folder)
        assert [w for w in looked(story) if w[0] == "#"] == ["#0"]
        assert looked(story) == []
        run.add()
        run.add()
        assert looked(story) == ["#1", "#2"]
        assert not story.ended
        run.ledger.write(kinds.END, End(results=[]))
        assert story.look(lambda _: None)
        assert story.ended


def test_the_trials_of_the_task_that_a_suite_is_at_come_before_its_outcome(tmp_path: Path) -> None:
    with growing_suite(tmp_path / "live") as suite:
        first, second = suite.tasks[:2]
        story = Story(suite.folder)
        assert looked(story) == ["start live", f"doing {first}: is it worth a search?"]
        run = suite.begin(first)
        run.add()
        begins, *told = looked(story)
        assert begins.startswith("note run ")
        assert begins.endswith(f"/runs/{first}")
        assert [w for w in told if w[0] in "#s"] == ["stage cube N=4096", "#0"]
        run.add()
        assert looked(story) == ["#1"]
        run.add()
        run.ledger.close()
        suite.end(first)
        assert looked(story) == ["#2", f"done {first}", f"doing {second}: is it worth a search?"]
        other = suite.begin(second)
        other.add()
        assert looked(story)[-1] == "#0"
        other.ledger.close()


def test_what_a_suite_had_done_before_is_told_by_its_outcome(tmp_path: Path) -> None:
    with growing_suite(tmp_path / "live") as suite:
        first, second = suite.tasks[:2]
        for task in (first, second):
            run = suite.begin(task)
            run.add()
            run.ledger.close()
        suite.end(first)
        told = looked(Story(suite.folder))
        assert f"done {first}" in told
        begun = [w.rpartition("/")[2] for w in told if w.startswith("note run ")]
        assert (told.count("#0"), begun) == (1, [second])


def test_a_task_whose_ledger_cannot_be_read_hides_nothing_else(tmp_path: Path) -> None:
    with growing_suite(tmp_path / "live") as suite:
        place = suite.folder / "runs" / suite.tasks[0]
        place.mkdir(parents=True)
        (place / "ledger.jsonl").write_text("")
        story = Story(suite.folder)
        assert looked(story)[0] == "start live"
        (place / "ledger.jsonl").write_text("no entry\n")
        assert looked(story) == []
        suite.end(suite.tasks[0])
        assert f"done {suite.tasks[0]}" in looked(story)


def test_a_folder_without_entries_is_a_fault(tmp_path: Path) -> None:
    (tmp_path / "ledger.jsonl").write_text("")
    with pytest.raises(LedgerFault, match="holds an empty ledger"):
        Story(tmp_path)
