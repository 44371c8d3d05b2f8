"""A model over real HTTP: what it may put better, and what it may not change."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.support.model_server import Error, ModelServer, Say, Step

from kernellab.propose.models import Budget, ModelFault, Policy, open_model
from kernellab.report.paper.check import Auditor
from kernellab.report.paper.claims import Claim
from kernellab.report.paper.document import PaperFile, Polish
from kernellab.report.paper.html_page import dumped
from kernellab.report.paper.ledger_prefix import LedgerPrefix
from kernellab.report.paper.polish import Polisher, attach, mismatch
from kernellab.report.paper.write import make, printed, write_paper

from .conftest import RUN


def _claim(name: str, text: str) -> Claim:
    return Claim(id=name, formula="field", entries="0", value=text, unit="", form="words", printed=text)


CLAIMS = {c.id: c for c in (_claim("c1", "softmax"), _claim("c2", "64.00"), _claim("c3", "1.12"), _claim("c4", "1.11"))}
PLAIN = "⟦c1⟧ takes ⟦c2⟧ µs and is faster than the baseline: a ratio of ⟦c3⟧ [⟦c4⟧] ⟦@efron⟧."


@pytest.mark.parametrize(
    "text",
    [
        "softmax takes 64.00 µs and is faster than the baseline: a ratio of 1.12 [1.11] [@efron].",
        "Here the softmax takes 64.00 µs. It is faster than the baseline, with a ratio of 1.12 (1.11) [@efron].",
    ],
)
def test_other_words_around_the_same_facts_are_taken(text: str) -> None:
    marked, why = attach(text, PLAIN, CLAIMS)
    assert why == ""
    assert [name in marked for name in ("⟦c1⟧", "⟦c2⟧", "⟦c3⟧", "⟦c4⟧", "⟦@efron⟧")] == [True] * 5


@pytest.mark.parametrize(
    "text",
    [
        "softmax takes 63.00 µs and is faster than the baseline: a ratio of 1.12 [1.11] [@efron].",
        "softmax takes 64.00 ms and is faster than the baseline: a ratio of 1.12 [1.11] [@efron].",
        "softmax takes 64.00 µs and is slower than the baseline: a ratio of 1.12 [1.11] [@efron].",
        "softmax takes 64.00 µs and is not faster than the baseline: a ratio of 1.12 [1.11] [@efron].",
        "softmax takes 64.00 µs and is twice faster than the baseline: a ratio of 1.12 [1.11] [@efron].",
        "softmax takes 64.00 µs and is faster than the baseline: a ratio of 1.11 [1.12] [@efron].",
        "softmax takes 64.00 µs and is faster than the baseline: a ratio of 1.12 [1.11] and 12 % [@efron].",
        "softmax takes 64.00 µs and is faster than the baseline: a ratio of 1.125 [1.11] [@efron].",
        "softmax takes 64.00 µs and is faster than the baseline: a ratio of 1.12 [@efron].",
        "softmax takes 64.00 µs and is faster than the baseline: a ratio of 1.12 [1.11].",
        "softmax takes 64.00 µs and is the fastest, faster than the baseline: a ratio of 1.12 [1.11] [@efron].",
        "softmax takes 64.00 µs and is faster than the baseline: a ratio of 1.12 [1.11] [@merkle].",
        "softmax takes 64.00 µs and is faster than the baseline by three times: a ratio of 1.12 [1.11] [@efron].",
        "⟦c1⟧ takes 64.00 µs and is faster than the baseline: a ratio of 1.12 [1.11] [@efron].",
        "softmax doesn't take 64.00 µs and is faster than the baseline: a ratio of 1.12 [1.11] [@efron].",
        "softmax takes 64.00 µs and fails to be faster than the baseline: a ratio of 1.12 [1.11] [@efron].",
        "softmax takes 64.00 µs and is hardly faster than the baseline: a ratio of 1.12 [1.11] [@efron].",
        "softmax takes 64.00 µs and is ninetyfold faster than the baseline: a ratio of 1.12 [1.11] [@efron].",
        "softmax takes 64.00 µs and is faster than the baseline: a ten-fold ratio of 1.12 [1.11] [@efron].",
        "softmax takes 64.00 µs and is faster than the baseline by ½: a ratio of 1.12 [1.11] [@efron].",
        "softmax takes 64.00 µs and is ② faster than the baseline: a ratio of 1.12 [1.11] [@efron].",
        "softmax takes 64.00 µs and is faster than the baseline: a ratio of 1.12 [1.11], a win of fifty [@efron].",
        "softmax takes 64.00 µs and is faster than the baseline, dwarfs cuDNN: a ratio of 1.12 [1.11] [@efron].",
        "softmax takes 64.00 µs and is faster than the baseline: a ratio of 1.12 [1.11] `a hundred times` [@efron].",
        "softmax takes -64.00 µs and is faster than the baseline: a ratio of 1.12 [1.11] [@efron].",
        "softmax takes 64.00 µs and is faster than the baseline: a ratio of 1.12 [1.11] [@efron]?",
        "softmax takes 64.00 µs, the baseline is faster than a ratio of 1.12 [1.11] [@efron].",
        "",
        "so " * 2000,
    ],
)  # fmt: skip
def test_a_changed_fact_is_refused(text: str) -> None:
    marked, why = attach(text, PLAIN, CLAIMS)
    assert marked == ""
    assert why


def test_the_check_is_repeated_on_marked_text() -> None:
    assert mismatch(PLAIN, PLAIN) == ""
    assert mismatch(PLAIN.replace("faster", "slower"), PLAIN)
    assert mismatch(PLAIN.replace("⟦c3⟧", "⟦c4⟧"), PLAIN)
    assert mismatch(PLAIN.replace("is faster", "isn't faster"), PLAIN)
    assert mismatch(PLAIN.replace("a ratio", "`a hundred times` a ratio"), PLAIN)
    assert mismatch(PLAIN.replace(" ⟦c3⟧", " ⟦c3⟧k"), PLAIN)
    assert mismatch(PLAIN.replace("[⟦c4⟧]", "⟦c4⟧").replace(" ⟦c4⟧", "⟦c4⟧"), PLAIN)


DENIED = "The ratio is ⟦c3⟧. The lower end does not lie above ⟦c4⟧: no win. It reaches ⟦c2⟧."


@pytest.mark.parametrize(
    "text",
    [
        "The ratio is 1.12. No, but it was a win. It reaches 64.00.",
        "The ratio is 1.12. The lower end does not lie above 1.11: no, it was a win. It reaches 64.00.",
        "The ratio is 1.12. Does the lower end not lie above 1.11: no, this was a win. It reaches 64.00.",
        "The ratio is 1.12. The lower end does not lie above 1.11: no. Win, it reaches 64.00.",
        "The ratio is 1.12. The lower end does not. Lie above 1.11: no win. It reaches 64.00.",
        "The ratio is not 1.12. The lower end does lie above 1.11: no win. It reaches 64.00.",
        "Had the ratio been 1.12. The lower end does not lie above 1.11: no win. It reaches 64.00.",
    ],
)
def test_a_denial_cannot_be_turned_round(text: str) -> None:
    assert attach(text, DENIED, CLAIMS)[1]


def test_sentences_around_a_denial_may_change() -> None:
    text = "Here a ratio is 1.12. The lower end does not lie above 1.11: no win. And it reaches 64.00."
    assert attach(text, DENIED, CLAIMS)[1] == ""


def _asked(body: dict[str, Any]) -> str:
    return str(body["messages"][-1]["content"])


@pytest.fixture
def serve() -> Iterator[Callable[[Callable[[dict[str, Any]], Step]], Polisher]]:
    servers: list[ModelServer] = []

    def start(script: Callable[[dict[str, Any]], Step]) -> Polisher:
        server = ModelServer(script)
        server.__enter__()
        servers.append(server)
        return Polisher(open_model(f"openai:tiny@{server.url}"), "tiny", policy=Policy(attempts=2, first_s=0.01))

    yield start
    for server in servers:
        server.stop()


@pytest.mark.heavy
def test_polished_paragraphs_are_printed_and_audited(serve: Any, tmp_path: Path) -> None:
    """Every second reply lies about a number; those stay plain and are reported."""
    count = iter(range(1000))

    def script(body: dict[str, Any]) -> Step:
        text = _asked(body)
        return Say(f"Here, {text}" if next(count) % 2 else f"{text} That is 42 % of it.")

    made = write_paper(RUN, tmp_path / "out", serve(script)).paper
    assert made.polish is not None
    assert made.polish.kept >= 3
    assert len(made.polish.refused) >= 3
    assert [why for why in made.polish.refused if "42" not in why and "denies" not in why] == []
    assert len(made.polish.calls) == made.polish.kept + len(made.polish.refused)
    polished = [b for b in made.blocks if b.plain]
    assert len(polished) == made.polish.kept
    page = (tmp_path / "out" / "paper.html").read_text()
    assert "<p>Here, " in page
    assert "42 % of it" not in page
    for kind in ("pdf", "html"):
        report = Auditor(RUN).audit(tmp_path / "out" / f"paper.{kind}")
        assert report.problems == []
        assert report.numbers == report.traced
        assert report.status == "partial"
        assert not report.remade
        assert any("model's words" in what for what in report.unchecked)


@pytest.mark.sample(1)
@pytest.mark.parametrize("kind", ["json", "html", "pdf"])
def test_a_forged_polish_is_found(evidence: LedgerPrefix, paper: PaperFile, tmp_path: Path, kind: str) -> None:
    """The plain paragraph is the ledger's own; only the words of the model are not what a check would have let through."""
    sound = make(evidence, paper.fingerprint, polished=True)
    at = next(i for i, b in enumerate(sound.paper.blocks) if b.kind == "paragraph" and "a win." in b.text)
    plain = sound.paper.blocks[at]
    text = plain.text.replace("a win.", "a win that `every vendor library` cannot match.")
    blocks = [*sound.paper.blocks]
    blocks[at] = plain.model_copy(update={"text": text, "plain": plain.text})
    polish = Polish(model="gpt", kept=1, refused=[], calls=[])
    forged = sound.paper.model_copy(update={"blocks": blocks, "polish": polish})
    file = tmp_path / f"paper.{kind}"
    file.write_bytes(printed(forged, {n: d.svg for n, d in sound.parts.drawings.items()}, kind))
    report = Auditor(RUN).audit(file)
    assert report.status == "failed"
    assert not report.remade
    assert any(f"polished paragraph {plain.id}" in p for p in report.problems)


def test_paragraphs_that_no_model_is_named_for_are_found(paper: PaperFile, tmp_path: Path) -> None:
    blocks = [b.model_copy(update={"plain": b.text}) if b.kind == "paragraph" else b for b in paper.blocks]
    (tmp_path / "paper.json").write_bytes(dumped(paper.model_copy(update={"blocks": blocks})))
    assert any("names 0" in p for p in Auditor(RUN).audit(tmp_path / "paper.json").problems)


def test_a_model_that_cannot_be_used_is_an_error_and_leaves_nothing(serve: Any, tmp_path: Path) -> None:
    with pytest.raises(ModelFault):
        write_paper(RUN, tmp_path / "out", serve(lambda body: Error(401, "wrong key")))
    assert list(tmp_path.iterdir()) == []


@pytest.mark.heavy
def test_a_spent_budget_leaves_the_rest_plain(serve: Any, tmp_path: Path) -> None:
    polisher = serve(lambda body: Say(_asked(body)))
    polisher.budget = Budget(calls=2)
    made = write_paper(RUN, tmp_path / "out", polisher).paper
    assert made.polish is not None
    assert made.polish.kept == 2
    assert "budget" in made.polish.refused[-1]
