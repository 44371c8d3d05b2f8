"""Buffers that are of one form, whatever their size."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from kernellab.graph.forms import form_of, made

_ONES = np.ones((1, 1, 6, 6))


@pytest.mark.parametrize(
    ("values", "form"),
    [
        (np.tril(_ONES), "lower"),
        (np.tril(_ONES).astype(bool), "lower"),
        (np.triu(_ONES, 1).astype(bool), "above"),
        (np.triu(np.full((5, 7), -np.inf), 1), "shut above"),
        (np.arange(9), "counted"),
        (np.arange(9.0)[None], "counted"),
        (_ONES, ""),
        (np.triu(_ONES), ""),
        (np.tril(np.ones((2, 2))), ""),
        (np.arange(3), ""),
        (np.arange(9) + 1, ""),
        (np.array(0.0), ""),
    ],
)
def test_a_form_is_told_and_made_again_at_any_size(values: np.ndarray, form: str) -> None:
    assert form_of(values) == form
    if form:
        assert (made(form, values.shape) == values).all()  # type: ignore[arg-type]
        assert form_of(made(form, (2, *(n + 3 for n in values.shape)))) == form  # type: ignore[arg-type]


@pytest.mark.parametrize("kind", ["own", "planted", "exceptions", "weights"])
def test_a_causal_mask_in_a_buffer_is_causal_in_every_draw(kind: str, tmp_path: Path) -> None:
    """Seen: masks in buffers were drawn like any weights, and a kernel that knew its module to be causal was refused."""
    torch = pytest.importorskip("torch")
    from kernellab.graph.live import capture_object
    from kernellab.tasks.modules.device_draws import DeviceDraws
    from kernellab.tasks.modules.draws import draws
    from kernellab.tasks.spec import Buffer

    class Causal(torch.nn.Module):  # type: ignore[misc, name-defined, unused-ignore]
        def __init__(self) -> None:
            super().__init__()
            self.register_buffer("mask", torch.tril(torch.ones(1, 8, 8)))

        def forward(self, x: object) -> object:
            return torch.softmax(x.masked_fill(self.mask == 0, float("-inf")), -1)  # type: ignore[attr-defined]

    record = capture_object(Causal(), (torch.randn(4, 8, 8),))
    [place] = [n for n, i in enumerate(record.inputs) if i.role == "buffer"]
    wanted = np.tril(np.ones((1, 8, 8), np.float32))
    host = draws(record, (kind,))[kind](
        np.random.default_rng(0), Buffer(record.inputs[place].name, (1, 8, 8)), record.example
    )
    assert np.array_equal(host, wanted)
    assert np.array_equal(DeviceDraws(record, "cpu").draw(record.example, 0, kind)[place].numpy(), wanted)
