"""Finding a C compiler: the system's cc, gcc or clang; else zig from PyPI; else an error that says how to get one.

zig compiles its own runtime library first, which takes ten seconds. So the trusted side fills a cache once, build jobs
see it read-only, and each starts with a copy of the cache's index and links to its objects in its scratch folder.
"""

from __future__ import annotations

import importlib.util
import os
import re
import shlex
import shutil
import subprocess
import tempfile
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path

from kernellab.build.cache import default_folder
from kernellab.core.errors import EnvironmentFault, UsageError
from kernellab.sandbox.namespaces import SYSTEM_TREES

_ALLOWED = re.compile(
    r"-O(0|1|2|3|s|z|g|fast)"
    r"|-f(?!plugin|pass-plugin|thinlto|time-trace|proc-stat|test-coverage|coverage|condition-coverage|linker|ltrans|wpa|dump|profile|sanitize|use-|compare-debug|callgraph|stack-usage|save-|openmp|lto|pch|auto-profile"
    r"|opt-info|whole-program|visibility|section-anchors|pack-struct|short|abi|leading|diagnostics|debug|record|syntax-only|instrument|cs-profile|memory-profile|crash|module)[a-z0-9-]+(=[a-z0-9.-]+)?"
    r"|-m(?!crtdll|windows|dll|llvm|link)[a-z0-9.-]+(=[a-z0-9.,+-]+)?"
    r"|-D[A-Za-z_][A-Za-z0-9_]*(=[A-Za-z0-9_.+-]*)?"
    r"|-W(no-)?[a-z][a-z0-9-]*(=[a-z0-9]+)?"
    r"|-std=(gnu|c)(99|11|17|18|2x|23)"
)

_LINK_ONLY = ("-shared", "-Wl,")  # _ALLOWED has none of these, nor -fopenmp: what is linked with is the laboratory's
GENERIC = "generic"
"""The target of a compiler that is told none: code that runs on every processor of the family."""
_TARGET = re.compile(r"[a-z0-9][a-z0-9.+_-]{0,39}")


@dataclass(frozen=True)
class Compiler:
    """`command` starts every compilation; `identity` goes into records and cache keys."""

    command: tuple[str, ...]
    identity: str
    openmp: bool
    native: str
    trees: tuple[str, ...] = ()  # what the sandbox must show beside the system's folders
    self_exe: str = ""  # what must stand in /proc/self/exe, for a compiler that finds its parts that way

    @property
    def environment(self) -> dict[str, str]:
        """zig keeps its own cache inside the job's scratch, and asks no other compiler where the headers are."""
        return _zig_environment("zig", "zig-local") if self.self_exe else {}

    def settings(self) -> dict[str, str]:
        """The environment of a compilation outside the sandbox."""
        return {**os.environ, **self.environment}

    def base_flags(self) -> list[str]:
        """Functions start a cache line: what surrounds a kernel (our stubs here, an export's launch there) then does
        not move its loops across one, which changed the same machine code's time by 1 %."""
        flags = ["-std=gnu11", "-shared", "-fPIC", "-g0", "-Wl,--build-id=none", "-fno-ident",
                 "-falign-functions=64", "-Wl,-z,defs", "-Werror=implicit-function-declaration"]  # fmt: skip
        flags += [self.native] if self.native else []
        flags += ["-fno-sanitize=undefined"] if self.self_exe else []  # zig's default without -O2 or more
        return [*flags, "-fopenmp"] if self.openmp else flags

    def commands(self, flags: list[str], source: str, built: str) -> list[list[str]]:
        """Compile with all flags, then link without the candidate's own: a link with -ffast-math or its like takes in
        start-up code (gcc before 13, clang) that turns on flush-to-zero in whatever thread loads the result."""
        if self.self_exe:  # zig has no such start-up code, and pays for every start
            return [[*self.command, *flags, source, "-o", built, "-lm"]]
        compiling = [f for f in flags if not f.startswith(_LINK_ONLY)]
        linking = [f for f in flags if f.startswith((*_LINK_ONLY, "-fopenmp"))]
        return [
            [*self.command, *compiling, "-c", source, "-o", f"{source}.o"],
            [*self.command, *linking, f"{source}.o", "-o", built, "-lm"],
        ]


def check_flags(flags: list[str]) -> str:
    """Why these candidate flags are refused, or ''. A list of harmless ones, not of known bad ones."""
    for flag in flags:
        if not _ALLOWED.fullmatch(flag):
            return (
                f"compiler flag '{flag[:80]}' is not allowed; allowed are -O, -D, -W, -std=, and those -f and -m flags that "
                "load, write and link nothing"
            )
    return ""


def find_compiler(wanted: str = "", target: str = "") -> Compiler:
    """The compiler named by the user, else the first that works; for `target` instead of this very processor."""
    found = _find(wanted)
    return _aimed(found, target) if target else found


def _aimed(compiler: Compiler, target: str) -> Compiler:
    """The same compiler building for a named architecture, or for what it takes by default ('generic')."""
    if target.startswith("sm_"):
        raise UsageError(
            f"{target} is a GPU's target, and C is built for a processor", "leave --target out, or name one"
        )
    if not _TARGET.fullmatch(target):
        raise UsageError(f"'{target[:40]}' names no processor", "as in x86-64-v2, armv8.2-a or generic")
    flag = "" if target == GENERIC else f"-march={target}"
    with tempfile.TemporaryDirectory(prefix="klab-cc-") as folder:
        if flag and not _compiles(plain_command(compiler), folder, [flag], compiler.environment):
            raise UsageError(f"{compiler.identity} does not build for '{target}'", "name an architecture that it knows")
    return replace(compiler, native=flag)


