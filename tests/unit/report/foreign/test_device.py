"""Facts of devices: each with a source, and found only where a text means one."""

from __future__ import annotations

import pytest

from kernellab.report.foreign.device import device_in, known_devices


def test_every_fact_has_a_source_and_a_sensible_size() -> None:
    for device in known_devices():
        assert device.source.startswith("https://")
        assert 1e11 < device.memory < 1e13
        assert device.tensor["fp32"] <= max(device.tensor.values())
        assert all(1e12 < value < 1e16 for value in device.tensor.values())
    assert {"A100", "H100", "H200", "MI300X"} <= {d.name for d in known_devices()}


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("on an NVIDIA H100 PCIe", "H100 PCIe"), ("H100 SXM5", "H100"), ("A100-SXM4-40GB", "A100 40GB"),
        ("A100 (80 GB)", "A100"), ("GH200 Grace Hopper", "GH200"), ("Instinct MI300X", "MI300X"), ("RTX 4090", "RTX 4090"),
    ],
)  # fmt: skip
def test_a_device_is_known_by_its_name(text: str, name: str) -> None:
    found = device_in(text)
    assert found is not None
    assert found.name == name


@pytest.mark.parametrize("text", ["", "A100 and H100", "on our GPU", "A1000", "4096 x 4096"])
def test_none_or_several_are_no_device(text: str) -> None:
    assert device_in(text) is None


def test_the_peak_is_that_of_the_dtype() -> None:
    h100 = device_in("H100")
    assert h100 is not None
    assert h100.most("fp8 gemm")[0] in ("fp8", "int8")
    assert h100.most("bf16") == ("bf16", 990e12)
    assert h100.most("sgemm, fp32") == ("tf32", 495e12)
