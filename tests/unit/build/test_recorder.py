"""The recorder runs in the tests' own process here: these candidates are ours."""

from __future__ import annotations

import json
import os
from typing import Any

import pytest

from kernellab import candidate
from kernellab.build import recorder
from kernellab.build.plan import Plan

BUFFERS = [{"shape": [4, 6], "dtype": "float32"}, {"shape": [4], "dtype": "float64"}]
SOURCE = "SOURCE = 'void k(void) {}'\n"


def record(text: str, params: dict[str, Any] | None = None, launcher: str = "plain") -> dict[str, Any]:
    request = {"text": text, "name": "test.py", "params": params or {}, "buffers": BUFFERS}
    return recorder.record(request | {"launcher": launcher})


def launch(body: str, signature: str = "x, y") -> str:
    lines = "\n".join(f"    {line}" for line in body.splitlines())
    return f"{SOURCE}def launch({signature}):\n{lines}\n"


def steps(body: str, **params: Any) -> list[dict[str, Any]]:
    reply = record(launch(body, ", ".join(["x", "y", *params])), params)
    assert reply["status"] == "recorded", reply
    return reply["plan"]["steps"]


def test_a_launch_becomes_data_that_a_plan_accepts() -> None:
    reply = record(launch('t = scratch((2, 8), "float64")\nkernel("k")(x, y, t, x.shape[1], 0.5, True)'))
    assert reply["status"] == "recorded"
    plan = Plan.model_validate(json.loads(json.dumps(reply["plan"])))
    assert plan.scratch == [128]
    assert [a.kind for a in plan.steps[0].args] == ["buffer", "buffer", "scratch", "int", "float", "int"]
    assert plan.faults(2) == ""


def test_stand_ins_have_shape_dtype_strides_size_ndim_and_no_data() -> None:
    body = """
assert x.shape == (4, 6) and x.dtype == "float32" and x.strides == (6, 1) and x.size == 24 and x.ndim == 2
assert x.itemsize == 4 and x.nbytes == 96 and len(x) == 4 and len(y) == 4 and y.strides == (1,)
assert "StandIn" in repr(x) and not hasattr(x, "data")
kernel("k")(x)
"""
    assert steps(body) == [{"kernel": "k", "grid": None, "args": [{"kind": "buffer", "index": 0}]}]


@pytest.mark.parametrize("text", ["def launch(:\n", "x = 1 / 0\n", "import no_such_module\n"])
def test_a_file_that_does_not_run_is_build_failed_with_the_line(text: str) -> None:
    reply = record(text)
    assert reply["status"] == "build-failed"
    assert reply["reason"].startswith("the file does not run: ")
    assert "(line 1)" in reply["reason"]


@pytest.mark.parametrize("text", [SOURCE, SOURCE + "launch = 5\n"])
def test_a_file_without_launch_is_build_failed(text: str) -> None:
    assert record(text) == {"status": "build-failed", "reason": "the file has no launch() function"}


@pytest.mark.parametrize("source", ["", "SOURCE = ''\n", "SOURCE = '  \\n '\n"])
def test_a_file_without_source_is_build_failed(source: str) -> None:
    reply = record(source + "def launch(x, y):\n    kernel('k')(x)\n")
    assert reply == {"status": "build-failed", "reason": "the file has no SOURCE with C code"}


def test_a_value_error_in_launch_is_an_invalid_combination() -> None:
    assert record(launch("raise ValueError('more rows a block than rows')")) == {
        "status": "invalid",
        "reason": "more rows a block than rows",
    }


def test_a_value_error_without_words_still_gives_a_reason() -> None:
    assert record(launch("raise ValueError"))["reason"] == "launch() refused the parameters"


def test_any_other_error_in_launch_is_build_failed_with_its_line() -> None:
    reply = record(launch("a = 1\nraise KeyError('what')"))
    assert reply["status"] == "build-failed"
    assert reply["reason"] == "launch() fails: KeyError: 'what' (line 4)"


def test_a_launch_that_launches_nothing_records_an_empty_plan_that_is_at_fault() -> None:
    reply = record(launch("pass"))
    assert Plan.model_validate(reply["plan"]).faults(2) == "launch() launched nothing"


def test_a_plan_that_differs_at_the_second_call_is_build_failed() -> None:
    text = SOURCE + "n = 0\ndef launch(x, y):\n    global n\n    n += 1\n    kernel('k')(x, n)\n"
    assert record(text) == {"status": "build-failed", "reason": "launch() records another plan when it is called again"}


