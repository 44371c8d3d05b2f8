"""The files of an exported package, as text by name; templates say how they read, this says what is in them."""

from __future__ import annotations

from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from kernellab.build.c import NAMED
from kernellab.certify.c_text import CKernel, body_of, read_c_kernel, work_of
from kernellab.certify.certificate import Certificate, text_of
from kernellab.certify.gpu_text import accepted_params, plain_module
from kernellab.certify.interface import Interface
from kernellab.certify.known_answers import allowed_errors, known_answers
from kernellab.certify.names import TEMPLATES
from kernellab.certify.package_order import Form, Order, Variant
from kernellab.certify.problem_section import section_of_module, section_of_task
from kernellab.certify.readme import readme_facts
from kernellab.certify.solution import literal, refuse_clashes, solution_facts, without_head
from kernellab.core.errors import UsageError
from kernellab.core.targets import export_of, title_of
from kernellab.tasks.dtypes import is_short
from kernellab.tasks.spec import Dims, dims_label, elements, in_order

_LARGEST_TEST = {"module": 1 << 22, "torch-op": 1 << 17, "c": 1 << 22}
_SOLUTION = "model_new.py"


def package_files(order: Order, form: Form) -> tuple[str, dict[str, str]]:
    """The package's name and its files."""
    writer = _Writer(order, form)
    if form == "c":
        return writer.interface.package, writer.c_library()
    if form == "kernelbench":
        return writer.interface.package, writer.solution()
    return writer.interface.package, writer.python_package()


