"""The built-in operators: the three families of the seeds."""

from kernellab.tasks.builtin import particle_filter, softmax, stencil

TASKS = {t.name: t for t in (softmax.TASK, *stencil.TASKS, particle_filter.TASK)}
