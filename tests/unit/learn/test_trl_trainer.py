"""TRL's own trainer beside our core, and with the real judge as its reward.

The policy is as small as one can be that TRL trains: a transformer whose words are whole replies.
"""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Any

import pytest
from tests.unit.learn.kernels import HONEST, UNBUILT, WRONG

from kernellab.learn import RewardService
from kernellab.learn.grpo import GrpoSettings, advantages, grpo_loss
from kernellab.learn.trl import trl_reward
from kernellab.ledger.reward_records import REWARD
from kernellab.ledger.run import Run
from kernellab.report.audit import audit

pytestmark = [pytest.mark.backend_c, pytest.mark.slow]
torch = pytest.importorskip("torch")
trl = pytest.importorskip("trl")
REPLIES = {"honest": HONEST, "wrong": WRONG, "unbuilt": UNBUILT, "speechless": "I cannot."}


@pytest.fixture(scope="module", autouse=True)
def quiet() -> None:
    logging.getLogger("transformers").setLevel(logging.ERROR)


def _tokenizer() -> Any:
    from tokenizers import Tokenizer, models, pre_tokenizers
    from transformers import PreTrainedTokenizerFast

    words = {word: number for number, word in enumerate(["<pad>", "<eos>", "write", *REPLIES])}
    plain = Tokenizer(models.WordLevel(words, unk_token="<pad>"))
    plain.pre_tokenizer = pre_tokenizers.Whitespace()
    return PreTrainedTokenizerFast(tokenizer_object=plain, pad_token="<pad>", eos_token="<eos>", unk_token="<pad>")


def _model(words: int, folder: Path) -> Any:
    """From a folder: that is where TRL loads a reference from."""
    from transformers import LlamaConfig, LlamaForCausalLM

    torch.manual_seed(0)
    made = LlamaForCausalLM(
        LlamaConfig(vocab_size=words, hidden_size=16, intermediate_size=32, num_hidden_layers=1, num_attention_heads=2,
                    num_key_value_heads=2, max_position_embeddings=32, pad_token_id=0, eos_token_id=1, bos_token_id=2)
    )  # fmt: skip
    made.save_pretrained(folder)
    return LlamaForCausalLM.from_pretrained(folder)


def _trainer(folder: Path, reward: Any, **options: Any) -> Any:
    from datasets import Dataset

    tokenizer = _tokenizer()
    settings: dict[str, Any] = {
        "output_dir": str(folder), "report_to": [], "save_strategy": "no", "use_cpu": True, "bf16": False, "fp16": False,
        "per_device_train_batch_size": 8, "num_generations": 8, "max_completion_length": 1, "max_steps": 3,
        "learning_rate": 0.05, "lr_scheduler_type": "constant", "logging_steps": 1, "disable_tqdm": True, "seed": 1,
        "gradient_checkpointing": False,
    }  # fmt: skip
    data = Dataset.from_list([{"prompt": "write", "task": "cube", "shape": ""}] * 8)
    return trl.GRPOTrainer(model=_model(len(tokenizer), folder / "model"), reward_funcs=reward, train_dataset=data, processing_class=tokenizer,
                           args=trl.GRPOConfig(**{**settings, **options}))  # fmt: skip


def _logps(model: Any, ids: Any, keep: int) -> Any:
    logits = model(input_ids=ids).logits[:, -keep - 1 : -1]
    return logits.log_softmax(-1).gather(-1, ids[:, -keep:].unsqueeze(-1)).squeeze(-1)


@pytest.mark.parametrize(("average", "loss_type"), [("sample", "grpo"), ("token", "bnpo")])
@pytest.mark.parametrize("beta", [0.0, 0.04])
def test_our_loss_is_trls(tmp_path: Path, average: Any, loss_type: str, beta: float) -> None:
    """Values and gradients, at ratios beyond the clip and with samples of different length."""
    trainer = _trainer(tmp_path, lambda completions, **_: [0.0] * len(completions),
                       loss_type=loss_type, beta=beta, use_bias_correction_kl=False, epsilon=0.2)  # fmt: skip
    trainer.current_gradient_accumulation_steps = 1
    model = trainer.model.train()
    torch.manual_seed(3)
    prompt, ids = torch.full((6, 2), 2), torch.randint(2, 7, (6, 5))
    mask = (torch.arange(5) < torch.tensor([5, 1, 3, 5, 2, 4]).unsqueeze(1)).long()
    whole = torch.cat([prompt, ids], 1)
    with torch.no_grad():
        now = _logps(model, whole, 5)
    old, reference = now + 0.3 * torch.randn_like(now), now + 0.5 * torch.randn_like(now)
    gain = torch.tensor(advantages([0.0, 1.0, 3.0, 2.0, None, 7.0], 3))
    theirs = trainer._compute_loss(model, {
        "prompt_ids": prompt, "prompt_mask": torch.ones_like(prompt), "completion_ids": ids, "completion_mask": mask,
        "advantages": gain, "old_per_token_logps": old, "ref_per_token_logps": reference,
        "num_items_in_batch": mask.sum(),
    })  # fmt: skip
    theirs.backward()
    wanted = {name: p.grad.clone() for name, p in model.named_parameters()}
    model.zero_grad()
    ours = grpo_loss(_logps(model, whole, 5), old, reference, gain, mask, GrpoSettings(beta=beta, average=average)).loss
    ours.backward()
    assert ours.item() == pytest.approx(theirs.item(), abs=1e-5)
    assert float(gain.abs().max()) > 0.5, "parity of zeros says nothing"
    for name, parameter in model.named_parameters():
        torch.testing.assert_close(parameter.grad, wanted[name], atol=1e-5, rtol=0, msg=name)


def test_trl_learns_from_the_judge_what_is_right(service: RewardService, folder: Path, tmp_path: Path) -> None:
    given: list[tuple[str, float | None]] = []
    judge = trl_reward(service, most_masked=1.0)

    def reward(prompts: list[str], completions: list[str], **columns: Any) -> list[float | None]:
        names = [text.strip() or "speechless" for text in completions]
        found = judge(prompts, [REPLIES.get(name, name) for name in names], **columns)
        given.extend(zip(names, found, strict=True))
        return found

    trainer = _trainer(tmp_path, reward)
    before = _share_of_right(trainer)
    trainer.train()
    assert len(given) == 24
    assert all(found == 0 for name, found in given if name != "honest")
    assert all(found is None or found > 0 for name, found in given if name == "honest")
    kept = [record.reward for record in Run(folder).records(REWARD)][-len(given) :]
    assert sorted(map(str, kept)) == sorted(str(found) for _, found in given)
    assert audit(folder).ok
    if any(
        found for _, found in given
    ):  # a machine that stays busy masks every right reply; then nothing is to be learned
        assert _share_of_right(trainer) > before


def _share_of_right(trainer: Any) -> float:
    tokenizer = trainer.processing_class
    model = trainer.model.eval()
    with torch.no_grad():
        chances = model(input_ids=torch.tensor([tokenizer.encode("write")])).logits[0, -1].softmax(-1)
    return float(chances[tokenizer.convert_tokens_to_ids("honest")])
