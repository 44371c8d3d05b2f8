"""Facts read from cubins that NVRTC (and Triton, where it is) made here, held against NVIDIA's own tools."""

from __future__ import annotations

import functools
import os
import re
import struct
import subprocess
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kernellab.build import cubin, nvrtc_job
from kernellab.build.cubin import (
    CubinFacts,
    KernelFacts,
    Variable,
    Writable,
    audit,
    code_sections,
    disassemble,
    launch_fault,
    writable,
)
from kernellab.build.plan import Step

SOURCE = """
struct P { int a[9]; };
__device__ char big[5000]; static __device__ int count; __device__ float start[3] = {1, 2, 3};
__constant__ float weights[5];
__global__ void many(const float *x, float *y, short n, char c, P p, double d) {
    __shared__ float a[300]; extern __shared__ float e[];
    a[threadIdx.x] = x[threadIdx.x]; __syncthreads();
    y[0] = a[n] + p.a[c] + d + big[n] + atomicAdd(&count, 1) + e[n] + weights[n] + start[n];
}
__global__ void nothing() {}
__global__ void __launch_bounds__(256, 2) bounded(int *p) { p[threadIdx.x] = 0; }
__global__ void frame(int *p) { volatile int v[512]; for (int i = 0; i < p[0]; i++) v[p[i] & 511] = i; p[1] = v[p[3] & 511]; }
"""
NAMES = ["many", "nothing", "bounded", "frame"]
needs_nvrtc = pytest.mark.skipif(bool(nvrtc_job.PROBLEM), reason=nvrtc_job.PROBLEM)
ARCHS = ["sm_80", "sm_86", "sm_89", "sm_90a", "sm_100a", "sm_120a"]
RECORDED = Path(__file__).parents[2] / "data" / "cubin"


@functools.cache
def made(arch: str = "sm_90a", source: str = SOURCE) -> bytes:
    done = nvrtc_job.compile_source(source, "test", [f"--gpu-architecture={arch}"], NAMES if source == SOURCE else [])
    assert done.cubin is not None, done.log
    return done.cubin


def usage(image: bytes, folder: Path) -> tuple[int, dict[str, dict[str, int]]]:
    """Static memory and each kernel's figures, as cuobjdump tells them."""
    tool = os.path.join(os.path.dirname(cubin.find_tool()), "cuobjdump")
    if not os.path.isfile(tool):
        pytest.skip("no cuobjdump on this machine")
    path = folder / "a.cubin"
    path.write_bytes(image)
    text = subprocess.run([tool, "-res-usage", str(path)], capture_output=True, text=True, check=True).stdout
    found = re.search(r"GLOBAL:(\d+)", text)
    kernels = {
        name: {k: int(v) for k, v in re.findall(r"(REG|STACK|SHARED):(\d+)", line)}
        for name, line in re.findall(r"Function (\S+):\s*\n(.*)", text)
    }
    return int(found[1]) if found else 0, kernels


@needs_nvrtc
@pytest.mark.parametrize("arch", ARCHS)
def test_the_facts_are_those_of_nvidias_own_tool(arch: str, tmp_path: Path) -> None:
    facts = audit(made(arch))
    static, kernels = usage(made(arch), tmp_path)
    assert facts.static_bytes == static == 5000 + 4 + 12
    assert set(facts.kernels) == set(kernels)
    system = 1024 if facts.arch >= 90 else 0
    for name, kernel in facts.kernels.items():
        assert kernel.registers == kernels[name]["REG"]
        assert kernel.local_bytes == kernels[name]["STACK"]
        assert kernel.shared_bytes == max(0, kernels[name]["SHARED"] - system)


@needs_nvrtc
@pytest.mark.parametrize("arch", ARCHS)
def test_every_writable_byte_is_found_with_the_variables_around_it(arch: str) -> None:
    parts = {part.name: part for part in writable(made(arch))}
    assert sum(part.size for part in parts.values()) == audit(made(arch)).static_bytes
    filled, empty = parts[".nv.global.init"], parts[".nv.global"]
    assert [(v.name, v.offset, v.size) for v in filled.variables] == [("start", 0, 12)]
    assert sorted((v.name.lstrip("_ZL5"), v.size) for v in empty.variables) == [("big", 5000), ("count", 4)]
    assert all(v.offset + v.size <= empty.size for v in empty.variables)


