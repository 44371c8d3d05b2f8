"""klab build: real compilers, no device. And the two commands around it that take a second look."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from kernellab.build.cubin import find_tool
from kernellab.cli import app as cli
from kernellab.propose.recipe import FOLDER

pytest.importorskip("triton")
Main = Callable[..., tuple[int, str, str]]


@pytest.fixture
def main(own_home: None, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Main:
    def run(*arguments: object) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["klab", *map(str, arguments)])
        monkeypatch.setattr(cli.signal, "signal", lambda *_: None)
        code: object = 0
        try:
            cli.main()
        except SystemExit as end:
            code = end.code
        printed = capsys.readouterr()
        return int(str(code or 0)), printed.out, printed.err

    return run


@pytest.mark.heavy
def test_a_triton_candidate_for_a_gpu_that_is_not_here(main: Main, tmp_path: Path) -> None:
    listing = tmp_path / "kernel.ptx"
    code, out, err = main("build", FOLDER / "triton" / "softmax_row.py", "--task", "softmax", "--dtype", "bf16", "--shape", "16384x4096",
                          "--target", "sm_90", "--param", "WARPS=8", "--ptx", "--listing", listing, "--json")  # fmt: skip
    assert code == 0, err
    data = json.loads(out)
    assert (data["status"], data["backend"], data["target"], data["task"]) == (
        "built",
        "triton",
        "sm_90",
        "softmax_bf16",
    )
    assert data["params"]["WARPS"] == 8
    assert data["dims"] == {"M": 16384, "N": 4096}
    assert len(data["artifact"]) == 64
    assert data["shapes"] > 4
    (timed,) = [k for k in data["kernels"] if k["timed"]]
    assert 16 <= timed["registers"] <= 255
    assert timed["local_bytes"] == 0
    (launch,) = data["launches"]
    assert launch["kernel"] == timed["kernel"]
    assert (launch["grid"], launch["block"]) == ([16384, 1, 1], [256, 1, 1])
    assert ".visible .entry" in listing.read_text()
    assert ".target sm_90a" in listing.read_text()


@pytest.mark.slow
@pytest.mark.skipif(not find_tool(), reason="no nvdisasm here")
def test_the_instructions_can_be_listed(main: Main, tmp_path: Path) -> None:
    listing = tmp_path / "kernel.sass"
    code, out, err = main(
        "build",
        FOLDER / "triton" / "softmax_row.py",
        "--task",
        "softmax",
        "--target",
        "sm_80",
        "--sass",
        "--listing",
        listing,
    )
    assert code == 0, err
    assert f"listing in {listing}" in out.replace("\n", "")
    assert "EXIT" in listing.read_text()


@pytest.mark.heavy
def test_a_cuda_candidate_in_words(main: Main) -> None:
    code, out, err = main("build", FOLDER / "cuda" / "softmax_block_row.py", "--task", "softmax", "--target", "sm_90")
    if "libnvrtc" in out or "nvidia-cuda-nvrtc" in out:
        pytest.skip("no NVRTC here")
    assert code == 0, out + err
    first, *rest = out.splitlines()
    assert first == "softmax_block_row (cuda) for softmax M=16384,N=781, sm_90"
    assert rest[1].startswith("compiler    NVRTC")
    for word in ("artifact", "registers", "local bytes", "grid", "block", "shared", "16384"):
        assert word in out


@pytest.mark.backend_c
def test_a_c_candidate_is_built_for_this_processor(main: Main, tmp_path: Path) -> None:
    file = FOLDER / "c" / "softmax_online.py"
    code, out, _ = main("build", file, "--task", "softmax", "--shape", "64x128", "--json")
    data = json.loads(out)
    assert (code, data["status"], data["backend"], data["dims"]) == (0, "built", "c", {"M": 64, "N": 128})
    assert data["launches"][0]["kernel"] == data["kernels"][0]["kernel"] == "softmax_rows"
    code, _, err = main("build", file, "--task", "softmax", "--ptx", "--listing", tmp_path / "x")
    assert code == 2
    assert "neither PTX nor SASS" in err


@pytest.mark.heavy
@pytest.mark.backend_c
@pytest.mark.parametrize(("text", "status", "reason"), [
    ("SOURCE = 'void k(const float *x, float *y, long n) { this is not C }'\ndef launch(x, y):\n    kernel('k')(x, y, x.size)\n", "build-failed", "compile"),
    ("SOURCE = 'void k(void) {}'\ndef launch(x, y):\n    raise ValueError('a combination that makes no sense')\n", "invalid", "makes no sense"),
])  # fmt: skip
def test_what_does_not_build_is_exit_code_4_and_a_reason(
    main: Main, tmp_path: Path, text: str, status: str, reason: str
) -> None:
    (tmp_path / "bad.py").write_text(text)
    code, out, _ = main("build", tmp_path / "bad.py", "--task", "softmax", "--json")
    data = json.loads(out)
    assert (code, data["status"]) == (4, status)
    assert reason in data["reason"]
    code, out, _ = main("build", tmp_path / "bad.py", "--task", "softmax")
    assert code == 4
    assert f"{status.upper()}  " in out


@pytest.mark.heavy
@pytest.mark.parametrize(("words", "message"), [
    (("--ptx",), "go with --listing"),
    (("--listing", "x"), "go with --listing"),
    (("--target", "sm_9"), "no GPU architecture 'sm_9'"),
    (("--param", "NONE=1"), "has no parameter 'NONE'"),
    (("--shape", "1x2x3"), "is not a shape"),
])  # fmt: skip
def test_a_call_that_makes_no_sense_is_exit_code_2(main: Main, words: tuple[str, ...], message: str) -> None:
    code, _, err = main("build", FOLDER / "triton" / "softmax_row.py", "--task", "softmax", *words)
    assert code == 2
    assert message in err


@pytest.mark.backend_c
def test_the_sanitizer_is_for_gpus(main: Main, tmp_path: Path) -> None:
    file = FOLDER / "c" / "softmax_online.py"
    code, _, err = main("verify", file, "--task", "softmax", "--device", "cpu", "--sanitize", "--out", tmp_path / "run")
    assert code == 2
    assert "compute-sanitizer cannot look at machine code of a processor" in err
    assert not (tmp_path / "run").exists()
