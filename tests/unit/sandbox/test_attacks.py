from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from dataclasses import asdict
from pathlib import Path

import numpy
import pytest

import kernellab
from kernellab.core.errors import EnvironmentFault
from kernellab.sandbox.attacks import self_attack
from kernellab.sandbox.host import Sandbox
from kernellab.sandbox.hostile import ATTACKS
from kernellab.sandbox.tiers import ORDER
from kernellab.sandbox.zygote import Tier


def test_there_are_many_attacks_and_each_has_its_own_name() -> None:
    keys = [(attack.name, attack.profile) for attack in ATTACKS]
    assert len(set(keys)) == len(keys)
    assert len({attack.name for attack in ATTACKS}) >= 26


@pytest.mark.sample(1)
@pytest.mark.parametrize("tier", ORDER)
def test_every_attack_is_blocked(tier: Tier) -> None:
    try:
        sandbox = Sandbox(tier, ["kernellab.sandbox.attacks"])
    except EnvironmentFault as fault:
        pytest.skip(fault.what)
    with sandbox:
        results = self_attack(sandbox)
    assert len(results) == len(ATTACKS)
    assert [asdict(r) for r in results if not r.blocked and r.applicable] == []
    skipped = {r.name for r in results if not r.applicable}
    assert skipped <= {"other-interface"}


def test_refuses_to_attack_where_nothing_is_confined() -> None:
    with Sandbox("T0", []) as sandbox, pytest.raises(ValueError, match="T0"):
        self_attack(sandbox)


_AS_NOBODY = """
import json, sys
from kernellab.core.errors import EnvironmentFault
from kernellab.sandbox.attacks import self_attack
from kernellab.sandbox.host import Sandbox
try:
    with Sandbox(sys.argv[1], ["kernellab.sandbox.attacks"]) as sandbox:
        results = self_attack(sandbox)
except EnvironmentFault as fault:
    print(json.dumps({"fault": fault.what}))
else:
    through = [r.__dict__ for r in results if r.applicable and not r.blocked]
    print(json.dumps({"tried": len(results), "through": through}))
"""


@pytest.mark.sample(1)
@pytest.mark.needs_root
@pytest.mark.parametrize("tier", ["T2", "T3"])
def test_every_attack_is_blocked_when_an_ordinary_user_runs_the_laboratory(tier: Tier, tmp_path: Path) -> None:
    """Then a job has the user's own uid, and only namespaces, Landlock and filters stand between it and the user."""
    python = shutil.which("python3", path="/usr/bin")
    if os.getuid() != 0 or python is None:
        pytest.skip("needs root and a python3 in /usr/bin that everybody may run")
    packages = [str(Path(str(m.__file__)).parent.parent) for m in (kernellab, numpy)]
    environment = {"PYTHONPATH": os.pathsep.join(packages), "HOME": str(tmp_path), "PATH": "/usr/bin:/bin"}
    done = subprocess.run([python, "-c", _AS_NOBODY, tier], user=65534, group=65534, extra_groups=[], cwd="/",
                          env=environment, capture_output=True, text=True, check=False)  # fmt: skip
    if "ImportError" in done.stderr or "ModuleNotFoundError" in done.stderr or "PermissionError" in done.stderr:
        pytest.skip(f"{python} cannot use the packages of {sys.executable}")
    answer = json.loads(done.stdout)
    if "fault" in answer:
        pytest.skip(answer["fault"])
    assert answer == {"tried": len(ATTACKS), "through": []}
