"""A field that takes one word out of a list that can grow: the list is read when a value is checked."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from pydantic import GetCoreSchemaHandler, GetJsonSchemaHandler
from pydantic_core import CoreSchema, PydanticCustomError, core_schema


@dataclass(frozen=True)
class OneOf:
    """For `Annotated[str, OneOf(words)]`. Errors and JSON schemas name the words, as those of a Literal do."""

    words: Callable[[], Sequence[str]]

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        return core_schema.no_info_after_validator_function(self._checked, handler(source))

    def __get_pydantic_json_schema__(self, schema: CoreSchema, handler: GetJsonSchemaHandler) -> dict[str, Any]:
        return {**handler(schema), "enum": list(self.words())}

    def _checked(self, value: str) -> str:
        words = [repr(word) for word in self.words()]
        if repr(value) not in words:
            expected = " or ".join(filter(None, (", ".join(words[:-1]), words[-1])))
            raise PydanticCustomError("one_of", "Input should be {expected}", {"expected": expected})
        return value
