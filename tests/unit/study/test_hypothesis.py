"""The file: what it says counts, how it is written does not, and every mistake is named."""

from __future__ import annotations

from pathlib import Path

import pytest

from kernellab.core.errors import UsageError
from kernellab.studies.hypothesis import difference
from kernellab.studies.library import find, read, shipped, template
from kernellab.studies.mine.follow_up import as_toml
from kernellab.studies.statistics import STATISTICS


def written(folder: Path, text: str, name: str = "h.toml") -> Path:
    path = folder / name
    path.write_text(text)
    return path


def test_every_shipped_hypothesis_reads_under_its_own_name_and_writes_back_the_same(tmp_path: Path) -> None:
    assert {"H1", "H2", "H3", "H5"} < set(shipped())
    for name, path in shipped().items():
        hypothesis = read(path)
        assert hypothesis.id == name
        assert {p.device for p in hypothesis.population} == {"cpu", "cuda"}
        assert read(written(tmp_path, as_toml(hypothesis))) == hypothesis


def test_the_template_is_a_hypothesis(tmp_path: Path) -> None:
    hypothesis = read(written(tmp_path, template("mine")))
    assert (hypothesis.id, hypothesis.part[0].statistic) == ("mine", "advantage-of-set")


def test_the_digest_is_of_what_is_said_and_not_of_layout(tmp_path: Path) -> None:
    text = template("mine")
    first = read(written(tmp_path, text))
    assert read(written(tmp_path, "# another comment\n\n" + text)).digest == first.digest
    assert read(written(tmp_path, text.replace("bound = 1.0", "bound = 1.1"))).digest != first.digest


def test_a_difference_names_place_and_both_values(tmp_path: Path) -> None:
    text = template("mine")
    old, new = (read(written(tmp_path, t)).content() for t in (text, text.replace("bound = 1.0", "bound = 0.5")))
    assert difference(old, new) == ["part[0].rule.bound: registered 1.0, now 0.5"]
    assert difference(old, old) == []


@pytest.mark.parametrize(
    ("old", "new", "words", "fix"),
    [
        ("sample = 5", "sampel = 5", "unknown key 'sampel'", "did you mean 'sample'?"),
        ('device = "cpu"', 'devise = "cpu"', "population[0].de", ""),
        ('statistic = "advantage-of-set"', 'statistic = "advantage"', "no statistic 'advantage'", "advantage-of-set"),
        ('param = "BLOCK"', 'parm = "BLOCK"', "part[0].options", ""),
        ("bound = 1.0", 'bound = "much"', "part[0].rule.bound", "docs/studies.md"),
        ('side = "at-least"', 'side = "around"', "part[0].rule.side", ""),
        ("seeds = [1, 2, 3]", "seeds = [1, 1]", "a seed comes twice", ""),
        ("seeds = [1, 2, 3]", "seeds = []", "seeds", ""),
        ("predicted = [1024, 4096]", "predicted = []", "part[0].options.predicted", ""),
        ("sample = 5", "sample = 4", "4 values have no 90 % interval", "ask for 5 or more"),
        ("sample = 5", "sample = 5 5", "cannot be read", "TOML"),
    ],
)  # fmt: skip
def test_a_mistake_is_refused_by_its_name(tmp_path: Path, old: str, new: str, words: str, fix: str) -> None:
    text = template("mine")
    assert old in text
    with pytest.raises(UsageError) as caught:
        read(written(tmp_path, text.replace(old, new)))
    assert words in caught.value.what
    assert fix in caught.value.fix
    assert caught.value.fix


def test_an_unknown_name_lists_what_there_is() -> None:
    with pytest.raises(UsageError, match="there is no hypothesis 'H99'") as caught:
        find("H99")
    assert "H1" in caught.value.fix
    assert find("h1") == shipped()["H1"]


def test_every_statistic_says_what_it_is() -> None:
    assert all(s.about for s in STATISTICS.values())
