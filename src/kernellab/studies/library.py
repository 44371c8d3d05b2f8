"""Where hypotheses come from: files of the user's, and those that are shipped. Every mistake is named with its place."""

from __future__ import annotations

import difflib
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ValidationError

from kernellab.core.errors import UsageError
from kernellab.studies.finding import least_values
from kernellab.studies.hypothesis import Hypothesis, Part, Population, Rule
from kernellab.studies.statistics import STATISTICS

SHIPPED = Path(__file__).parent / "shipped"
_MODELS: dict[str, type[BaseModel]] = {"": Hypothesis, "population": Population, "part": Part, "rule": Rule}


def shipped() -> dict[str, Path]:
    """The hypotheses that come with the laboratory, by their id."""
    return {path.stem: path for path in sorted(SHIPPED.glob("*.toml"))}


def find(name: str) -> Path:
    """A shipped hypothesis by its id, or the path of a file."""
    known = {k.lower(): path for k, path in shipped().items()}
    if name.lower() in known:
        return known[name.lower()]
    if Path(name).is_file():
        return Path(name)
    raise UsageError(f"there is no hypothesis '{name}'",
                     f"give a file, or one of: {', '.join(shipped())} ('klab study new NAME' writes a file)")  # fmt: skip


def read(path: Path) -> Hypothesis:
    try:
        data = tomllib.loads(path.read_text())
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as err:
        fix = "a hypothesis is a TOML file; 'klab study new NAME' writes one"
        raise UsageError(f"{path} cannot be read: {err}", fix) from None
    return sampled(checked(data, str(path)), str(path))


def checked(data: Mapping[str, Any], where: str) -> Hypothesis:
    """What a file says as a hypothesis; an unknown or impossible entry is refused by its name."""
    try:
        hypothesis = Hypothesis.model_validate(data)
    except ValidationError as err:
        raise _refusal(err, where) from None
    for number, part in enumerate(hypothesis.part):
        place = f"part[{number}]"
        if part.statistic not in STATISTICS:
            raise UsageError(f"{where}: {place}.statistic: there is no statistic '{part.statistic}'",
                             _hint(part.statistic, list(STATISTICS)))  # fmt: skip
        model = STATISTICS[part.statistic].options
        try:
            model.model_validate(part.options)
        except ValidationError as err:
            raise _refusal(err, where, f"{place}.options.", model) from None
    return hypothesis


def sampled(hypothesis: Hypothesis, where: str) -> Hypothesis:
    """Refused where its sample cannot decide anything: said before its trials, not after them."""
    least = least_values(hypothesis.level)
    if hypothesis.sample < least:
        raise UsageError(
            f"{where}: sample: {hypothesis.sample} values have no {100 * hypothesis.level:g} % interval",
            f"ask for {least} or more, or for a lower level",
        )
    return hypothesis


def _refusal(err: ValidationError, where: str, prefix: str = "", model: type[BaseModel] | None = None) -> UsageError:
    errors = err.errors()
    first = next(
        (e for e in errors if e["type"] == "extra_forbidden"), errors[0]
    )  # a misspelt key is also a missing one
    place = prefix + _place(first["loc"])
    if first["type"] == "extra_forbidden":
        name = str(first["loc"][-1])
        return UsageError(f"{where}: unknown key '{place}'", _hint(name, _known(first["loc"], model)))
    given = "" if first["type"] == "missing" else f" (given: {first.get('input')!r})"
    return UsageError(
        f"{where}: {place or 'the hypothesis'}: {first['msg']}{given}", "see docs/studies.md for every key"
    )


def _place(loc: tuple[int | str, ...]) -> str:
    text = ""
    for step in loc:
        text += f"[{step}]" if isinstance(step, int) else f".{step}" if text else str(step)
    return text


def _known(loc: tuple[int | str, ...], model: type[BaseModel] | None) -> list[str]:
    """The keys that may stand where an unknown one does."""
    tables = [str(step) for step in loc[:-1] if str(step) in _MODELS]
    return list((model or _MODELS[tables[-1] if tables else ""]).model_fields)


def _hint(name: str, known: list[str]) -> str:
    close = difflib.get_close_matches(name, known, 1)
    start = f"did you mean '{close[0]}'? " if close else ""
    return f"{start}known here: {', '.join(known) or 'nothing'}"


def template(name: str) -> str:
    """A hypothesis of the user's own that runs as it is."""
    return (Path(__file__).parent / "template.toml").read_text().replace("@NAME@", name)
