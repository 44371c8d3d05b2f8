"""Mutants of right kernels: one small, typical mistake each, made on the text. They train and test soft verifiers.

Nobody says here whether a mutant is wrong: some mistakes change nothing (a bound that is never reached), some do not
build. The label comes from the hard verdicts later.
Covered: C and CUDA C++ inside SOURCE, Triton inside its kernels, and launch() of all three. Comments and strings of the
host language are left alone; what comes out differs from the original in code, and is still a Python file.
"""

from __future__ import annotations

import ast
import io
import random
import re
import tokenize
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Literal

from kernellab.core.ids import sha256_hex
from kernellab.core.targets import backend_of, language
from kernellab.propose.prompts.python_text import UNREADABLE, parsed

Region = Literal["kernel", "launch"]
_NAME = r"[A-Za-z_]\w*"
_EXTENT = (
    r"(?:n|N|m|M|w|W|h|H|c|C|length|pitch|stride\w*|\w+_stride|columns|rows|COLUMNS|blocks|gridDim\.x|blockDim\.x)"
)
_TOP = r"(?:top|peak|high\w*|mx|max\w*|row_max|m|shift|block_top|largest|biggest)\b(?:\[[^\]]*\])?"
_ASM_SYNC = r'asm volatile\("(?:cp\.async\.wait|barrier|bar\.sync|fence|mbarrier)[^"]*"[^;"]*(?:"[^";]*"[^;"]*)*\);'
_C_COMMENT = re.compile(r"/\*.*?\*/|//[^\n]*", re.DOTALL)


@dataclass(frozen=True)
class Rule:
    """A pattern and what takes the place of its match. `{1}` in `after` is the pattern's first group."""

    operator: str
    pattern: re.Pattern[str]
    after: Callable[[re.Match[str]], str]
    dialects: tuple[str, ...]
    region: Region = "kernel"


@dataclass(frozen=True)
class Mutant:
    """`line` counts in the candidate file."""

    source: str
    origin: str
    operator: str
    line: int
    before: str
    after: str

    @property
    def what(self) -> str:
        return f"{self.operator}, line {self.line}: '{self.before}' became '{self.after}'"


@dataclass(frozen=True)
class Original:
    """A candidate file of a known kind: a recipe, an honest kernel, a cheat."""

    name: str
    source: str
    task: str


@dataclass(frozen=True)
class Sample:
    """One file to be judged for real. `operator` is '' for a file as it was."""

    source: str
    task: str
    origin: str
    operator: str
    what: str


def _rule(
    operator: str, pattern: str, after: str, dialects: str = "c cpp", region: Region = "kernel", flags: int = 0
) -> Rule:
    def put(match: re.Match[str]) -> str:
        return after.format(match[0], *match.groups(default=""))

    return Rule(operator, re.compile(pattern, flags), put, tuple(dialects.split()), region)


