"""Supervised fine-tuning on right replies, by TRL. Stopped at any point it goes on from its last checkpoint."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from kernellab.core.errors import UsageError
from kernellab.learn.extra import needed
from kernellab.learn.lm.corpus import lessons
from kernellab.learn.lm.model import LanguageModel, memory_told, open_model
from kernellab.learn.lm.trained import Trained, checkpoint_in, plain_options, write_record


@dataclass(frozen=True)
class Teaching:
    """`longest`: of prompt and reply together, in tokens; longer lessons are left out, never cut."""

    steps: int = 200
    batch: int = 8
    rate: float = 2e-5
    longest: int = 4096
    save_every: int = 50
    seed: int = 0


def teach(folder: Path, data: Path, out: Path, settings: Teaching) -> Trained:
    """A model that has seen the lessons, in `out`, with a record of how it was made."""
    trl, datasets = needed("trl"), needed("datasets")
    opened = open_model(folder)
    taught = lessons(data)
    rows = [row for lesson in taught if (row := _row(opened, lesson.prompt, lesson.reply, settings.longest))]
    if not rows:
        raise UsageError(f"every lesson of {data} is longer than {settings.longest} tokens", "raise --longest")
    options = trl.SFTConfig(
        **plain_options(out, settings.steps, settings.batch, settings.rate, settings.save_every, settings.seed),
        max_length=settings.longest, packing=False,
    )  # fmt: skip
    trainer = trl.SFTTrainer(
        model=opened.model,
        args=options,
        train_dataset=datasets.Dataset.from_list(rows),
        processing_class=opened.tokenizer,
    )
    with memory_told():
        trainer.train(resume_from_checkpoint=checkpoint_in(out))
    facts: dict[str, Any] = {"lessons": len(rows), "left_out": len(taught) - len(rows), "data": str(data)}
    return write_record("sft", trainer, opened, out, {**asdict(settings), **facts})


def _row(opened: LanguageModel, messages: list[dict[str, str]], reply: str, longest: int) -> dict[str, str] | None:
    row = {"prompt": opened.prompt(messages), "completion": reply + opened.tokenizer.eos_token}
    length = len(opened.tokenizer(row["prompt"] + row["completion"], add_special_tokens=False)["input_ids"])
    return row if length <= longest else None
