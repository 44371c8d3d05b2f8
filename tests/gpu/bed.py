"""Buffers on the GPU for one call of each shape of the doubling task, and the runner that runs them."""

from __future__ import annotations

from kernellab.build.base import Built
from kernellab.run.base import Call, Sample, WorkerFault
from kernellab.run.cuda import CudaDevice, CudaRunner
from kernellab.tasks.spec import Array, Dims

POISON = 0x7FC0BEEF


class Bed:
    def __init__(self, gpu: CudaDevice, built: Built, shapes: tuple[Dims, ...]) -> None:
        self.inputs, self.outputs = gpu.memory("in", b"inputs' guard..."), gpu.memory("out", b"outputs' guard..")
        self.calls = [
            Call(d, (self.inputs.declare((d["N"],), "float32"),), (self.outputs.declare((d["N"],), "float32"),))
            for d in shapes
        ]
        self.inputs.open()
        self.outputs.open()
        self.runner: CudaRunner | None = None
        for call in self.calls:
            self.outputs.fill(call.outputs[0], POISON)
        gpu.context.synchronize()
        try:
            self.runner = gpu.start(built, self.inputs, self.outputs, self.calls)
        except WorkerFault:
            self.close()
            raise

    def put(self, values: Array, number: int = 0) -> None:
        self.inputs.write(self.calls[number].inputs[0], values)

    def run(self, *numbers: int, timeout_s: float = 5.0, counted: bool = False) -> Sample:
        assert self.runner is not None
        return self.runner.run(numbers or (0,), timeout_s, counted)

    def got(self, number: int = 0) -> Array:
        return self.outputs.read(self.calls[number].outputs[0])

    def close(self) -> None:
        if self.runner is not None:
            self.runner.close()
        self.inputs.close()
        self.outputs.close()


def pid(gpu: CudaDevice) -> int:
    """The runner process that is alive now."""
    return gpu._alive()._job.pid