_ANY = "c cpp jit"
"""Dialects: C, C++ with kernels for a GPU, and decorated Python functions (Triton). A language says which is its own."""
RULES: tuple[Rule, ...] = (
    # a bound that is one off
    _rule("off-by-one", rf"(?<=;) *({_NAME}) < ([^;<>&|?]+?)(?=;)", " {1} < {2} - 1"),
    _rule("off-by-one", rf"(?<=;) *({_NAME}) < ([^;<>&|?]+?)(?=;)", " {1} < {2} + 1"),
    _rule("off-by-one", rf"\bfor \((int|long|long long|unsigned) ({_NAME}) = 0;", "for ({1} {2} = 1;"),
    _rule("off-by-one", rf"({_NAME}(?:\.{_NAME})?) < ({_EXTENT})\b(?! *[-+*/%])", "{1} < {2} - 1", _ANY),
    _rule("off-by-one", r"\brange\(([\w.]+)\)", "range({1} - 1)", "jit"),
    _rule("off-by-one", r"-\(-([\w.]+(?: \* \w+)?) // ([\w.]+)\)", "({1} // {2})", _ANY, "launch"),
    _rule("off-by-one", r"triton\.cdiv\(([^(),]+), ([^(),]+)\)", "max(1, {1} // {2})", "jit", "launch"),
    # < against <=
    _rule("less-or-equal", rf"(?<=;) *({_NAME}) < (?=[^;<>=])", " {1} <= "),
    _rule("less-or-equal", rf"({_NAME}(?:\.{_NAME})?) < (?={_EXTENT}\b)", "{1} <= ", _ANY),
    _rule("less-or-equal", r" >= (?=\w)", " > ", _ANY),
    _rule("less-or-equal", r" <= (?=\w)", " < ", _ANY),
    # a guard or a mask that is not there
    _rule("dropped-mask", r"\bif \(([^()]* < [^()]*)\)", "if (1)"),
    _rule("dropped-mask", r" && [^()&|;?]+(?=\))", ""),
    _rule("dropped-mask", r" && [^()&|;?]+(?= \?)", ""),
    _rule("dropped-mask", r", mask=(?:[^(),]|\([^()]*\))+(?:, other=(?:[^(),]|\([^()]*\))+)?", "", "jit"),
    _rule("dropped-mask", r" & \([^()]*\)", "", "jit"),
    # a stride that is another
    _rule("wrong-stride", rf"((?:\w|\)|\]) \* )({_EXTENT})\b(?!\()", "{1}({2} + 1)", _ANY),
    _rule("wrong-stride", rf"((?:\w|\)|\]) \* )({_EXTENT})\b(?!\()", "{1}({2} - 1)", _ANY),
    _rule("wrong-stride", r"\bstep\b(?= [*+;)])", "(step + 1)"),
    _rule("wrong-stride", rf"({_NAME}) \+= (blockDim\.x|gridDim\.x|LANES|THREADS)\b", "{1} += 2 * {2}"),
    # a barrier or a reduction that is not there
    _rule("missing-sync", r"__syncthreads\(\);", ";", "cpp"),
    _rule("missing-sync", r"__syncwarp\([^()]*\);", ";", "cpp"),
    _rule("missing-sync", r"__threadfence\(\);", ";", "cpp"),
    _rule("missing-sync", r"\b(?:grid_barrier|cluster_sync|wait_all|arrive_and_wait)\([^()]*\);", ";", "cpp"),
    _rule("missing-sync", _ASM_SYNC, ";", "cpp"),
    _rule("missing-sync", r"tl\.debug_barrier\(\)", "pass", "jit"),
    _rule("missing-sync", r' ?reduction\([^()]*\)', "", "c"),
    _rule("missing-sync", r"#pragma omp (?:atomic|critical)[^\n]*", "", "c"),
    # a type that is too small, a cast that is not there
    _rule("wrong-dtype", rf"\bfloat ({_NAME}) = (?=[^;]*;)", "_Float16 {1} = ", "c"),
    _rule("wrong-dtype", rf"\bfloat ({_NAME}) = (?=[^;]*;)", "short {1} = ", "cpp"),
    _rule("wrong-dtype", rf"\bdouble ({_NAME}) = ", "float {1} = ", "c cpp"),
    _rule("wrong-dtype", r"\(long long\)", "(short)", "cpp"),
    _rule("wrong-dtype", rf"\blong ({_NAME}) = ", "short {1} = ", "c"),
    _rule("wrong-dtype", r"\b(expf|exp2f|exp)\(", "(_Float16){1}(", "c"),
    _rule("wrong-dtype", r"\b(expf|exp2f|__expf|ex2)\((?!float)", "(short){1}(", "cpp"),
    _rule("wrong-dtype", rf"\+= (?={_NAME}\[)", "+= (_Float16)", "c"),
    _rule("wrong-dtype", r"\.to\(tl\.float32\)", ".to(tl.float16)", "jit"),
    _rule("wrong-dtype", r"tl\.float32", "tl.bfloat16", "jit"),
    _rule("wrong-dtype", r"\.to\(tl\.int64\)", ".to(tl.int16)", "jit"),
    _rule("wrong-dtype", r"cvt\.rn\.(bf16|f16)", "cvt.rz.{1}", "cpp"),
    # axes that changed places
    _rule("swapped-axes", rf"\b({_NAME}), ({_NAME}) = (\w+)\.shape\b", "{2}, {1} = {3}.shape", _ANY, "launch"),
    _rule(
        "swapped-axes", rf"\b({_NAME}), ({_NAME}), ({_NAME}) = (\w+)\.shape\b", "{2}, {1}, {3} = {4}.shape", _ANY, "launch"
    ),
    _rule("swapped-axes", r"\bprogram_id\(0\)", "program_id(1)", "c jit"),
    _rule("swapped-axes", r"axis=0\b", "axis=1", "jit"),
    _rule("swapped-axes", r"\[:, None\]", "[None, :]", "jit"),
    _rule("swapped-axes", r"(\w+(?:\.x)?) % (\w+)", "{1} / {2}", "cpp"),
    _rule("swapped-axes", r"\b(threadIdx|blockIdx)\.x\b", "{1}.y", "cpp"),
    _rule("swapped-axes", r"\[(\w+) \* (\w+) \+ (\w+)\]", "[{3} * {2} + {1}]"),
    _rule("swapped-axes", rf"\((x, y(?:, \w+)*), ({_NAME}), ({_NAME})\)$", "({1}, {3}, {2})", "c cpp", "launch", re.M),
    # exponentials without their maximum
    _rule("dropped-max", rf" - {_TOP}(?=[) ,;*])", "", _ANY),
    # a reduction that starts elsewhere
    _rule("wrong-initial", r"-INFINITY|-INF\b|-FLT_MAX|-HUGE_VALF", "0.0f"),
    _rule("wrong-initial", r'float\("-inf"\)', "0.0", "jit"),
    _rule("wrong-initial", r"\bLOWEST(?=[,;) ])(?! -)", "0.0f", "cpp"),
    _rule("wrong-initial", r"\b(sum|total|square|s|acc|sums?\w*) = 0(?:\.0f?)?(?=[,;])", "{1} = 1"),
    _rule("wrong-initial", r"splat\(0(?:\.0f)?\)", "splat(1)", "c"),
    _rule("wrong-initial", r"tl\.zeros\((\([^()]*\)), ", "tl.full({1}, 1, ", "jit"),
    _rule("wrong-initial", r"tl\.full\((\([^()]*\)), [^,()]+(?:\([^()]*\))?, ", "tl.full({1}, 0, ", "jit"),
    _rule("wrong-initial", r"other=0\.0", "other=1.0", "jit"),
    # what a compiler or the recorder refuses
    _rule("broken-build", r"\b(return [^;\n]+);", "{1}"),
    _rule("broken-build", rf"\b(?:const )?(?:float|double|int|long) ({_NAME} = [^,;()]+;)", "{1}"),
    _rule("broken-build", r"\b(expf|fmaxf|__syncthreads|__shfl_xor_sync|memset|memcpy)\b", "{1}_"),
    _rule("broken-build", r"\btl\.(load|store|arange|sum|max|exp2?)\(", "tl.{1}_(", "jit"),
    _rule("broken-build", r"tl\.arange\(0, (\w+)\)", "tl.arange(0, {1} + 1)", "jit"),
    _rule("broken-build", r": tl\.constexpr(?=[,)])", "", "jit"),
    _rule("broken-build", r"\((x, [\w, .]+), \w+(?:\.\w+)?\)$", "({1})", "c cpp", "launch", re.M),
)  # fmt: skip
OPERATORS: tuple[str, ...] = tuple(dict.fromkeys(rule.operator for rule in RULES))


