"""What a training leaves: a model's folder, and `training.json` beside the weights: from what, how, and the curve."""

from __future__ import annotations

import json
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

from kernellab.core.files import write_file
from kernellab.core.ids import digest
from kernellab.learn.extra import needed
from kernellab.learn.lm.model import LanguageModel

RECORD = "training.json"
_CURVE = ("step", "loss", "reward", "reward_std", "kl", "mean_token_accuracy", "masked", "right")


@dataclass(frozen=True)
class Trained:
    folder: Path
    facts: dict[str, Any]


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
    return str(max(found, key=lambda p: int(p.name.rpartition("-")[2]))) if found else None


def write_record(kind: str, trainer: Any, opened: LanguageModel, out: Path, settings: dict[str, Any]) -> Trained:
    trainer.save_model(str(out))
    opened.tokenizer.save_pretrained(str(out))
    curve = [{k: row[k] for k in _CURVE if k in row} for row in trainer.state.log_history if "loss" in row]
    facts = {
        "kind": kind, "from": str(opened.folder), "parent": parent_of(opened.folder), "settings": settings,
        "parameters": sum(p.numel() for p in opened.model.parameters()), "steps": trainer.state.global_step,
        "libraries": {name: version(name) for name in ("torch", "transformers", "trl")}, "curve": curve,
    }  # fmt: skip
    write_file(out / RECORD, json.dumps(facts, indent=2, sort_keys=True) + "\n")
    return Trained(out, facts)


def parent_of(folder: Path) -> str:
    """The digest of the record of the training before; "" for a model that was not trained here."""
    record = folder / RECORD
    return digest(json.loads(record.read_text())) if record.is_file() else ""