def plain_command(compiler: Compiler) -> list[str]:
    """Its command outside a build job's scratch folder."""
    return [compiler.self_exe, "cc"] if compiler.self_exe else list(compiler.command)


def _find(wanted: str) -> Compiler:
    if wanted == "zig" and not _zig():
        raise UsageError("there is no compiler 'zig'", "run: pip install 'kernellab[zig]', or leave --compiler out")
    if wanted and wanted != "zig" and shutil.which(wanted) is None:
        raise UsageError(f"there is no compiler '{wanted}'", "name one that is on the PATH, or leave --compiler out")
    for name in [wanted] if wanted else ["cc", "gcc", "clang", "zig"]:
        program = _zig() if name == "zig" else shutil.which(name)
        if program and (found := _try_zig(program) if name == "zig" else _try(os.path.abspath(program))) is not None:
            return found
    if wanted:
        raise EnvironmentFault(f"the compiler '{wanted}' does not compile a line of C into a shared object",
                               "repair it, name another one, or leave --compiler out")  # fmt: skip
    raise EnvironmentFault(
        "no C compiler on this machine",
        "install one (Debian: apt-get install gcc; Fedora: dnf install gcc) or run: pip install 'kernellab[zig]'",
    )


def _zig() -> str:
    """The executable of the package from PyPI, else one on the PATH, else ''."""
    spec = importlib.util.find_spec("ziglang")
    for folder in (spec.submodule_search_locations or ()) if spec else ():
        if os.access(path := os.path.join(folder, "zig"), os.X_OK):
            return path
    return os.path.realpath(found) if (found := shutil.which("zig")) else ""


def _try(program: str) -> Compiler | None:
    """Compile a trusted line of C with each optional feature and keep what works."""
    natives = ("-march=native", "-mcpu=native")
    with ThreadPoolExecutor(4) as pool:
        said = pool.submit(_output, [program, "--version"])
        works = {flag: pool.submit(_compiles_alone, program, flag) for flag in ("", natives[0], "-fopenmp")}
        version = said.result()
        if not version or not works[""].result():
            return None
        native = next((f for f in natives if (works[f].result() if f in works else _compiles_alone(program, f))), "")
        openmp = works["-fopenmp"].result()
    return Compiler((program,), version.splitlines()[0].strip(), openmp, native, _trees(program))


def _compiles_alone(program: str, flag: str) -> bool:
    with tempfile.TemporaryDirectory(prefix="klab-cc-") as folder:
        return _compiles([program], folder, [flag] if flag else [])


def _trees(program: str) -> tuple[str, ...]:
    """The installation of a compiler that is not one of the system's, such as /opt/gcc-15."""
    real = os.path.realpath(program)
    system = tuple(f"{tree}/" for tree in SYSTEM_TREES)
    places = {os.path.dirname(os.path.dirname(path)) for path in (program, real) if not path.startswith(system)}
    return tuple(sorted(places - {"/"}))


def _try_zig(program: str) -> Compiler | None:
    version = _output([program, "version"]).strip()
    if not version:
        return None
    warm = default_folder().parent / f"zig-{version}"
    command = [program, "cc"]
    with tempfile.TemporaryDirectory(prefix="klab-cc-") as folder:
        try:
            warm.mkdir(parents=True, exist_ok=True)
        except OSError:
            warm = Path(folder)  # no place to keep it: every start and every build pays for it again
        environment = _zig_environment(str(warm), folder)
        if not all(_compiles(command, folder, [f], environment) for f in ("-O2", "-O0")):  # each has its own library
            return None
        native = next((f for f in ("-march=native",) if _compiles(command, folder, [f], environment)), "")
    _make_readable(warm)
    # sh -c SCRIPT NAME ARGUMENTS...: a private copy of the index, links to the objects, then zig takes over
    index, objects, builtins, zig = (shlex.quote(str(path)) for path in (warm / "h", warm / "o", warm / "b", program))
    copy = f"/bin/mkdir -p zig && /bin/cp -r {index} zig/ && /bin/cp -rs {objects} {builtins} zig/"
    script = f'{copy}; exec {zig} cc "$@"'
    trees = (os.path.dirname(program), str(warm))
    return Compiler(("/bin/sh", "-c", script, "zig"), f"zig cc {version}", False, native, trees, program)


def _zig_environment(shared: str, local: str) -> dict[str, str]:
    return {"ZIG_GLOBAL_CACHE_DIR": shared, "ZIG_LOCAL_CACHE_DIR": local, "PATH": "/nonexistent"}


def _make_readable(folder: Path) -> None:
    """Build jobs may have another uid; nothing in there is secret."""
    for path, _, files in os.walk(folder):
        os.chmod(path, 0o755)
        for name in files:
            os.chmod(os.path.join(path, name), 0o644)


def _compiles(command: list[str], folder: str, flags: list[str], environment: dict[str, str] | None = None) -> bool:
    source, built = os.path.join(folder, "probe.c"), os.path.join(folder, "probe.so")
    pragma = "#include <omp.h>\nint probe(void) { return omp_get_max_threads(); }" if "-fopenmp" in flags else ""
    Path(source).write_text("#include <math.h>\ndouble f(double x) { return exp(x); }\n" + pragma + "\n")
    compilation = [*command, "-O2", *flags, "-shared", "-fPIC", source, "-o", built, "-lm"]
    settings = {**os.environ, **(environment or {})}
    try:
        done = subprocess.run(compilation, capture_output=True, timeout=120, env=settings, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return False
    return done.returncode == 0


def _output(command: list[str]) -> str:
    try:
        return subprocess.run(command, capture_output=True, text=True, timeout=60, check=False).stdout
    except (OSError, subprocess.TimeoutExpired):
        return ""