class _Writer:
    def __init__(self, order: Order, form: Form) -> None:
        self.order, self.form, self.task = order, form, order.task
        self._export = export_of(order.backend)
        self._on_host = self._export.runner == "host"
        if order.task.captured and form != "kernelbench":
            raise UsageError(f"'{order.task.name}' is a PyTorch module: packages hold tasks with a NumPy reference",
                             "use --as kernelbench")  # fmt: skip
        if form == "kernelbench" and len(order.variants) > 1:
            raise UsageError("a problem of KernelBench's has one shape", "give the one certificate of that shape")
        if form == "c" and not self._on_host:
            raise UsageError(f"a {title_of(order.backend)} kernel has no C form", "use --as module or --as torch-op")
        if form == "c" and any(is_short(b.dtype) for b in (*self.task.inputs, *self.task.outputs)):
            raise UsageError("16-bit floats have no plain C type", "use --as module or --as torch-op")
        self.interface = Interface(order.task)
        self._kernels: dict[int, CKernel] = {}
        if self._on_host:
            self._kernels = {v.number: read_c_kernel(order.task, v.certificate, v.candidate) for v in order.variants}
        self._jinja = Environment(
            loader=FileSystemLoader(TEMPLATES), undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True,
            keep_trailing_newline=True, autoescape=False,
        )  # fmt: skip

    def c_library(self) -> dict[str, str]:
        name = self.interface.package
        facts = {**self._c_facts(), "variants": [self._variant(v) for v in self.order.variants]}
        known = [f for k in self._kernels.values() for f in k.flags]
        facts |= {"link": "-fopenmp" if "-fopenmp" in known else "", "package": name, "about": self.interface.about}
        inside = [s for s in self._inside(4000)[:5] if self._elements(s) <= 4000] or self._inside(1 << 16)[:1]
        tested = known_answers(self.task, inside, self._outside())
        files = {f"{v.file}.c": self._kernel_c(v) for v in map(_File, self.order.variants)}
        return {
            **files,
            f"{name}.c": self._render("front.c", facts),
            f"{name}.h": self._render("front.h", facts),
            "Makefile": self._render("Makefile", facts),
            f"test_{name}.c": self._render("test.c", {**facts, **tested}),
            "test_data.h": self._render("test_data.h", {"lines": tested["lines"]}),
            "README.md": self._readme("make test", False),
            **self._certificates(""),
        }

    def python_package(self) -> dict[str, str]:
        name, backend = self.interface.package, self.order.backend
        with_torch = self.form == "torch-op" or not self._on_host
        carried, expression = self.interface.reference_text(with_torch)
        facts = {**self.interface.facts(), "backend": backend, "torch": with_torch, "expression": expression,
                 "carried": carried, "embedded": False, "reviewed": self.order.reviewed, **self._shared(),
                 "variants": [self._variant(v) for v in self.order.variants]}  # fmt: skip
        inside = self._inside(_LARGEST_TEST[self.form])
        least = max(v.certificate.accuracy.budget_ulp for v in self.order.variants)
        tests = {
            "allowed": allowed_errors(self.task, [*inside, self._outside()], least),
            "inside": repr([tuple(d.values()) for d in inside]),
            "outside": repr(tuple(self._outside().values())),
        }
        kernels = self._gpu_kernels(name) if not self._on_host else {
            f"{name}/{f.file}.c": self._kernel_c(f) for f in map(_File, self.order.variants)}  # fmt: skip
        runner = self._export.runner
        test = "op" if self.form == "torch-op" else runner
        op = {f"{name}/op.py": self._render("op.py", facts)} if self.form == "torch-op" else {}
        return {
            **kernels,
            **op,
            f"{name}/{runner}.py": self._render(f"{runner}.py", facts),
            f"{name}/reference.py": self._render("reference.py", facts),
            f"{name}/__init__.py": self._render("init.py", {**facts, **self._public(test)}),
            f"test_{name}.py": self._render(f"test_{test}.py", {**facts, **tests}),
            "pyproject.toml": self._render("pyproject.toml", {**facts, "dependencies": self._dependencies(with_torch)}),
            "README.md": self._readme(f"python test_{name}.py    # or: pytest", expression),
            **self._certificates(f"{name}/"),
        }

    def solution(self) -> dict[str, str]:
        """KernelBench's form: one file that defines ModelNew."""
        order, variant = self.order, self.order.variants[0]
        section = section_of_module(order.module) if order.module is not None else section_of_task(self.task)
        facts = {**solution_facts(order, self.interface, section), "backend": order.backend, "embedded": True,
                 "speed": _speed(variant.certificate), **self._shared(), "variants": [self._variant(variant)]}  # fmt: skip
        kernel = f"SOURCE = {literal(self._kernel_c(_File(variant)))}" if self._on_host else self._gpu_kernel(variant)
        runtime = self._render("c_runtime.py" if self._on_host else "device_runtime.py", facts).strip("\n")
        text = self._render("solution.py", {**facts, "kernel": kernel.strip("\n"), "runtime": runtime})
        refuse_clashes(problem=section.text, kernel=kernel, runtime=runtime, solution=self._render("solution.py", {
            **facts, "problem": "", "kernel": "", "runtime": ""}))  # fmt: skip
        source = section.source
        settings = {"init": source.init if source else None, "inputs": source.inputs if source else None}
        test = f"test_{self.interface.package}.py"
        return {
            _SOLUTION: text,
            test: self._render("test_solution.py", {**facts, **settings, "file": _SOLUTION}),
            "README.md": self._readme(f"python {test}", True),
            **self._certificates(""),
        }

    def _shared(self) -> dict[str, Any]:
        return {"unreviewed": not self.order.reviewed, "language": title_of(self.order.backend),
                "alignment": self._export.alignment}  # fmt: skip

    def _gpu_kernel(self, variant: Variant) -> str:
        """What starts it, then the candidate's own text, in one file."""
        buffers = len(self.task.inputs) + len(self.task.outputs)
        own = plain_module(variant.candidate.text, variant.certificate, buffers, imports=False)
        return f"{without_head(self._render(self._export.launch, {}))}\n\n{without_head(own)}"

    def _public(self, file: str) -> dict[str, str]:
        names = [self.interface.function, *(["aligned", "empty", "prepare"] if file == "host" else [])]
        return {"file": file, "names": ", ".join(names), "quoted": ", ".join(f'"{n}"' for n in sorted(names))}

    def _dependencies(self, with_torch: bool) -> str:
        wanted = ["numpy>=1.24", *(["torch>=2.5"] if with_torch else [])]
        wanted += self._export.dependencies
        if any(b.dtype == "bfloat16" for b in (*self.task.inputs, *self.task.outputs)):
            wanted.append("ml_dtypes>=0.4")
        return ", ".join(f'"{w}"' for w in wanted)

    def _gpu_kernels(self, name: str) -> dict[str, str]:
        buffers = len(self.task.inputs) + len(self.task.outputs)
        files = {
            f"{name}/kernel_{v.number}.py": plain_module(v.candidate.text, v.certificate, buffers)
            for v in self.order.variants
        }
        return {**files, f"{name}/_launch.py": self._render(self._export.launch, {})}

    def _variant(self, variant: Variant) -> dict[str, Any]:
        shapes, certificate = variant.certificate.shapes, variant.certificate
        spans = {k: tuple(in_order(getattr(shapes, k), self.task).values()) for k in ("timed", "low", "high")}
        file = _File(variant)
        timed = in_order(shapes.timed, self.task)
        facts: dict[str, Any] = {
            **spans, "file": file.file, "symbol": file.symbol(self.interface.package), "shapes": (),
            "distance": " + ".join(f"apart(dim_{n}, {v})" for n, v in timed.items()),
        }  # fmt: skip
        if not self._on_host:
            device = str(certificate.environment["device"])
            return {**facts, "params": repr(accepted_params(variant.candidate.text, certificate)), "target": device}
        kernel = self._kernels[variant.number]
        exact = tuple(tuple(d.values()) for d in kernel.launch.shapes)
        return {**facts, "shapes": exact, "flags": " ".join(kernel.flags), "flag_tuple": repr(kernel.flags),
                "threaded": kernel.threaded}  # fmt: skip

    def _c_facts(self) -> dict[str, Any]:
        return self.interface.c_facts()

    def _kernel_c(self, file: _File) -> str:
        certificate, kernel = file.variant.certificate, self._kernels[file.variant.number]
        low, high = (in_order(d, self.task) for d in (certificate.shapes.low, certificate.shapes.high))
        lifted, table = kernel.launch.lifted, kernel.launch.table
        launches = [lifted] if lifted else [found for _, found in table]
        rows = [{"match": " && ".join(f"dim_{n} == {v}" for n, v in dims.items()), "work": work_of(found),
                 "body": body_of(found, "        ")} for dims, found in table]  # fmt: skip
        note = f"One formula for the range: it fits the launches recorded at {lifted.shapes} shapes." if lifted else (
            "Launched at the recorded shapes only: no formula fits them all.")  # fmt: skip
        return self._render("kernel.c", {
            **self._c_facts(), "symbol": file.symbol(self.interface.package), "number": file.variant.number,
            "task": self.task.name, "kernel": certificate.kernel.name, "speed": _speed(certificate),
            "defines": kernel.defines, "uncounted": kernel.uncounted, "source": kernel.source.strip("\n") + "\n",
            "judged_as": NAMED, "first_line": 1 + len(kernel.source) - len(kernel.source.lstrip("\n")),
            "names": sorted({step.kernel for launch in launches for step in launch.steps}),
            "inside": " && ".join(f"dim_{n} >= {low[n]} && dim_{n} <= {high[n]}" for n in low),
            "lifted": {"work": work_of(lifted), "body": body_of(lifted, "    ")} if lifted else None,
            "table": rows, "most_scratch": max(1, *(len(launch.scratch) for launch in launches)), "launch_note": note,
        })  # fmt: skip

    def _inside(self, most: int) -> list[Dims]:
        """Shapes to test at, smallest first: edges, and timed ones that are not too large for a test."""
        timed = [in_order(v.certificate.shapes.timed, self.task) for v in self.order.variants]
        fitting = [d for d in timed if self._elements(d) <= most]
        known = {dims_label(d): d for d in (*self.task.edge, *fitting)}
        return sorted(known.values(), key=self._elements)

    def _elements(self, dims: Dims) -> int:
        return elements((*self.task.inputs, *self.task.outputs), dims)

    def _outside(self) -> Dims:
        """A small shape beyond every range: the first extent one larger than any certified."""
        shapes = [v.certificate.shapes for v in self.order.variants]
        dims = {n: min(s.low[n] for s in shapes) for n in self.task.dim_names}
        first = self.task.dim_names[0]
        return {**dims, first: max(s.high[first] for s in shapes) + 1}

    def _certificates(self, folder: str) -> dict[str, str]:
        return {f"{folder}certificate-{v.number}.json": text_of(v.certificate) for v in self.order.variants}

    def _readme(self, test_command: str, expression: bool) -> str:
        facts = readme_facts(self.order, self.form, self.interface, self._kernels, test_command, expression)
        return self._render("README.md", facts)

    def _render(self, name: str, facts: dict[str, Any]) -> str:
        text: str = self._jinja.get_template(f"{name}.j2").render(facts)
        return text


class _File:
    """How a variant's file and functions are called."""

    def __init__(self, variant: Variant) -> None:
        self.variant = variant
        self.file = f"kernel_{variant.number}"

    def symbol(self, package: str) -> str:
        return f"{package}_{self.variant.number}"


def _speed(certificate: Certificate) -> str:
    return (
        f"{certificate.speed.figure} at {dims_label(certificate.shapes.timed)} on {certificate.environment['device']}"
    )
