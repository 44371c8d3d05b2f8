"""Group-relative policy optimisation of a language model by TRL, with the judge as its reward.

Every reply is a sample of the service's ledger: what was paid, and why, can be derived again from it. Training stops where
more than a share of a batch is masked (trl_reward says why); it goes on from its last checkpoint.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path

from kernellab.core.errors import UsageError
from kernellab.learn.extra import needed
from kernellab.learn.lm.model import memory_told, open_model
from kernellab.learn.lm.trained import Trained, checkpoint_in, plain_options, write_record
from kernellab.learn.service import RewardService
from kernellab.learn.trl import MOST_MASKED, trl_reward
from kernellab.ledger.run import Run


@dataclass(frozen=True)
class Reinforcement:
    """`group`: replies to one prompt that are compared. `prompts`: of a step. `longest`: tokens of a reply. `beta`: of the
    penalty for leaving the model that it began with."""

    steps: int = 50
    prompts: int = 4
    group: int = 8
    rate: float = 1e-5
    longest: int = 1536
    beta: float = 0.02
    temperature: float = 1.0
    most_masked: float = MOST_MASKED
    save_every: int = 10
    seed: int = 0


def reinforce(folder: Path, service: RewardService, out: Path, settings: Reinforcement) -> Trained:
    if settings.group < 2:
        raise UsageError("a group of one has nothing to be compared with", "--group 2 or more")
    trl, datasets = needed("trl"), needed("datasets")
    opened = open_model(folder)
    rows = [{**row, "prompt": opened.prompt(row["prompt"])} for row in service.prompts()]
    batch = settings.prompts * settings.group
    options = trl.GRPOConfig(
        **plain_options(out, settings.steps, batch, settings.rate, settings.save_every, settings.seed),
        num_generations=settings.group, max_completion_length=settings.longest, beta=settings.beta,
        temperature=settings.temperature, loss_type="grpo", use_bias_correction_kl=False,
    )  # fmt: skip
    trainer = trl.GRPOTrainer(
        model=opened.model, args=options, processing_class=opened.tokenizer,
        train_dataset=datasets.Dataset.from_list(rows * -(-batch // len(rows))),
        reward_funcs=trl_reward(service, settings.most_masked),
    )  # fmt: skip
    with memory_told():
        trainer.train(resume_from_checkpoint=checkpoint_in(out))
    rewards = {"rewards": str(service.folder), "rewards_run": Run(service.folder).first.run}
    return write_record("grpo", trainer, opened, out, {**asdict(settings), **rewards})
