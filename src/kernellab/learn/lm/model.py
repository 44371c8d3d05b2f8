"""A causal language model from a folder, asked with our prompts. Training libraries are imported when one is opened."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kernellab.core.errors import EnvironmentFault, UsageError
from kernellab.core.ids import digest
from kernellab.learn.extra import needed

Messages = Sequence[Mapping[str, str]]
_WEIGHTS = ("*.safetensors", "*.bin")


@dataclass(frozen=True)
class LanguageModel:
    """`folder`: where it was read from; a reference is read from there again."""

    folder: Path
    model: Any
    tokenizer: Any

    def prompt(self, messages: Messages) -> str:
        """One text, by the model's own chat template where it has one; the same for teaching, training and examining."""
        if self.tokenizer.chat_template:
            return str(self.tokenizer.apply_chat_template(list(messages), tokenize=False, add_generation_prompt=True))
        return "\n\n".join(message["content"] for message in messages) + "\n"

    def replies(self, prompt: str, count: int, longest: int, temperature: float, seed: int) -> list[str]:
        """Whole replies, sampled. The same seed on the same machine gives the same ones."""
        torch = needed("torch")
        torch.manual_seed(seed)
        given = self.tokenizer([prompt], return_tensors="pt", add_special_tokens=False).to(self.model.device)
        self.model.eval()
        with torch.no_grad(), memory_told():
            made = self.model.generate(
                **{k: given[k] for k in ("input_ids", "attention_mask")}, do_sample=temperature > 0,
                temperature=temperature or None, num_return_sequences=count, max_new_tokens=longest,
                pad_token_id=self.tokenizer.pad_token_id,
            )  # fmt: skip
        start = given["input_ids"].shape[1]
        return [str(text) for text in self.tokenizer.batch_decode(made[:, start:], skip_special_tokens=True)]


def is_model(folder: Path) -> bool:
    return (folder / "config.json").is_file()


def require_model(folder: Path) -> Path:
    if not is_model(folder):
        raise UsageError(
            f"{folder} holds no model", "give a folder with config.json and weights; klab model fetch makes one"
        )
    return folder


def weights_of(folder: Path) -> str:
    """One name for a model wherever its folder lies: the digest of its files of weights."""
    files = sorted(path for pattern in _WEIGHTS for path in folder.glob(pattern))
    return digest([[path.name, _sha256(path)] for path in files])


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def open_model(folder: Path) -> LanguageModel:
    """On the GPU where there is one."""
    require_model(folder)
    transformers, torch = needed("transformers"), needed("torch")
    on_gpu = torch.cuda.is_available()
    try:
        tokenizer = transformers.AutoTokenizer.from_pretrained(folder, local_files_only=True)
        kind = "auto" if on_gpu else torch.float32  # processors without bfloat16 are slow with it
        model = transformers.AutoModelForCausalLM.from_pretrained(folder, local_files_only=True, dtype=kind)
    except (OSError, ValueError, KeyError, RuntimeError) as err:
        raise UsageError(
            f"{folder} cannot be opened as a language model: {str(err)[:300]}", "give another folder"
        ) from None
    if tokenizer.pad_token_id is None:
        tokenizer.pad_token = tokenizer.eos_token
    return LanguageModel(folder, model.to("cuda" if on_gpu else "cpu"), tokenizer)


@contextmanager
def memory_told() -> Iterator[None]:
    """Memory that runs out is told in words."""
    try:
        yield
    except needed("torch").OutOfMemoryError as err:
        raise EnvironmentFault(
            f"the device ran out of memory: {str(err)[:200]}", "a smaller --batch or --longest, or a smaller model"
        ) from None
