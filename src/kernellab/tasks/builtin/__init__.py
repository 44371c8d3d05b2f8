"""The built-in operators: the three families of the seeds, each in float32, bfloat16 and float16."""

from kernellab.tasks.builtin import particle_filter, softmax, stencil

TASKS = {t.name: t for t in (*softmax.TASKS, *stencil.TASKS, *particle_filter.TASKS)}
