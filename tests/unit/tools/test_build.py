"""compile(): what builds is kept under an id, what does not is a result with the lines at fault, and no shape leaks."""

from __future__ import annotations

from pathlib import Path

import pytest

from kernellab import tools
from kernellab.core.errors import UsageError
from kernellab.tools import ToolContext
from kernellab.tools.records import Compiled, NotCompiled

from .conftest import GOOD, SPEC

pytestmark = pytest.mark.backend_c


def test_keeps_an_artifact_that_later_calls_can_name(context: ToolContext, artifact: Compiled) -> None:
    kept = context.workspace.artifact(artifact.artifact)
    assert (kept.kernel, kept.dims, kept.params) == (artifact.kernel, {"N": 4096}, {"PAD": 1})
    assert kept.artifact.code == artifact.code
    assert context.workspace.candidate(context.workspace.kernel(artifact.kernel)).text == GOOD


def test_flags_become_part_of_the_source_and_are_checked(
    context: ToolContext, artifact: Compiled, tmp_path: Path
) -> None:
    file = tmp_path / "mine.py"
    file.write_text(GOOD)
    made = tools.compile(file, "c", ["-O1"], spec=SPEC, params={"PAD": 2}, context=context)
    assert isinstance(made, Compiled)
    assert made.artifact != artifact.artifact
    kernel = context.workspace.kernel(made.kernel)
    assert kernel.name == "mine"
    assert "'-O1'" in context.workspace.candidate(kernel).text
    assert "-O1" in context.workspace.artifact(made.artifact).artifact.flags
    refused = tools.compile(GOOD, flags=["-fplugin=/tmp/x.so"], spec=SPEC, context=context)
    assert isinstance(refused, NotCompiled)
    assert "fplugin" in refused.reason


def test_a_compile_error_names_the_line_of_the_candidate(context: ToolContext) -> None:
    made = tools.compile(GOOD.replace("y[i] =", "y[i] = oops"), spec=SPEC, context=context)
    assert isinstance(made, NotCompiled)
    assert made.status == "build-failed"
    assert "line 6" in made.reason
    assert "error" in context.workspace.log(context.workspace.kernel(made.kernel))


def test_an_artifact_is_built_without_the_held_out_shapes(context: ToolContext) -> None:
    spy = GOOD.replace(
        "    kernel(", "    if x.size == 5003:\n        raise ValueError(f'psst {x.size:x}')\n    kernel("
    )
    made = tools.compile(spy, spec=SPEC, context=context)
    assert isinstance(made, Compiled)
    plans = (context.workspace.folder / "built" / made.artifact / "plans.json").read_text()
    assert '"N":4096' in plans
    assert "5003" not in plans


def test_numbers_that_a_caller_writes_come_back_whole_so_that_gaps_tell_nothing(context: ToolContext) -> None:
    numbers = " ".join(map(str, range(4990, 5010)))
    made = tools.compile(
        GOOD.replace("    kernel(", f"    raise ValueError('{numbers}')\n    kernel("), spec=SPEC, context=context
    )
    assert isinstance(made, NotCompiled)
    assert numbers in made.reason


def test_refuses_a_source_without_a_purpose_another_back_end_and_unknown_parameters(context: ToolContext) -> None:
    with pytest.raises(UsageError, match="what this source is for"):
        tools.compile(GOOD, context=context)
    with pytest.raises(UsageError, match="is c, not cuda"):
        tools.compile(GOOD, "cuda", spec=SPEC, context=context)
    with pytest.raises(UsageError, match="no parameter 'WIDTH'"):
        tools.compile(GOOD, spec=SPEC, params={"WIDTH": 3}, context=context)
    with pytest.raises(UsageError, match="no compiler flags"):
        tools.compile("import triton\n", flags=["-O3"], spec=SPEC, context=context)