@needs_nvrtc
def test_a_module_without_static_memory_has_no_writable_part() -> None:
    source = "__constant__ int c; __global__ void k(int *p) { __shared__ int s[9]; s[p[0]] = c; p[1] = s[p[2]]; }"
    assert writable(made("sm_90a", source)) == []


@pytest.mark.parametrize(("arch", "registers"), [(80, 14), (90, 12)])
def test_a_recorded_module_has_the_facts_of_its_source(arch: int, registers: int) -> None:
    image = (RECORDED / f"many.sm_{arch}.cubin").read_bytes()
    assert audit(image) == CubinFacts(
        arch=arch, static_bytes=5000 + 4 + 12, constant_bytes=44, code_bytes=512 + 256 + 384, imports=(),
        kernels={
            "many": KernelFacts(registers, 0, 1200, (8, 8, 2, 1, 36, 8), 0, 512),
            "nothing": KernelFacts(4, 0, 0, (), 0, 256),
            "bounded": KernelFacts(10, 2048, 0, (8,), 256, 384),
        },
    )  # fmt: skip
    assert writable(image) == [
        Writable(".nv.global.init", 12, (Variable("start", 0, 12),)),
        Writable(".nv.global", 5004, (Variable("big", 4, 5000), Variable("count", 0, 4))),
    ]
    assert sorted(map(len, code_sections(image))) == [256, 384, 512]


@needs_nvrtc
@pytest.mark.parametrize("arch", ARCHS)
def test_parameters_bounds_and_memory_of_each_kernel(arch: str) -> None:
    facts = audit(made(arch))
    assert facts.arch == int("".join(filter(str.isdigit, arch)))
    assert facts.constant_bytes >= 20
    assert facts.code_bytes >= sum(k.code_bytes for k in facts.kernels.values()) > 0
    assert facts.imports == ()
    kernels = {name: next(k for symbol, k in facts.kernels.items() if name in symbol) for name in NAMES}
    assert kernels["many"].parameters == (8, 8, 2, 1, 36, 8)
    assert kernels["many"].shared_bytes == 1200
    assert kernels["nothing"].parameters == ()
    assert (kernels["bounded"].parameters, kernels["bounded"].max_threads) == ((8,), 256)
    assert kernels["frame"].local_bytes == 2048


@needs_nvrtc
def test_calls_into_the_driver_are_listed() -> None:
    source = 'extern "C" __global__ void k(int **p) { p[0] = (int *)malloc(4); printf("x"); free(p[1]); }'
    assert audit(made("sm_90a", source)).imports == ("free", "malloc", "vprintf")


@needs_nvrtc
def test_parameters_in_another_format_are_not_guessed() -> None:
    source = 'struct Q { int a[2000]; };\nextern "C" __global__ void k(Q q, int *p) { p[0] = q.a[p[1]]; }'
    assert audit(made("sm_90a", source)).kernels["k"].parameters is None


@pytest.mark.heavy
def test_a_module_that_triton_made_is_read_too(tmp_path: Path) -> None:
    triton = pytest.importorskip("triton")
    from triton.backends.compiler import GPUTarget
    from triton.compiler import ASTSource

    path = tmp_path / "kernel.py"
    path.write_text(
        "import triton, triton.language as tl\n@triton.jit\ndef add(x, y, n, s, B: tl.constexpr):\n"
        "    o = tl.program_id(0) * B + tl.arange(0, B)\n    v = tl.load(x + o, mask=o < n, other=0)\n"
        "    tl.store(y + o, v * s + tl.sum(v, 0), mask=o < n)\n"
    )
    scope: dict[str, Any] = {"__name__": "kernel", "__file__": str(path)}
    import linecache

    linecache.checkcache(str(path))
    exec(compile(path.read_text(), str(path), "exec"), scope)
    signature = {"x": "*fp32", "y": "*fp32", "n": "i32", "s": "fp32", "B": "constexpr"}
    source = ASTSource(scope["add"], signature, constexprs={"B": 1024})
    kernel = triton.compile(source, target=GPUTarget("cuda", 90, 32), options={"num_warps": 4})
    facts = audit(kernel.asm["cubin"])
    assert (facts.arch, facts.static_bytes, facts.imports) == (90, 0, ())
    parameters = facts.kernels["add"].parameters
    assert parameters is not None
    assert parameters[:4] == (8, 8, 4, 4)
    assert facts.kernels["add"].registers == usage(kernel.asm["cubin"], tmp_path)[1]["add"]["REG"]


