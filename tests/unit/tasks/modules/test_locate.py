"""From a locator to a record's file: captured once, kept by its hash, and other locators left alone."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("torch")

from tests.unit.tasks.modules import graphs

from kernellab.core.ids import sha256_hex
from kernellab.tasks.modules.importing import AS_IT_IS, Wishes
from kernellab.tasks.modules.locate import _key, locate_module, write_record
from kernellab.tasks.modules.record import is_record, read_module_record
from kernellab.tasks.suites import find_problem

MODULE = """
import torch

class Model(torch.nn.Module):
    def forward(self, x):
        return x * 2.0

def get_inputs():
    return [torch.randn(4, 8)]
"""


@pytest.fixture(autouse=True)
def _own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


@pytest.mark.heavy
def test_a_module_is_captured_once_in_a_process(tmp_path: Path) -> None:
    file = tmp_path / "scaled.py"
    file.write_text(MODULE)
    first = locate_module(f"{file}:Model")
    assert Path(first).parent == tmp_path / "cache" / "kernellab" / "modules"
    assert read_module_record(first).precision == "ieee"
    Path(first).unlink()
    assert locate_module(f"{file}:Model") == first, "known in this process"
    assert not Path(first).exists(), "so it was not captured again"


def test_a_changed_text_or_wish_is_another_capture(tmp_path: Path) -> None:
    file = tmp_path / "scaled.py"
    keys = []
    for text, wishes in ((MODULE, AS_IT_IS), (MODULE, Wishes(precision="tf32")), (MODULE, Wishes(eval_mode=True)),
                         (MODULE + "#", AS_IT_IS), (MODULE, AS_IT_IS)):  # fmt: skip
        file.write_text(text)
        problem = find_problem(f"{file}:Model")
        assert problem is not None
        keys.append(_key(problem, wishes))
    assert len(set(keys)) == 4
    assert keys[0] == keys[-1]


def test_what_names_no_module_is_given_back(tmp_path: Path) -> None:
    task = tmp_path / "task.py"
    task.write_text("TASK = None\n")
    for locator in ("softmax", str(task), str(tmp_path / "absent.json")):
        assert locate_module(locator) == locator


def test_a_record_is_its_own_place(tmp_path: Path) -> None:
    path = write_record(graphs.module_record(graphs.linear()), tmp_path)
    assert is_record(path)
    assert locate_module(path) == path
    other = tmp_path / "other.json"
    other.write_text('{"kind": "something else"}')
    assert not is_record(str(other))


def test_a_record_is_named_by_its_text_and_a_damaged_one_is_written_again(tmp_path: Path) -> None:
    record = graphs.module_record(graphs.linear(), name="n" * 80)
    path = Path(write_record(record, tmp_path / "new"))
    assert path.name == f"{'n' * 60}-{sha256_hex(record.text())[:16]}.json"
    path.write_bytes(b"damaged")
    assert write_record(record, tmp_path / "new") == str(path)
    assert path.read_bytes() == record.text()
    assert list(path.parent.iterdir()) == [path], "nothing temporary stays"
