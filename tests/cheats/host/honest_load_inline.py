# PROBLEM: linear_softmax
# Its softmax is C++ that torch's own extension builder compiles when the file is imported.
import torch
from torch import nn
from torch.utils.cpp_extension import load_inline

SOURCE = """
torch::Tensor softmax(torch::Tensor x) {
    auto y = torch::empty_like(x);
    const float *from = x.data_ptr<float>();
    float *to = y.data_ptr<float>();
    for (long i = 0; i < x.size(0); i++, from += x.size(1), to += x.size(1)) {
        float most = from[0], sum = 0;
        for (long j = 1; j < x.size(1); j++) most = std::max(most, from[j]);
        for (long j = 0; j < x.size(1); j++) sum += to[j] = std::exp(from[j] - most);
        for (long j = 0; j < x.size(1); j++) to[j] /= sum;
    }
    return y;
}
"""
built = load_inline("inline_softmax", SOURCE, functions=["softmax"], extra_cflags=["-O1"])


class Plain(nn.Module):
    def __init__(self, inside, outside):
        super().__init__()
        self.linear = nn.Linear(inside, outside)
        self.register_buffer("shift", torch.ones(outside))

    def right(self, x):
        return torch.softmax(self.linear(x) + self.shift, dim=1)


class ModelNew(Plain):
    def forward(self, x):
        return built.softmax((self.linear(x) + self.shift).contiguous())