@pytest.mark.parametrize(
    "image", [b"", b"\x7fELF", b"x" * 4096, b"\x7fELF\x02\x01" + bytes(200), b"\x7fELF" + b"\xff" * 999]
)
def test_garbage_is_a_value_error(image: bytes) -> None:
    for read in (audit, writable):
        with pytest.raises(ValueError, match="not a readable cubin"):
            read(image)


@needs_nvrtc
def test_an_ordinary_elf_file_is_no_cubin() -> None:
    image = bytearray(made())
    struct.pack_into("<H", image, 18, 62)
    with pytest.raises(ValueError, match="not a 64-bit CUDA ELF file"):
        audit(bytes(image))


@pytest.mark.heavy
@needs_nvrtc
@settings(max_examples=300, deadline=None)
@given(st.data())
def test_a_mutated_module_gives_facts_or_a_value_error(data: st.DataObject) -> None:
    image = bytearray(made(data.draw(st.sampled_from(["sm_90a", "sm_120a"]))))
    (table,) = struct.unpack_from("<Q", image, 0x28)
    places = st.one_of(st.integers(0, 63), st.integers(table, len(image) - 1), st.integers(0, len(image) - 1))
    for _ in range(data.draw(st.integers(1, 8))):
        image[data.draw(places)] = data.draw(st.sampled_from([0, 1, 4, 8, 0x7F, 0x80, 0xFF]))
    cut = data.draw(st.one_of(st.just(len(image)), st.integers(0, len(image))))
    try:
        facts = audit(bytes(image[:cut]))
    except ValueError:
        return
    assert isinstance(facts, CubinFacts)


def _renamed(image: bytes, old: bytes, new: bytes) -> bytes:
    assert len(old) == len(new)
    assert old in image
    return image.replace(old, new)


@needs_nvrtc
def test_memory_with_contents_is_counted_whatever_its_section_is_called() -> None:
    image = made("sm_90a", 'extern "C" __global__ void k(int *p) { }\n__device__ int kept[4] = {1, 2, 3, 4};')
    disguised = _renamed(image, b".nv.global.init\0", b".nv.shared.inits\0"[:16])
    assert audit(disguised).static_bytes == audit(image).static_bytes == 16


@needs_nvrtc
def test_names_laid_over_one_another_do_not_fill_the_memory() -> None:
    image = bytearray(made())
    (table,) = struct.unpack_from("<Q", image, 0x28)
    size, count, _ = struct.unpack_from("<HHH", image, 0x3A)
    filler = b"a" * (1 << 20) + b"\0"
    grown = image + filler
    first = next(i for i in range(count) if struct.unpack_from("<I", image, table + i * size + 4)[0] == 3)
    struct.pack_into("<Q", grown, table + first * size + 24, len(image))
    with pytest.raises(ValueError, match="more text in names than there is"):
        audit(bytes(grown))


@needs_nvrtc
def test_instructions_are_written_out_where_there_is_a_tool() -> None:
    text = disassemble(made())
    assert ("EXIT" in text) == bool(cubin.find_tool())
    assert disassemble(b"no module") == ""


@pytest.mark.heavy
@needs_nvrtc
def test_the_job_writes_the_instructions_to_its_second_descriptor() -> None:
    request, reply = os.memfd_create("request"), os.memfd_create("reply")
    os.write(request, made())
    assert cubin.main([request, reply]) == 0
    assert os.pread(reply, 1 << 24, 0).decode() == disassemble(made())
    for fd in (request, reply):
        os.close(fd)


def test_without_a_tool_there_is_no_listing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cubin, "find_tool", lambda: "")
    assert disassemble(b"anything") == ""


POINTER = {"kind": "buffer", "index": 0}
KERNEL = KernelFacts(32, 0, 0, (8, 4), 0, 100)


def fault(kernel: KernelFacts = KERNEL, arch: int = 90, types: tuple[str, ...] = ("u64", "u32"), **changes: Any) -> str:
    step = {"kernel": "k", "grid": [4], "block": [128], "args": [POINTER, {"kind": "int", "value": 1}], **changes}
    return launch_fault(Step.model_validate(step), kernel, arch, types)


