"""Three tiny modules that are tasks, and some that are not, written into a folder."""

from __future__ import annotations

from pathlib import Path

SCALED = '''
import torch

class Model(torch.nn.Module):
    """Rows times a gain."""
    def __init__(self, n):
        super().__init__()
        self.gain = torch.nn.Parameter(torch.rand(n))

    def forward(self, x):
        return x * self.gain

def get_inputs():
    return [torch.randn(64, 32)]

def get_init_inputs():
    return [32]
'''


def plain(forward: str, init: str = "pass", shape: str = "32, 48", eval_only: str = "") -> str:
    """Rows of one length: where that is free too, judges are proved at a hundred thousand elements, for ten seconds."""
    return f"""
import torch
{eval_only}
class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        {init}

    def forward(self, x):
        assert x.shape[1] == {shape.split(", ")[1]}; return {forward}

def get_inputs():
    return [torch.randn({shape})]
"""


SORTED = plain("torch.softmax(x.sort(1).values, 1)", shape="32, 80")  # no kernels are generated for a sort so wide
PROBLEMS = {
    "1_scaled": SCALED,
    "2_sorted": SORTED,
    "3_relu": plain("torch.relu(x)"),
    "4_missing": "import not_there\n\ndef get_inputs():\n    return []\n",
    "5_constant": plain("(x - x.amax(1, keepdim=True)).clamp(min=0) * 0"),
    "6_again": SORTED,
    "7_dropout": plain("torch.relu(self.drop(x))", "self.drop = torch.nn.Dropout(0.5)"),
    "8_norm": plain("self.norm(x)", "self.norm = torch.nn.BatchNorm1d(48)"),
    "9_small": plain("x.square() * 1e-6"),
    "10_sum": plain("(x @ self.w).sum(1)", "self.w = torch.nn.Parameter(torch.rand(48, 16))"),
    "11_in_place": plain("x.add_(1)"),
    "12_prints": "print('hello')\n" + plain("torch.tanh(x)"),
    "13_downloads": plain("x", "import urllib.request; urllib.request.urlopen('http://192.0.2.1/')"),
}
KERNEL = '''
SOURCE = r"""
void scaled(const float *gain, const float *x, float *y, long m, long n) {
    for (long i = 0; i < m; i++) for (long j = 0; j < n; j++) y[i * n + j] = x[i * n + j] * gain[j];
}
"""

def launch(gain, x, out):
    kernel("scaled")(gain, x, out, *x.shape)
'''


def write(folder: Path, *names: str) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    for name in names or tuple(PROBLEMS):
        (folder / f"{name}.py").write_text(PROBLEMS[name])
    return folder
