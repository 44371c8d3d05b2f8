"""How long an agent waits: from list_tasks to a verified kernel over the real MCP server (stdio), then for each further one.

    python benchmarks/mcp_speed.py [--task softmax] [--more 10]

The first kernel pays for the server's start, the sandbox, the task's proof and its known answers. The further ones are other texts
(one parameter each), so that nothing is answered from a cache of machine code. The aim: 15 s, then 2 s each.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import resource
import sys
import tempfile
import time
from pathlib import Path
from statistics import median
from typing import Any

from mcp import Client, StdioServerParameters


async def call(client: Client, name: str, **arguments: Any) -> dict[str, Any]:
    result = await client.call_tool(name, arguments)
    data: dict[str, Any] = json.loads(result.content[0].text)  # type: ignore[union-attr]
    if result.is_error:
        raise RuntimeError(data)
    return data


async def verified(client: Client, source: str, spec: dict[str, str]) -> None:
    made = await call(client, "compile", src=source, spec=spec)
    verdict = await call(client, "verify", artifact=made["artifact"])
    assert verdict["status"] == "passed", verdict


async def measure(task: str, shape: str, more: int, folder: Path) -> tuple[float, list[float]]:
    spec = {"task": task, "shape": shape}
    server = StdioServerParameters(
        command=str(Path(sys.executable).with_name("klab")), args=["mcp", "--workspace", str(folder / "work")],
        env={**os.environ, "KLAB_HOME": str(folder / "home"), "XDG_CACHE_HOME": str(folder / "cache")},
    )  # fmt: skip
    started = time.perf_counter()
    async with Client(server) as client:
        await call(client, "list_tasks")
        made = await call(client, "generate_kernel", spec=spec)
        source = (await client.read_resource(f"klab://kernel/{made['kernel']}/source")).contents[0].text  # type: ignore[union-attr]
        await verified(client, source, spec)
        first = time.perf_counter() - started
        each = []
        for number in range(more):
            began = time.perf_counter()
            await verified(
                client, f"{source}\nSOURCE += '\\nint other_{number}(void) {{ return {number}; }}\\n'\n", spec
            )
            each.append(time.perf_counter() - began)
    return first, each


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    options.add_argument("--task", default="softmax")
    options.add_argument("--shape", default="M=1024,N=1024")
    options.add_argument("--more", type=int, default=10)
    asked = options.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        first, each = asyncio.run(measure(asked.task, asked.shape, asked.more, Path(folder)))
    load, used = os.getloadavg()[0], resource.getrusage(resource.RUSAGE_CHILDREN)
    spent = used.ru_utime + used.ru_stime
    print(f"{asked.task} {asked.shape}: list_tasks to a verified kernel {first:.1f} s (aim 15)")
    print(f"{len(each)} more: median {median(each):.2f} s, longest {max(each):.2f} s (aim 2)")
    print(f"load {load:.1f} on {os.cpu_count()} cores; processor time {spent:.1f} s for {1 + len(each)} kernels")


if __name__ == "__main__":
    main()
