"""What a training leaves: a model's folder, and `training.json` beside the weights: from what, how, and the curve.

It is written last. A folder without it holds a training that was stopped, or a model that was not trained here.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

from pydantic import BaseModel, Field, ValidationError

from kernellab.core.errors import UsageError
from kernellab.core.files import read_plain, reason, write_file
from kernellab.core.ids import digest
from kernellab.learn.extra import needed
from kernellab.learn.lm.model import LanguageModel, weights_of

RECORD = "training.json"
_CURVE = ("step", "loss", "reward", "reward_std", "kl", "mean_token_accuracy", "masked", "right")


@dataclass(frozen=True)
class Trained:
    folder: Path
    facts: dict[str, Any]


class Training(BaseModel):
    """What is read of a record. `base`: the digest of the weights that it began with; `parent`: of their own record.
    `digest`: of this one."""

    kind: str
    origin: str = Field(alias="from")
    base: str
    parent: str
    steps: int
    parameters: int
    settings: dict[str, Any]
    curve: list[dict[str, float]]
    digest: str


def plain_options(out: Path, steps: int, batch: int, rate: float, save_every: int, seed: int) -> dict[str, Any]:
    """Of any trainer: nothing leaves the machine, and two checkpoints are kept."""
    on_gpu = needed("torch").cuda.is_available()
    return {
        "output_dir": str(out), "max_steps": steps, "per_device_train_batch_size": batch, "learning_rate": rate,
        "lr_scheduler_type": "constant_with_warmup", "warmup_steps": min(10, steps // 10), "seed": seed,
        "logging_steps": 1, "save_strategy": "steps", "save_steps": save_every, "save_total_limit": 2,
        "report_to": [], "push_to_hub": False, "disable_tqdm": True, "use_cpu": not on_gpu, "bf16": on_gpu,
    }  # fmt: skip


def checkpoint_in(out: Path) -> str | None:
    """The last one there; None: begin."""
    found = [p for p in out.glob("checkpoint-*") if (p / "trainer_state.json").is_file()]
    return str(max(found, key=_step)) if found else None


def stopped_at(folder: Path) -> int | None:
    """The step of the last checkpoint of a training that has no record yet; None where there is none."""
    found = None if (folder / RECORD).exists() else checkpoint_in(folder)
    return _step(Path(found)) if found else None


def _step(checkpoint: Path) -> int:
    return int(checkpoint.name.rpartition("-")[2])


def write_record(kind: str, trainer: Any, opened: LanguageModel, out: Path, settings: dict[str, Any]) -> Trained:
    base = weights_of(opened.folder)  # before it is written to, should both be one folder
    trainer.save_model(str(out))
    opened.tokenizer.save_pretrained(str(out))
    curve = [{k: row[k] for k in _CURVE if k in row} for row in trainer.state.log_history if "loss" in row]
    facts = {
        "kind": kind, "from": str(opened.folder), "base": base, "parent": parent_of(opened.folder), "settings": settings,
        "parameters": sum(p.numel() for p in opened.model.parameters()), "steps": trainer.state.global_step,
        "libraries": {name: version(name) for name in ("torch", "transformers", "trl")}, "curve": curve,
    }  # fmt: skip
    write_file(out / RECORD, json.dumps(facts, indent=2, sort_keys=True) + "\n")
    return Trained(out, facts)


def parent_of(folder: Path) -> str:
    """The digest of the record of the training before; "" for a model that was not trained here."""
    found = training_in(folder)
    return found.digest if found else ""


def training_in(folder: Path) -> Training | None:
    """None for a model that was not trained here, or not to the end."""
    path = folder / RECORD
    if not path.exists():
        return None
    try:
        data = json.loads(read_plain(path))
        return Training.model_validate({**data, "digest": digest(data)})
    except OSError as err:
        raise UsageError(f"{path} cannot be read: {reason(path, err)}", "give another folder") from None
    except ValidationError as err:
        first = err.errors()[0]
        what = f"{'.'.join(map(str, first['loc']))}: {first['msg']}"
    except (ValueError, TypeError, RecursionError) as err:
        what = str(err)[:120]
    raise UsageError(f"{path} is no record of a training: {what}", "give a folder that klab learn wrote")
