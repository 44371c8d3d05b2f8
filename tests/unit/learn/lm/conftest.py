"""The smallest model that the libraries train: it knows the words of our prompts, and says nothing that makes sense."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.unit.learn.conftest import folder, service, terms
from tests.unit.learn.kernels import HONEST

from kernellab.learn import RewardService

__all__ = ["folder", "service", "terms"]


@pytest.fixture(scope="module")
def small_model(service: RewardService, tmp_path_factory: pytest.TempPathFactory) -> Path:
    torch = pytest.importorskip("torch")
    pytest.importorskip("trl")
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
    from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

    plain = Tokenizer(models.BPE())
    plain.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    plain.decoder = decoders.ByteLevel()
    texts = [HONEST, *(message["content"] for row in service.prompts() for message in row["prompt"])]
    plain.train_from_iterator(
        texts,
        trainers.BpeTrainer(
            vocab_size=900, special_tokens=["<pad>", "<eos>"], initial_alphabet=pre_tokenizers.ByteLevel.alphabet()
        ),
    )
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=plain, pad_token="<pad>", eos_token="<eos>")
    torch.manual_seed(0)
    model = LlamaForCausalLM(
        LlamaConfig(vocab_size=len(tokenizer), hidden_size=32, intermediate_size=64, num_hidden_layers=1,
                    num_attention_heads=2, num_key_value_heads=2, max_position_embeddings=8192,
                    pad_token_id=0, eos_token_id=1, bos_token_id=1)
    )  # fmt: skip
    made = tmp_path_factory.mktemp("model") / "small"
    model.save_pretrained(made)
    tokenizer.save_pretrained(made)
    return made