@pytest.mark.parametrize(
    ("index", "grid"),
    [
        ("5", [5]), ("5,", [5]), ("(5,)", [5]), ("2, 3", [2, 3]), ("(2, 3)", [2, 3]), ("2, 3, 4", [2, 3, 4]),
        ("(2, 3, 4)", [2, 3, 4]), ("(2, 3), 1", [2, 3]), ("(2, 3), 1, 0", [2, 3]), ("[2, 3], (1, 1, 1), 0", [2, 3]),
        ("5, 1, 0", [5]), ("4, 1, 1", [4, 1, 1]),
    ],
)  # fmt: skip
def test_every_way_to_write_a_grid_is_understood(index: str, grid: list[int]) -> None:
    assert steps(f"kernel('k')[{index}](x)")[0]["grid"] == grid


@pytest.mark.parametrize("index", ["(1, 2, 3, 4)", "1, 2, 3, 4", "()", "(2,), 128", "(2,), 1, 1024", "5, 128, 0"])
def test_blocks_shared_memory_and_odd_grids_are_invalid_for_c(index: str) -> None:
    assert record(launch(f"kernel('k')[{index}](x)"))["status"] == "invalid"


@pytest.mark.parametrize(
    ("value", "argument"),
    [
        ("7", {"kind": "int", "value": 7}), ("-(1 << 63)", {"kind": "int", "value": -(1 << 63)}),
        ("True", {"kind": "int", "value": 1}), ("0.25", {"kind": "float", "value": 0.25}),
        ("__import__('numpy').int32(3)", {"kind": "int", "value": 3}),
        ("__import__('numpy').float32(0.5)", {"kind": "float", "value": 0.5}),
        ("__import__('fractions').Fraction(1, 4)", {"kind": "float", "value": 0.25}),
    ],
)  # fmt: skip
def test_scalars_are_recorded_by_kind(value: str, argument: dict[str, Any]) -> None:
    assert steps(f"kernel('k')({value})")[0]["args"] == [argument]


@pytest.mark.parametrize(
    "value", ["float('-inf')", "float('inf')", "float('nan')", "__import__('numpy').float32('inf')"]
)
@pytest.mark.parametrize("launcher", ["plain", "blocks"])
def test_an_argument_that_is_not_finite_is_named(value: str, launcher: str) -> None:
    grid = "" if launcher == "plain" else "[1, 32]"
    reply = record(launch(f"kernel('k'){grid}({value})"), launcher=launcher)
    assert reply["status"] == "build-failed"
    assert "and plans hold finite numbers: write INFINITY or NAN in SOURCE" in reply["reason"]


@pytest.mark.parametrize("value", ["'text'", "None", "[1]", "x.shape", "b'1'", "1j"])
def test_anything_else_as_an_argument_is_build_failed(value: str) -> None:
    reply = record(launch(f"kernel('k')({value})"))
    assert reply["status"] == "build-failed"
    assert "a launch argument must be a buffer, an int or a float" in reply["reason"]


@pytest.mark.parametrize(
    "call", ["scratch(0)", "scratch(-1)", "scratch((4, 0))", "scratch(4, 'float128')", "scratch(4, 'object')"]
)
def test_impossible_scratch_is_invalid(call: str) -> None:
    reply = record(launch(f"kernel('k')({call})"))
    assert reply["status"] == "invalid"
    assert "extents must be positive" in reply["reason"]


@pytest.mark.parametrize(
    ("call", "nbytes"),
    [("scratch(4)", 16), ("scratch((2, 3), 'float64')", 48), ("scratch([5], 'uint8')", 5),
     ("scratch(4, __import__('numpy').float64)", 32), ("scratch(4, __import__('numpy').dtype('int16'))", 8)],
)  # fmt: skip
def test_scratch_takes_a_number_or_a_shape_and_a_dtype(call: str, nbytes: int) -> None:
    reply = record(launch(f"kernel('k')({call})"))
    assert reply["plan"]["scratch"] == [nbytes]


def test_more_scratch_than_there_may_be_is_caught_by_the_plan() -> None:
    reply = record(launch("kernel('k')(scratch((3 << 30,), 'uint8'))"))
    assert "bytes of scratch" in Plan.model_validate(reply["plan"]).faults(2)


def test_launch_gets_the_parameters_it_names_and_no_others() -> None:
    assert steps("kernel('k')(A)", A=3)[0]["args"][0]["value"] == 3
    text = launch("kernel('k')(B)", "x, y, B=9")
    assert record(text, {"A": 3})["plan"]["steps"][0]["args"][0]["value"] == 9
    text = launch("kernel('k')(len(p))", "x, y, **p")
    assert record(text, {"A": 3, "C": 4})["plan"]["steps"][0]["args"][0]["value"] == 2


def test_a_launch_that_takes_other_buffers_is_build_failed() -> None:
    reply = record(launch("kernel('k')(x)", "x, y, z"))
    assert reply["status"] == "build-failed"
    assert "missing 1 required positional argument: 'z'" in reply["reason"]


