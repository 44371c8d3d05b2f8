"""The labelled trials of this repository, an oracle that knows them, and authors who ask it over real HTTP."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from kernellab.propose.author import Author
from kernellab.propose.models import Limits, Price, Prices, open_model
from kernellab.propose.models.client import SdkClient
from kernellab.propose.prompts import DeviceFacts, PromptBook, TaskFacts
from kernellab.search.soft.labelled import LabelledSet, read_labelled
from kernellab.tasks.builtin import TASKS
from support.model_server import ModelServer

FOLDER = Path(__file__).resolve().parents[4] / "runs" / "labelled"
PRICES = Prices("2025-01-01", {"m": Price(2.0, 1.0, 10.0)})
TASK = TaskFacts.of(TASKS["softmax"])
DEVICE = DeviceFacts("a processor", "cpu", 1)
Serve = Callable[[Any], ModelServer]
Connect = Callable[[ModelServer], SdkClient]


@pytest.fixture(scope="session")
def labelled() -> LabelledSet:
    return read_labelled(FOLDER)


@pytest.fixture
def serve() -> Iterator[Serve]:
    pytest.importorskip("openai", reason="the extra 'llm' is not installed")
    with ExitStack() as stack:
        yield lambda script: stack.enter_context(ModelServer(script))


@pytest.fixture
def connect() -> Iterator[Connect]:
    limits = Limits(connect_s=600.0, first_s=600.0, total_s=600.0)
    with ExitStack() as stack:

        def make(server: ModelServer) -> SdkClient:
            opened = open_model(f"openai:m@{server.url}", limits=limits, prices=PRICES, environ={})
            assert isinstance(opened, SdkClient)
            return stack.enter_context(opened)

        yield make


@pytest.fixture
def author(connect: Connect) -> Callable[[ModelServer], Author]:
    return lambda server: Author(connect(server), "m", PromptBook(), max_tokens=500)
