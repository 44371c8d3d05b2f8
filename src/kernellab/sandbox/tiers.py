"""Choosing the sandbox: the strongest tier that starts here, and never a weaker one in silence.

T1  user, net, pid, ipc, uts and mount namespaces with a private root; Landlock; seccomp; limits
T2  no user namespaces: Landlock, seccomp (no fork when running), limits
T3  no Landlock: namespaces with a private root, seccomp, limits
T0  nothing: only when the user asks for it by name ("none")
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from kernellab.core.errors import EnvironmentFault
from kernellab.sandbox import landlock
from kernellab.sandbox.host import NO_GPU, Sandbox
from kernellab.sandbox.syscalls import AUDIT_ARCH, machine
from kernellab.sandbox.zygote import LANDLOCKED, Tier

ORDER: tuple[Tier, ...] = ("T1", "T2", "T3")


def open_sandbox(
    wanted: Literal["auto", "T1", "T2", "T3", "none"], preload: Sequence[str],
    trees: Sequence[str] = (), self_exe: str = "",
) -> Sandbox:  # fmt: skip
    """Start a zygote in the wanted tier; "auto" takes the strongest that works. Jobs may read `trees` as well."""
    if wanted == "none":
        return Sandbox("T0", preload, trees, self_exe, NO_GPU)
    if machine() not in AUDIT_ARCH:
        raise EnvironmentFault(f"the sandbox does not know the processor architecture {machine()}",
                               "use x86_64 or aarch64, or --sandbox none for kernels you trust")  # fmt: skip
    if wanted != "auto":
        return Sandbox(wanted, preload, trees, self_exe, NO_GPU)
    reasons = []
    for tier in ORDER:
        if tier in LANDLOCKED and landlock.abi() == 0:
            reasons.append(f"{tier}: this kernel has no Landlock")
            continue
        try:
            return Sandbox(tier, preload, trees, self_exe, NO_GPU)
        except EnvironmentFault as fault:
            reasons.append(f"{tier}: {fault.what}")
    raise EnvironmentFault("no sandbox tier works on this machine (" + "; ".join(reasons) + ")",
                           "allow unprivileged user namespaces, use a kernel with Landlock (5.13 or later), or run "
                           "kernels you trust with --sandbox none")  # fmt: skip


def survey() -> dict[str, str]:
    """Each tier with 'available' or why not."""
    answers: dict[str, str] = {}
    for tier in ORDER:
        if tier in LANDLOCKED and landlock.abi() == 0:
            answers[tier] = "this kernel has no Landlock"
            continue
        try:
            with Sandbox(tier, []):
                answers[tier] = "available"
        except EnvironmentFault as fault:
            answers[tier] = fault.what
    return answers