def test_the_hooks_can_be_imported_and_work_only_inside_launch() -> None:
    text = "from kernellab.candidate import kernel, scratch\n" + launch("kernel('k')(scratch(4))")
    assert record(text)["status"] == "recorded"
    with pytest.raises(RuntimeError, match="only inside launch"):
        candidate.kernel("k")
    with pytest.raises(RuntimeError, match="only inside launch"):
        candidate.scratch(4)


def test_a_description_holds_space_tasks_and_the_docstring() -> None:
    text = '"""Why\n   so."""\nTASKS = "softmax"\nSPACE = {"A": (1, 2), "B": ["u", "v"]}\n' + launch("pass")
    reply = recorder.describe_only({"text": text, "name": "t"})
    assert reply["status"] == "described"
    assert (reply["space"], reply["tasks"], reply["about"]) == ({"A": [1, 2], "B": ["u", "v"]}, ["softmax"], "Why\nso.")


@pytest.mark.parametrize("line", ["SPACE = 5", "SPACE = {'A': 5}", "FLAGS = 5", "TASKS = 5", "raise OSError('no')"])
def test_a_description_that_makes_no_sense_is_build_failed(line: str) -> None:
    assert recorder.describe_only({"text": f"{SOURCE}{line}\n", "name": "t"})["status"] == "build-failed"


@pytest.mark.parametrize("line", ["SPACE = 5", "FLAGS = 5", "TASKS = 5"])
def test_data_that_makes_no_sense_is_build_failed_with_a_reason(line: str) -> None:
    assert record(f"{line}\n{launch('kernel(chr(107))(x)')}")["status"] == "build-failed"


def cuda_steps(body: str) -> list[dict[str, Any]]:
    reply = record(launch(body), launcher="blocks")
    assert reply["status"] == "recorded", reply
    Plan.model_validate(json.loads(json.dumps(reply["plan"])))
    return reply["plan"]["steps"]


def test_without_a_back_end_the_launches_are_c_functions() -> None:
    request = {"text": launch("kernel('k')(x)"), "name": "t", "params": {}, "buffers": BUFFERS}
    assert recorder.record(request) == record(launch("kernel('k')(x)"))


@pytest.mark.parametrize(
    ("index", "shape"),
    [
        ("5, 32", ([5], [32], 0)), ("(2, 3), 32", ([2, 3], [32], 0)), ("5, (32, 4)", ([5], [32, 4], 0)),
        ("(2, 3, 4), (8, 8, 2), 102400", ([2, 3, 4], [8, 8, 2], 102400)), ("[5], [32], 16", ([5], [32], 16)),
        ("x.shape[0], 32", ([4], [32], 0)), ("__import__('numpy').int64(5), 32", ([5], [32], 0)),
    ],
)  # fmt: skip
def test_a_cuda_launch_has_grid_block_and_shared_memory(index: str, shape: tuple[list[int], list[int], int]) -> None:
    step = cuda_steps(f"kernel('k')[{index}](x, 1, 0.5)")[0]
    assert (step["grid"], step["block"], step["shared"]) == shape
    assert [a["kind"] for a in step["args"]] == ["buffer", "int", "float"]


@pytest.mark.parametrize(
    "index",
    ["5", "(5,)", "5, 32, 0, 0", "(), 32", "5, ()", "0, 32", "5, 0", "-1, 32", "(1, 2, 3, 4), 32", "(5, 0), 32"],
)
def test_a_cuda_launch_of_another_shape_is_invalid(index: str) -> None:
    assert record(launch(f"kernel('k')[{index}](x)"), launcher="blocks")["status"] == "invalid"


def test_a_cuda_launch_without_a_grid_is_invalid() -> None:
    reply = record(launch("kernel('k')(x)"), launcher="blocks")
    assert (reply["status"], "needs a grid and a block" in reply["reason"]) == ("invalid", True)


@pytest.mark.parametrize(
    ("options", "cluster", "cooperative"),
    [
        ("", None, False), (", cooperative=True", None, True), (", cluster=(2, 1, 1)", [2, 1, 1], False), (", cluster=4", [4], False),
        (", cluster=(2,), cooperative=True", [2], True),
    ],
)  # fmt: skip
def test_clusters_and_cooperative_launches_are_recorded(options: str, cluster: Any, cooperative: bool) -> None:
    step = cuda_steps(f"kernel('k<float, 4>'{options})[4, 32](x)")[0]
    assert (step["kernel"], step.get("cluster"), step["cooperative"]) == ("k<float, 4>", cluster, cooperative)


