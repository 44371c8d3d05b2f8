"""Supervised fine-tuning on right replies, by TRL. Stopped at any point it goes on from its last checkpoint."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from kernellab.core.errors import UsageError
from kernellab.learn.extra import needed
from kernellab.learn.lm.corpus import Lesson, lessons
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
    require_trainer()
    opened = open_model(folder)
    given = lessons(data)
    taught = [lesson for lesson in given if fits(opened, lesson, settings.longest)]
    if not taught:
        raise UsageError(f"every lesson of {data} is longer than {settings.longest} tokens", "raise --longest")
    facts: dict[str, Any] = {"lessons": len(taught), "left_out": len(given) - len(taught), "data": str(data)}
    return fine_tune("sft", opened, taught, out, settings, facts)


def require_trainer() -> None:
    """Before anything that takes long: the libraries are there."""
    for name in ("trl", "datasets"):
        needed(name)


def fine_tune(
    kind: str, opened: LanguageModel, taught: Sequence[Lesson], out: Path, settings: Teaching, facts: dict[str, Any]
) -> Trained:
    """On lessons that fit. `kind`, `facts`: for the record."""
    trl, datasets = needed("trl"), needed("datasets")
    options = trl.SFTConfig(
        **plain_options(out, settings.steps, settings.batch, settings.rate, settings.save_every, settings.seed),
        max_length=settings.longest, packing=False,
    )  # fmt: skip
    trainer = trl.SFTTrainer(
        model=opened.model,
        args=options,
        train_dataset=datasets.Dataset.from_list([_row(opened, lesson) for lesson in taught]),
        processing_class=opened.tokenizer,
    )
    with memory_told():
        trainer.train(resume_from_checkpoint=checkpoint_in(out))
    return write_record(kind, trainer, opened, out, {**asdict(settings), **facts})


def fits(opened: LanguageModel, lesson: Lesson, longest: int) -> bool:
    row = _row(opened, lesson)
    text = row["prompt"] + row["completion"]
    return len(opened.tokenizer(text, add_special_tokens=False)["input_ids"]) <= longest


def _row(opened: LanguageModel, lesson: Lesson) -> dict[str, str]:
    return {"prompt": opened.prompt(lesson.prompt), "completion": lesson.reply + opened.tokenizer.eos_token}
