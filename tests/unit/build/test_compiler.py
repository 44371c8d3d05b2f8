from __future__ import annotations

import os
import platform
import stat
from dataclasses import replace
from pathlib import Path

import pytest

from kernellab.build.compiler import Compiler, check_flags, find_compiler
from kernellab.core.errors import EnvironmentFault, UsageError

HARMLESS = """
    -O0 -O2 -O3 -Ofast -Os -ffast-math -fno-math-errno -funroll-loops -fno-trapping-math -ffp-contract=fast
    -fassociative-math -fvect-cost-model=unlimited -fno-tree-vectorize -march=native -mcpu=neoverse-v1
    -march=armv8.2-a+sve -mavx2 -mprefer-vector-width=512 -mtune=generic -DTILE=64 -DNAME -D_GNU_SOURCE -Wall
    -Wno-unused-variable -Werror=vla -std=gnu11 -std=c17
""".split()  # noqa: SIM905

HARMFUL = """
    -fplugin=x.so -fplugin-arg-x-y=z -fpass-plugin=x.so -wrapper -wrapper,sh -B -B. -B/tmp -specs=x -specs @file
    @/etc/passwd -Wl,-rpath,/tmp -Wl,--wrap=main -Wa,-I. -Wp,-MD,x -Xlinker -Xassembler -Xpreprocessor -Xclang
    -include -include/etc/passwd -imacros -I -I. -I/etc -isystem -iquote -idirafter -L -L. -lfoo -o -oout -x
    -xassembler -xc++ -save-temps -save-temps=obj -fsave-optimization-record -fdump-tree-all -fdump-rtl-expand
    -fprofile-use -fprofile-generate -fprofile-dir=x -fauto-profile -fsanitize=address -fsanitize=undefined
    -fuse-ld=gold -fuse-ld=lld -fopenmp -flto -flto=auto -fvisibility=default -fopt-info-all=x -fstack-usage
    -fcallgraph-info -ftest-coverage -fcoverage-mapping -ftime-trace=x -mllvm -mllvm=-load -E -S -c -M -MD -MF -v
    -### -T -nostdlib -static -shared -rdynamic -pipe -dumpdir -aux-info -print-search-dirs --help --sysroot=/
    --param --target=x -target -gdwarf -pg -s -Z -DX=a;b -DX=$(id) -DX=\\n candidate.c /etc/passwd - -- -O3,-o -f -m
    -D -D1=2 -fmodules -fcrash-diagnostics-dir=x -fdebug-prefix-map=a
""".split()  # noqa: SIM905


@pytest.mark.parametrize("flag", HARMLESS)
def test_accepts_flags_that_only_change_the_code(flag: str) -> None:
    assert check_flags([flag]) == ""


@pytest.mark.parametrize("flag", [*HARMFUL, "", " ", "-O3\n", "-O3 -o x", "-DX=a b", "-ffast-math\0"])
def test_refuses_flags_that_reach_beyond_the_code(flag: str) -> None:
    assert "is not allowed" in check_flags([flag])


def test_one_bad_flag_spoils_the_lot_and_is_named() -> None:
    assert "'-fplugin=evil.so'" in check_flags(["-O3", "-fplugin=evil.so", "-Wall"])


def test_an_unknown_compiler_is_a_usage_error_with_a_fix() -> None:
    with pytest.raises(UsageError, match="no-such-compiler") as caught:
        find_compiler("no-such-compiler")
    assert "PATH" in caught.value.fix


@pytest.fixture
def bare_machine(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """No compiler on the PATH and no zig among the packages."""
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr("importlib.util.find_spec", lambda name, package=None: None)
    return tmp_path


def test_a_machine_without_a_compiler_says_how_to_get_one(bare_machine: Path) -> None:
    with pytest.raises(EnvironmentFault, match="no C compiler") as caught:
        find_compiler()
    assert "apt-get install gcc" in caught.value.fix
    assert "kernellab[zig]" in caught.value.fix


def test_zig_that_is_not_installed_is_a_usage_error_with_a_fix(bare_machine: Path) -> None:
    with pytest.raises(UsageError, match="zig") as caught:
        find_compiler("zig")
    assert "pip install" in caught.value.fix


def _script(folder: Path, name: str, text: str) -> None:
    path = folder / name
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)


def test_a_compiler_that_does_not_compile_is_passed_over(bare_machine: Path) -> None:
    _script(bare_machine, "cc", 'test "$1" = --version && echo "broken 1.0" && exit 0; exit 1')
    with pytest.raises(EnvironmentFault, match="no C compiler"):
        find_compiler()
    with pytest.raises(EnvironmentFault, match="'cc' does not compile"):
        find_compiler("cc")


@pytest.mark.backend_c
def test_finds_the_systems_compiler_and_what_it_can() -> None:
    compiler = find_compiler()
    assert os.path.isabs(compiler.command[0])
    assert compiler.identity
    flags = compiler.base_flags()
    assert "-shared" in flags
    assert ("-fopenmp" in flags) == compiler.openmp


@pytest.mark.heavy
@pytest.mark.backend_c
def test_builds_for_the_target_that_is_named() -> None:
    mine, generic = find_compiler(), find_compiler("", "generic")
    assert generic == replace(mine, native="")
    family = {"x86_64": "x86-64", "aarch64": "armv8-a"}[platform.machine()]
    assert f"-march={family}" in find_compiler("", family).base_flags()
    for target, words in (("sm_90", "GPU's target"), ("pdp-11", "does not build for"), ("a b", "names no processor")):
        with pytest.raises(UsageError, match=words):
            find_compiler("", target)


def test_a_compiler_outside_the_system_brings_its_installation_along(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    prefix = tmp_path / "gcc-15"
    (prefix / "bin").mkdir(parents=True)
    _script(prefix / "bin", "mycc", 'test "$1" = --version && echo "mycc 15"; exit 0')
    monkeypatch.setenv("PATH", str(prefix / "bin"))
    compiler = find_compiler("mycc")
    assert compiler.command == (str(prefix / "bin" / "mycc"),)
    assert compiler.trees == (str(prefix),)


def test_only_zig_gets_an_environment() -> None:
    plain = Compiler(("/usr/bin/cc",), "cc 1", openmp=True, native="")
    zig = Compiler(("/bin/sh",), "zig cc 1", openmp=False, native="", self_exe="/opt/zig")
    assert plain.environment == {}
    assert set(zig.environment) == {"ZIG_GLOBAL_CACHE_DIR", "ZIG_LOCAL_CACHE_DIR", "PATH"}
    assert not os.path.isabs(zig.environment["ZIG_GLOBAL_CACHE_DIR"])


def test_what_is_linked_with_is_the_laboratorys_alone() -> None:
    flags = ["-shared", "-Wl,-z,defs", "-fPIC", "-fopenmp", "-O3", "-ffast-math", "-DROWS=4"]
    compiling, linking = Compiler(("cc",), "cc 1", True, "").commands(flags, "a.c", "a.so")
    assert compiling == ["cc", "-fPIC", "-fopenmp", "-O3", "-ffast-math", "-DROWS=4", "-c", "a.c", "-o", "a.c.o"]
    assert linking == ["cc", "-shared", "-Wl,-z,defs", "-fopenmp", "a.c.o", "-o", "a.so", "-lm"]
    zig = Compiler(("sh", "-c", "x", "zig"), "zig cc 1", False, "", self_exe="/zig")
    assert zig.commands(flags, "a.c", "a.so") == [["sh", "-c", "x", "zig", *flags, "a.c", "-o", "a.so", "-lm"]]
