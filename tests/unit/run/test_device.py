from __future__ import annotations

import pytest

from kernellab.core.hardware import cpu_model
from kernellab.core.ids import canonical_json, digest
from kernellab.core.own_code import own_code
from kernellab.core.targets import platform_facts
from kernellab.core.version import VERSION
from kernellab.run.cpu import cpu_name
from kernellab.run.device import describe_environment

FACTS = {"device", "kernel", "python", "libc", "compiler", "packages", "code", "tier", "threads", "digest"}


def test_the_processor_has_a_name() -> None:
    assert cpu_model().strip()
    assert cpu_model() in cpu_name()


def test_the_environment_names_what_a_figure_depends_on_and_is_recordable() -> None:
    facts = describe_environment(cpu_name(), "gcc 12", "T1", 2)
    assert set(facts) == FACTS
    assert (facts["device"], facts["compiler"], facts["tier"], facts["threads"]) == (cpu_name(), "gcc 12", "T1", 2)
    assert facts["packages"]["numpy"] != "absent"
    assert (facts["packages"]["kernellab"], facts["code"]) == (VERSION, own_code())
    assert "triton" not in facts["packages"]
    assert canonical_json(facts)


def test_a_gpu_adds_what_its_driver_says_and_the_packages_that_compile_for_it() -> None:
    said = {"gpu": "NVIDIA H200", "driver": "580.1"}
    facts = describe_environment("H200", "nvrtc 13.4", "T1", 1, said, platform_facts("cuda").packages)
    assert set(facts) == FACTS | {"gpu", "driver"}
    assert {"triton", "cuda-bindings", "nvidia-cuda-nvrtc", "nvidia-ml-py"} <= set(facts["packages"])
    assert canonical_json(facts)


@pytest.mark.parametrize("gpu", [None, {"gpu": "NVIDIA H200", "driver": "580.1"}])
def test_the_digest_covers_every_fact(gpu: dict[str, str] | None) -> None:
    facts = describe_environment("one", "gcc 12", "T1", 2, gpu)
    assert facts["digest"] == digest({k: v for k, v in facts.items() if k != "digest"})
    others = [
        describe_environment("another", "gcc 12", "T1", 2, gpu),
        describe_environment("one", "gcc 13", "T1", 2, gpu),
        describe_environment("one", "gcc 12", "T2", 2, gpu),
        describe_environment("one", "gcc 12", "T1", 1, gpu),
        describe_environment("one", "gcc 12", "T1", 2, {"gpu": "another", "driver": "580.1"}),
    ]
    assert len({facts["digest"], *(o["digest"] for o in others)}) == 6