def mutants(source: str, origin: str = "") -> list[Mutant]:
    """Every mutant of a candidate file, in the order of rules and places, each text once. [] where it is no Python."""
    source = source.replace("\r\n", "\n")
    regions = _regions(source)
    if regions is None:
        return []
    dialect = language(backend_of(source)).dialect
    seen = {_code_only(source)}
    found = []
    for rule in (r for r in RULES if dialect in r.dialects):
        for match in rule.pattern.finditer(regions[rule.region]):
            before, after = source[match.start() : match.end()], rule.after(match)
            text = source[: match.start()] + after + source[match.end() :]
            code = _code_only(text)
            if code is None or code in seen:
                continue
            seen.add(code)
            line = source.count("\n", 0, match.start()) + 1
            found.append(Mutant(text, origin, rule.operator, line, before.strip(), after.strip()))
    return found


def pick(found: list[Mutant], count: int, rng: random.Random) -> list[Mutant]:
    """Up to `count` mutants, as evenly over the operators as there are any; in the order of the list."""
    waiting = {op: [m for m in found if m.operator == op] for op in OPERATORS}
    for members in waiting.values():
        rng.shuffle(members)
    chosen: set[str] = set()
    while len(chosen) < min(count, len(found)):
        for operator in rng.sample(OPERATORS, len(OPERATORS)):
            if waiting[operator] and len(chosen) < count:
                chosen.add(waiting[operator].pop().source)
    return [m for m in found if m.source in chosen]


