"""Operators that no task can have: what is random, what has a size that the data decide, what reads raw bits or files."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Refusal:
    what: str
    fix: str


RANDOM = Refusal("it draws random numbers", "make the random tensor or the mask an input, or call .eval() for dropout")
_DATA = Refusal(
    "the size of its result depends on the data", "use a mask, torch.where or a fixed number of elements instead"
)
_SCALAR = Refusal(
    "it reads a number out of a tensor while the graph is made", "keep it a tensor; no .item(), no float(x)"
)
_EMPTY = Refusal("it reads memory that nobody wrote", "use zeros or full")
_BITS = Refusal("it reads the bits of a number as another type", "convert with .to(dtype)")
_STRIDES = Refusal("it reads memory by strides, which a graph does not have", "use slices, unfold or reshape")
_COMPLEX = Refusal("it makes complex numbers", "complex numbers are not supported; use the real and the imaginary part")
_FILE = Refusal("it reads or writes a file", "make what the file holds an input or a buffer")
_CHECKS = Refusal(
    "it raises an error where a matrix cannot be inverted or taken apart",
    "leave linalg's inverses and decompositions out of the module",
)
_QUANTISED = Refusal("it makes a quantised tensor", "hold integers and scales as plain tensors")

_FAMILIES: dict[Refusal, str] = {
    RANDOM: """rand randn randint rand_like randn_like randint_like randperm bernoulli native_dropout dropout normal
        normal_functional uniform multinomial poisson exponential geometric cauchy log_normal random rrelu_with_noise
        rrelu_with_noise_functional binomial _fused_dropout alpha_dropout feature_dropout""",
    _DATA: """nonzero nonzero_static masked_select unique unique_dim _unique2 unique_consecutive repeat_interleave bincount
        argwhere""",
    _SCALAR: "_local_scalar_dense item equal is_nonzero",
    _EMPTY: "empty empty_like new_empty empty_strided empty_permuted",
    _STRIDES: "as_strided as_strided_copy as_strided_scatter",
    _COMPLEX: "complex view_as_complex _fft_c2c _fft_r2c _fft_c2r polar stft istft",
    _FILE: "from_file save",
    _CHECKS: "_linalg_check_errors",
    _QUANTISED: "quantize_per_tensor quantize_per_channel dequantize",
}
_BY_NAME = {name: reason for reason, names in _FAMILIES.items() for name in names.split()}


def refusal(op: str) -> Refusal | None:
    """Why an operator, for example "aten.bernoulli.p", cannot be in a task; None for the others."""
    if op == "aten.view.dtype":
        return _BITS
    parts = op.split(".")
    if op == "aten.repeat_interleave.self_int":
        return None
    return _BY_NAME.get(parts[1])
