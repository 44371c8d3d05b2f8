from __future__ import annotations

import math
from pathlib import Path

import pytest

from kernellab.core.errors import UsageError
from kernellab.core.settings import EFFORTS, Settings, config_path, load_settings


@pytest.fixture(autouse=True)
def _no_environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in Settings.model_fields:
        monkeypatch.delenv(f"KLAB_{name.upper()}", raising=False)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))


def test_there_are_at_most_twenty_fields() -> None:
    assert len(Settings.model_fields) <= 20


def test_without_anything_the_defaults_hold() -> None:
    assert load_settings({}) == Settings()


def test_flags_beat_the_environment_which_beats_the_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "c.toml"
    file.write_text('threads = 2\nseed = 2\neffort = "full"\n')
    assert load_settings({}, file).threads == 2
    monkeypatch.setenv("KLAB_THREADS", "3")
    monkeypatch.setenv("KLAB_SEED", "3")
    assert load_settings({"seed": 4, "threads": None}, file) == Settings(threads=3, seed=4, effort="full")


def test_the_users_own_file_is_found_below_the_config_folder(tmp_path: Path) -> None:
    assert config_path() == tmp_path / "config" / "kernellab" / "config.toml"
    config_path().parent.mkdir(parents=True)
    config_path().write_text("seed = 11\n")
    assert load_settings({}).seed == 11


@pytest.mark.parametrize(("text", "value"), [("0", False), ("false", False), ("1", True), ("true", True)])
def test_truth_values_are_read_from_the_environment(text: str, value: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KLAB_CACHE", text)
    assert load_settings({}).cache is value


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("threads", 0),
        ("threads", "many"),
        ("effort", "extreme"),
        ("trials", -1),
        ("seconds", -0.5),
        ("win_floor", 0.9),
        ("win_floor", math.nan),
        ("build_timeout_s", 0),
        ("sample_s", -0.001),
        ("device", "tpu"),
        ("build_jobs", -1),
        ("vram_gb", -1),
        ("gpu_seconds", -1),
        ("sandbox", "T9"),
        ("sampler", "magic"),
        ("cache", "maybe"),
    ],
)
def test_a_bad_value_is_a_usage_error_that_names_the_setting_and_a_fix(name: str, value: object) -> None:
    with pytest.raises(UsageError) as caught:
        load_settings({name: value})
    assert f"'{name}'" in caught.value.what
    assert repr(value) in caught.value.what
    assert caught.value.fix == f"give {name} such a value, or leave it out"


def test_a_bad_value_in_the_environment_is_a_usage_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KLAB_TRIALS", "lots")
    with pytest.raises(UsageError, match="trials"):
        load_settings({})


def test_an_unknown_setting_is_a_usage_error(tmp_path: Path) -> None:
    file = tmp_path / "c.toml"
    file.write_text("thraeds = 2\n")
    with pytest.raises(UsageError, match="thraeds") as caught:
        load_settings({}, file)
    assert "threads" in caught.value.fix


@pytest.mark.parametrize(
    "content",
    [
        b"threads = = 2",
        b"[",
        b"\xff\xfe",
    ],
)
def test_an_unreadable_file_is_a_usage_error(content: bytes, tmp_path: Path) -> None:
    file = tmp_path / "c.toml"
    file.write_bytes(content)
    with pytest.raises(UsageError, match="cannot be read") as caught:
        load_settings({}, file)
    assert caught.value.fix


@pytest.mark.parametrize("name", ["seconds", "sample_s", "build_timeout_s", "win_floor"])
def test_infinity_is_refused_because_no_record_could_hold_it(name: str) -> None:
    with pytest.raises(UsageError):
        load_settings({name: math.inf})


@pytest.mark.parametrize("device", ["auto", "cpu", "cuda"])
def test_a_device_can_be_asked_for_and_none_is_by_default(device: str, monkeypatch: pytest.MonkeyPatch) -> None:
    assert (load_settings({}).device, load_settings({}).sample_s) == ("auto", 0)
    monkeypatch.setenv("KLAB_DEVICE", device)
    assert load_settings({}).device == device


def test_trials_default_to_the_efforts_own_number() -> None:
    assert Settings(effort="quick").max_trials == EFFORTS["quick"].trials
    assert Settings(effort="quick", trials=3).max_trials == 3


def test_more_effort_means_more_of_everything_and_narrower_intervals() -> None:
    quick, standard, full = (EFFORTS[n] for n in ("quick", "standard", "full"))
    for name in ("least_pairs", "trial_pairs", "confirm_pairs", "trials", "confirmations", "processes"):
        assert getattr(quick, name) <= getattr(standard, name) <= getattr(full, name)
    assert quick.narrow > standard.narrow > full.narrow