def test_a_launch_that_fits_has_no_fault() -> None:
    assert fault() == ""
    assert fault(types=()) == ""
    assert fault(grid=[(1 << 31) - 1, 65535, 65535], block=[4, 4, 64], shared=232448) == ""
    assert fault(cluster=[4], cooperative=True) == ""


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"grid": None}, "needs a grid and a block"), ({"block": None}, "needs a grid and a block"),
        ({"block": [32, 33]}, "a block of 32 x 33 threads; 1024 is the most"), ({"block": [1, 1, 65]}, "64 along"),
        ({"grid": [1, 65536]}, "65535 is the most"), ({"shared": 232449}, "232448 is the most"),
        ({"shared": 101377, "arch": 89}, "101376 is the most"), ({"shared": 166913, "arch": 80}, "166912 is the most"),
        ({"cluster": [2], "arch": 80}, "compute capability 9.0"), ({"cluster": [3]}, "whole clusters"),
        ({"cluster": [16], "grid": [16]}, "8 is the most"), ({"args": [POINTER]}, "is given 1 arguments, it has 2"),
        ({"args": [POINTER, POINTER]}, "argument 2 is a buffer"),
        ({"args": [POINTER, {"kind": "float", "value": 0.5}]}, "is the float 0.5, the parameter is no float"),
        ({"types": ("p64", "p64")}, "the parameter is a pointer"), ({"types": ("u64", "f32")}, "write 1.0"), ({"types": ("u64", "b8")}, "a struct of 4 bytes"),
    ],
)  # fmt: skip
def test_a_launch_that_cannot_work_says_why(changes: dict[str, Any], words: str) -> None:
    assert words in fault(**changes)


def integer(value: int) -> dict[str, Any]:
    return {"args": [POINTER, {"kind": "int", "value": value}]}


def test_an_integer_has_to_fit_its_parameter_signed_or_unsigned() -> None:
    for value in (-(1 << 31), (1 << 32) - 1):
        assert fault(**integer(value)) == ""
    for value in (-(1 << 31) - 1, 1 << 32):
        assert fault(**integer(value)) == f"argument 2 is {value}, the parameter has 4 bytes"


def test_zero_is_a_null_pointer_and_every_other_integer_is_none() -> None:
    kernel, types = KernelFacts(32, 0, 0, (8, 8)), ("p64", "p64")
    assert fault(kernel, types=types, **integer(0)) == ""
    assert fault(kernel, types=types, **integer(7)) == "argument 2 is the integer 7, the parameter is a pointer"


def test_a_block_keeps_to_the_launch_bounds_of_its_kernel() -> None:
    bounded = KernelFacts(32, 0, 0, (8, 4), 256)
    assert fault(bounded, block=[256]) == ""
    assert fault(bounded, block=[257]) == "a block of 257 threads; its __launch_bounds__ say 256"


def test_dynamic_and_static_shared_memory_are_added_up() -> None:
    kernel = KernelFacts(32, 0, 1200, (8, 4))
    assert fault(kernel, shared=232448 - 1200) == ""
    words = "231249 + 1200 bytes of dynamic and static shared memory; 232448 is the most"
    assert fault(kernel, shared=231249) == words


def test_clusters_are_whole_along_every_axis() -> None:
    assert fault(grid=[3, 4], cluster=[1, 2]) == ""
    assert fault(grid=[4, 3], cluster=[2, 2]) == "a grid of 4 x 3 is not made of whole clusters of 2 x 2"
    assert fault(grid=[8], cluster=[8]) == ""
    assert fault(cluster=[2], arch=89) == "clusters need compute capability 9.0, this is a build for 8.9"


def test_parameters_that_cannot_be_read_stop_every_launch() -> None:
    assert fault(KernelFacts(32, 0, 0, None)).startswith("its parameters cannot be read from the machine code")
    assert fault(KernelFacts(32, 0, 0, ()), types=()) == "is given 2 arguments, it has 0 parameters (of no bytes)"


def test_registers_are_counted_as_the_hardware_hands_them_out() -> None:
    assert fault(KernelFacts(64, 0, 0, (8, 4)), block=[1024]) == ""
    assert "1024 threads with 65 registers each" in fault(KernelFacts(65, 0, 0, (8, 4)), block=[1024])
    assert fault(KernelFacts(255, 0, 0, (8, 4)), block=[256]) == ""
