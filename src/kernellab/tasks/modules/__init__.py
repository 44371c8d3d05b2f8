"""PyTorch modules as tasks: a captured graph, with shapes, inputs, scale and contract derived from it.

    capture --> GraphRecord --import_module--> ModuleRecord (task.json, hashed) --module_task--> Task

The record alone makes the task again: neither the user's file nor the capture is needed after it was written.
"""
