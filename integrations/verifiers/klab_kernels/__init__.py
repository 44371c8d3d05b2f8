from klab_kernels.taskset import KernelTask, KernelTaskset

__all__ = ["KernelTask", "KernelTaskset"]
