"""The tools of an agent: five verbs, one implementation, three doors (Python, MCP, the command line)."""

from kernellab.tools.build import compile
from kernellab.tools.context import ToolContext
from kernellab.tools.generate import generate_kernel
from kernellab.tools.judge import benchmark, verify
from kernellab.tools.memory import best, contrastive_select, explain
from kernellab.tools.records import Spec
from kernellab.tools.tasks import list_tasks
from kernellab.tools.workspace import Workspace

__all__ = [
    "Spec",
    "ToolContext",
    "Workspace",
    "benchmark",
    "best",
    "compile",
    "contrastive_select",
    "explain",
    "generate_kernel",
    "list_tasks",
    "verify",
]
