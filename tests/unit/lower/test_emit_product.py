"""Products on tensor cores: built for a Hopper GPU, and interpreted at awkward sizes."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

pytest.importorskip("torch")
pytest.importorskip("triton")

from tests.unit.lower.conftest import Interpret
from tests.unit.lower.products import ATTENTION, ONE_ROW, SUBJECTS, record_of
from tests.unit.tasks.modules import graphs

from kernellab.build.base import Candidate, NotBuilt
from kernellab.core.settings import Settings
from kernellab.lower.candidates import written
from kernellab.propose.recipe import with_defaults
from kernellab.targets.base import Workbench, platform
from kernellab.tasks.modules.importing import Wishes
from kernellab.tasks.modules.task import module_task


@pytest.fixture(scope="module")
def bench() -> Iterator[Workbench]:
    with platform("cuda").workbench(Settings(device="cuda", target="sm_90", build_timeout_s=600)) as made:
        yield made


@pytest.mark.sample(1, of="products")
@pytest.mark.parametrize("name", SUBJECTS)
def test_it_is_built_and_uses_tensor_cores(name: str, bench: Workbench) -> None:
    record = record_of(name)
    task = module_task(graphs.module_record(record, Wishes()))
    texts = written(record, "triton", SUBJECTS[name].sizes(record))
    wanted = ("attention",) if name in ATTENTION else ("product", "packed", "parted")
    found = [w for w in texts if w.name.startswith(wanted)]
    assert found
    for text in found:
        candidate = Candidate(text.text, text.name)
        built = bench.builder.build(task, candidate, with_defaults(bench.builder, candidate), [record.example])
        assert not isinstance(built, NotBuilt), (text.name, built.reason, text.text)
        assert any("mma" in part.listing for part in built.parts) == (name not in ONE_ROW), text.text


@pytest.mark.heavy
@pytest.mark.sample(1, of="products")
@pytest.mark.parametrize("name", SUBJECTS)
def test_interpreted_it_is_right_at_awkward_sizes(name: str, interpret: Interpret, tmp_path: Path) -> None:
    right, failed = interpret("products", name, str(tmp_path))
    assert not failed, (right, failed)
    assert any(text.startswith("attention" if name in ATTENTION else "product") for text in right)
