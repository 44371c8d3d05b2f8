"""The problem's own code in a solution: what is changed in it, and what is refused."""

from __future__ import annotations

from dataclasses import replace

import pytest

from kernellab.certify.problem_section import Section, section_of_module, section_of_task
from kernellab.core.errors import TaskRefused, UsageError
from kernellab.graph.source import Request
from kernellab.tasks.builtin import TASKS
from kernellab.tasks.modules.importing import Importer
from kernellab.tasks.modules.record import ModuleRecord, Source
from kernellab.tasks.suites.base import Problem

pytest.importorskip("torch")
_CLASS = '''"""Model of nothing much."""
from __future__ import annotations
import torch

class Model(torch.nn.Module):
    def __init__(self):
        super(Model, self).__init__()
        self.Model = 3.0

    def forward(self, x, factor):
        return x * self.Model * factor

def get_inputs():
    return [torch.randn(8, 5), 2.0]
'''
_FUNCTION = '''"""Twice."""
import math

def twice(x):
    return x * math.floor(2.5)

def get_inputs():
    import torch
    return [torch.randn(8, 5)]
'''


def record_of(importer: Importer, text: str, name: str) -> ModuleRecord:
    return importer.import_problem(Problem(Request("/nowhere/net.py", name, text=text), "net"))


@pytest.fixture(scope="module")
def of_class(importer: Importer) -> ModuleRecord:
    return record_of(importer, _CLASS, "Model")


def with_source(record: ModuleRecord, source: Source | None) -> ModuleRecord:
    return record.model_copy(update={"origin": record.origin.model_copy(update={"source": source})})


def ran(section: Section) -> dict[str, object]:
    known: dict[str, object] = {}
    exec(compile(section.text, "section.py", "exec"), known)
    return known


@pytest.mark.heavy
def test_a_class_has_another_name_and_nothing_else_is_changed(of_class: ModuleRecord) -> None:
    section = section_of_module(of_class)
    wanted = _CLASS.replace("class Model(", "class _Problem(").replace("super(Model,", "super(_Problem,")
    assert section.text == wanted.strip("\n")
    assert section.plain == {1: 2.0}
    assert "_Problem" in ran(section)


@pytest.mark.heavy
def test_a_function_gets_a_class_around_it(importer: Importer) -> None:
    import torch

    section = section_of_module(record_of(importer, _FUNCTION, "twice"), importer.capturer)
    made = ran(section)["_Problem"]()  # type: ignore[operator]
    assert torch.equal(made(torch.ones(2)), 2 * torch.ones(2))


def test_a_text_of_another_problem_is_refused(of_class: ModuleRecord, importer: Importer) -> None:
    assert of_class.origin.source is not None
    other = of_class.origin.source.model_copy(update={"text": _CLASS.replace("3.0", "4.0")})
    with pytest.raises(UsageError, match="is not the one that was certified as 'net'"):
        section_of_module(with_source(of_class, other), importer.capturer)


def test_what_lay_beside_the_file_is_missed(of_class: ModuleRecord, importer: Importer) -> None:
    assert of_class.origin.source is not None
    other = of_class.origin.source.model_copy(update={"text": "import lay_beside_it\n" + _CLASS.replace('"""', "#")})
    other = other.model_copy(update={"text": other.text.replace("from __future__ import annotations\n", "")})
    with pytest.raises(TaskRefused, match="lay_beside_it"):
        section_of_module(with_source(of_class, other), importer.capturer)


@pytest.mark.parametrize(
    ("text", "words"),
    [("Model = object\n", "is not defined at the top of its file"), ("class Model(:\n", "is no Python")],
)
def test_a_text_without_the_class_is_refused(of_class: ModuleRecord, text: str, words: str) -> None:
    with pytest.raises(UsageError, match=words):
        section_of_module(with_source(of_class, Source(text=text, name="Model")))


def test_a_record_without_a_text_asks_for_it(of_class: ModuleRecord) -> None:
    with pytest.raises(UsageError, match="has no text of 'net'") as refused:
        section_of_module(with_source(of_class, None))
    assert "--problem FILE.py:Model" in refused.value.fix


def test_a_task_by_hand_has_its_torch_expression() -> None:
    import torch

    known = ran(section_of_task(TASKS["softmax"]))
    x = torch.randn(3, 5)
    assert torch.allclose(known["_Problem"]()(x), torch.softmax(x, 1))  # type: ignore[operator]
    assert tuple(known["get_inputs"]()[0].shape) == tuple(TASKS["softmax"].tune[0].values())  # type: ignore[operator]


def test_a_task_without_a_torch_expression_is_refused() -> None:
    with pytest.raises(UsageError, match="has no torch expression"):
        section_of_task(replace(TASKS["softmax"], gpu_baselines={}))
