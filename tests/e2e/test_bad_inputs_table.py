"""Every row of the table of bad inputs: the documented exit code, words that name the fault, a way to mend it, no traceback, and no
long wait.

A wait is too long when klab itself works longer than it may: the processor time of the command is what is held against the
limit, since a busy machine makes everything take longer.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from .bad_inputs import COMMANDS, TABLE, Bad, make_places, spelled
from .command import Klab

pytestmark = pytest.mark.backend_c
DOCUMENTED = {0, 2, 3, 4, 5, 6, 7, 130}
MOST_CPU_S = 10.0
RECORDED = (4,)
"""Codes of calls that were carried out: what came of them is told in a report, not in a refusal."""


@pytest.fixture(scope="module")
def places(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    return make_places(tmp_path_factory.mktemp("bad") / "places")


@pytest.mark.sample(12)
@pytest.mark.parametrize("bad", TABLE, ids=lambda bad: bad.name)
def test_a_bad_input_is_refused_in_words_with_its_documented_code(
    klab: Klab, places: dict[str, str], tmp_path: Path, bad: Bad
) -> None:
    here = {**places, "out": str(tmp_path / "out")}
    done = klab(*spelled(bad, here), cwd=Path(places["empty"]))
    said = done.err + done.out
    assert done.code in bad.codes, f"exit code {done.code}\n{said}"
    assert done.code in DOCUMENTED
    assert "Traceback" not in said
    assert done.cpu_s < MOST_CPU_S
    for word in bad.words:
        assert word.format_map(here) in said
    if done.code not in RECORDED and not _reported(bad):
        assert len([line for line in done.err.splitlines() if line.startswith("fix:")]) == 1, said


def _reported(bad: Bad) -> bool:
    """show and audit of a damaged run tell what is there, and what is wrong with it, instead of refusing."""
    return bad.arguments[0] in ("show", "audit") and bad.codes == (5,)


def test_the_table_is_long_and_covers_every_command(klab: Klab) -> None:
    assert len(TABLE) >= 120
    assert len({bad.arguments for bad in TABLE}) == len(TABLE)
    listed = [line.split()[0] for line in klab("--help").out.partition("Commands:")[2].splitlines() if line.strip()]
    covered = {name.split("-")[0] for name in COMMANDS} | set(COMMANDS)
    assert [name for name in listed if name not in covered] == []
