"""Making a module and its inputs where there is no GPU: what asks for one is made on the capture's own device.

A graph has no devices, so a file that says device="cuda" can be captured anywhere. What was asked for is remembered, so that
inputs on several devices are still told apart. Not covered: code that talks to the CUDA runtime, and .cuda() inside forward.
"""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from kernellab.graph.need_torch import need_torch

if TYPE_CHECKING:
    from collections.abc import Iterator

_TAG = "_klab_device"


def device_of(tensor: Any) -> str:
    """Where the code wanted it: "cuda:0" for what was moved here, else where it is."""
    return str(getattr(tensor, _TAG, tensor.device))


@contextmanager
def any_device(device: str) -> Iterator[None]:
    """Torch's default device is `device`, and GPUs that code names are this one too."""
    torch = need_torch()
    from torch.overrides import TorchFunctionMode

    class Moved(TorchFunctionMode):  # type: ignore[misc, unused-ignore]
        def __torch_function__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            if function is torch.Tensor.cuda:
                function, args, kwargs = torch.Tensor.to, (args[0], "cuda"), {}
            given = [*args, *(kwargs or {}).values()]
            wanted = [str(torch.device(a)) for a in given if _is_gpu(torch, a)]
            tags = [t for a in given if isinstance(a, torch.Tensor) and (t := getattr(a, _TAG, ""))]
            args = tuple(device if _is_gpu(torch, a) else a for a in args)
            kwargs = {k: device if _is_gpu(torch, v) else v for k, v in (kwargs or {}).items()}
            result = function(*args, **kwargs)
            if (wanted or tags) and isinstance(result, torch.Tensor):
                setattr(result, _TAG, (wanted or tags)[0])
            return result

    with torch.device(device), Moved():
        yield


def _is_gpu(torch: Any, value: Any) -> bool:
    if isinstance(value, str):
        return value == "cuda" or value.startswith("cuda:")
    return isinstance(value, torch.device) and value.type == "cuda"