def test_a_kernel_can_be_launched_in_several_shapes() -> None:
    body = "k = kernel('k', cluster=2)\nsmall, large = k[2, 32], k[4, 64, 16]\nsmall(x)\nlarge(y)\nsmall(y)"
    steps = cuda_steps(body)
    assert [(s["grid"], s["block"], s["shared"], s["cluster"]) for s in steps] == [
        ([2], [32], 0, [2]), ([4], [64], 16, [2]), ([2], [32], 0, [2]),
    ]  # fmt: skip


@pytest.mark.parametrize("options", ["stream=1", "cluster=(1, 2, 3, 4)", "cluster=(0,)", "cluster='x'"])
def test_options_that_make_no_sense_are_refused(options: str) -> None:
    assert record(launch(f"kernel('k', {options})[1, 32](x)"), launcher="blocks")["status"] != "recorded"


def test_scratch_can_be_asked_for_zeroed() -> None:
    body = "a, b, c = scratch(4), scratch(8, 'bfloat16', zero=True), scratch((2, 2), zero=True)\nkernel('k')[1, 32](a, b, c)"
    plan = record(launch(body), launcher="blocks")["plan"]
    assert (plan["scratch"], plan["zeroed"]) == ([16, 16, 16], [1, 2])


def test_a_failure_that_needs_no_name_keeps_its_words() -> None:
    assert recorder.say(recorder.Failed("does not compile")) == "does not compile"


def replied(text: str, only: str) -> dict[str, Any]:
    return recorder.describe_only({"text": text, "name": "t"}) if only else record(text)


@pytest.mark.parametrize(
    ("most", "more", "reason"),
    [
        ("SPACE = {f'A{i}': [1] for i in range(64)}", "SPACE = {f'A{i}': [1] for i in range(65)}", "SPACE has more than 64 names"),
        ("SPACE = {'A': range(1024)}", "SPACE = {'A': range(1025)}", "SPACE has more than 1024 choices of 'A'"),
        ("FLAGS = ['-O3'] * 256", "FLAGS = ['-O3'] * 257", "FLAGS has more than 256 entries"),
        ("TASKS = ['t'] * 64", "TASKS = ['t'] * 65", "TASKS has more than 64 entries"),
    ],
)  # fmt: skip
def test_no_more_is_taken_than_is_allowed(most: str, more: str, reason: str) -> None:
    for only in ("", "describe"):
        assert replied(f"{most}\n{launch('kernel(chr(107))(x)')}", only)["status"] in ("recorded", "described")
        assert replied(f"{more}\n{launch('pass')}", only) == {"status": "build-failed", "reason": reason}


def test_choices_that_never_end_are_refused() -> None:
    reply = recorder.describe_only({"text": "import itertools\nSPACE = {'A': itertools.count()}\n", "name": "t"})
    assert reply == {"status": "build-failed", "reason": "SPACE has more than 1024 choices of 'A'"}


@pytest.mark.parametrize(("only", "status"), [("describe", "described"), ("", "recorded")])
def test_the_job_reads_its_request_and_writes_its_reply_to_descriptors(only: str, status: str) -> None:
    request, reply = os.memfd_create("request"), os.memfd_create("reply")
    asked = {"text": launch("kernel('k')(x)"), "name": "t", "params": {}, "buffers": BUFFERS, "only": only}
    os.write(request, json.dumps(asked).encode())
    assert recorder.main([request, reply]) == 0
    assert json.loads(os.pread(reply, 1 << 20, 0))["status"] == status
    for fd in (request, reply):
        os.close(fd)


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("SPACE = {'A': [1, float('nan')]}", "SPACE['A'] holds nan: give finite numbers"),
        ("SPACE = {'A': [1], 'B': [float('-inf')]}", "SPACE['B'] holds -inf: give finite numbers"),
        ("SPACE = {'A': ['\\ud800']}", "SPACE['A'] holds a lone surrogate, \\ud800"),
        ("SPACE = {'\\udfff': [1]}", "SPACE holds a lone surrogate, \\udfff"),
        ("SOURCE = '/* \\ud800 */'", "SOURCE holds a lone surrogate, \\ud800: it is half of a character"),
        ("FLAGS = ['\\ud800']", "FLAGS holds a lone surrogate"),
        ("TASKS = ['\\ud800']", "TASKS holds a lone surrogate"),
        ("__doc__ = '\\ud800'", "the docstring holds a lone surrogate"),
    ],
)
def test_what_a_record_cannot_hold_is_named(line: str, says: str) -> None:
    replies = record(SOURCE + launch("pass") + line + "\n"), recorder.describe_only({"text": line, "name": "f"})
    for reply in replies:
        assert reply["status"] == "build-failed"
        assert says in reply["reason"]