def labelled_set(
    recipes: Iterable[Original], cheats: Iterable[Original], rng: random.Random, per_recipe: int = 8
) -> Iterator[Sample]:
    """Files to be labelled by hard verdicts: right kernels as they are, mutants of them, and cheats; no text twice.

    The same arguments and the same seed give the same files in the same order.
    """
    seen: set[str] = set()
    for sample in _samples(recipes, cheats, rng, per_recipe):
        key = sha256_hex(f"{sample.task}\0{sample.source}".encode("utf-8", "replace"))
        if key not in seen:
            seen.add(key)
            yield sample


def _samples(
    recipes: Iterable[Original], cheats: Iterable[Original], rng: random.Random, per_recipe: int
) -> Iterator[Sample]:
    for original in recipes:
        yield Sample(original.source, original.task, original.name, "", "as it is")
        for mutant in pick(mutants(original.source, original.name), per_recipe, rng):
            yield Sample(mutant.source, original.task, original.name, mutant.operator, mutant.what)
    for cheat in cheats:
        yield Sample(cheat.source, cheat.task, cheat.name, "", "a cheat, as it is")


def _regions(source: str) -> dict[Region, str] | None:
    """For each region the file with everything else, comments included, blanked out: places stay where they are."""
    try:
        tree = parsed(source)
    except UNREADABLE:
        return None
    if "\r" in source or "\f" in source:  # ends a line for some, not for others
        return None
    starts = _line_starts(source)
    kernels, launches = [], []
    for node in tree.body:
        if isinstance(node, ast.Assign) and any(isinstance(t, ast.Name) and t.id == "SOURCE" for t in node.targets):
            kernels.append(_span(node.value, starts, source))
        elif isinstance(node, ast.FunctionDef) and node.name == "launch":
            launches.append(_span(node, starts, source))
        elif isinstance(node, ast.FunctionDef) and node.decorator_list:
            kernels.append(_span(node, starts, source))
    try:
        hidden = _hidden(source, starts)
    except (tokenize.TokenError, SyntaxError):
        return None
    sourced = language(backend_of(source)).sourced
    kernel_text = _blanked(source, kernels, [] if sourced else hidden)
    if sourced:
        kernel_text = _C_COMMENT.sub(lambda m: re.sub(r"[^\n]", " ", m[0]), kernel_text)
        kernel_text = re.sub(
            r"^[ \t]*#[ \t]*(?:if|el|end|include|undef)[^\n]*", _spaces, kernel_text, flags=re.MULTILINE
        )
    return {"kernel": kernel_text, "launch": _blanked(source, launches, hidden)}


def _spaces(match: re.Match[str]) -> str:
    return " " * len(match[0])


def _span(node: ast.expr | ast.stmt, starts: list[int], source: str) -> tuple[int, int]:
    """Start and end of a node in characters; the parser counts columns in bytes."""

    def at(line: int, column: int) -> int:
        text = source[starts[line - 1] : starts[line] if line < len(starts) else len(source)]
        return starts[line - 1] + len(text.encode()[:column].decode(errors="ignore"))

    return at(node.lineno, node.col_offset), at(node.end_lineno or node.lineno, node.end_col_offset or 0)


def _hidden(source: str, starts: list[int]) -> list[tuple[int, int]]:
    """Comments, and strings that stand alone: docstrings."""
    found = []
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.COMMENT or (
            token.type == tokenize.STRING and token.string.startswith(('"""', 'r"""'))
        ):
            (line, column), (last, end) = token.start, token.end
            found.append((starts[line - 1] + column, starts[last - 1] + end))
    return found


def _line_starts(source: str) -> list[int]:
    return [0, *(m.end() for m in re.finditer("\n", source))]


def _blanked(source: str, kept: list[tuple[int, int]], hidden: list[tuple[int, int]]) -> str:
    """The file with spaces everywhere but in `kept`, and in `hidden`; line ends stay."""
    characters = [c if c == "\n" else " " for c in source]
    for start, end in kept:
        characters[start:end] = source[start:end]
    for start, end in hidden:
        characters[start:end] = [c if c == "\n" else " " for c in source[start:end]]
    return "".join(characters)


def _code_only(source: str) -> str | None:
    """The text without what makes no difference to Python or a compiler; None where it is no Python any more."""
    try:
        parsed(source)
    except UNREADABLE:
        return None
    return re.sub(r"\s+", " ", source)
