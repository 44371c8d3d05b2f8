from __future__ import annotations

from kernellab.core.ids import canonical_json, digest
from kernellab.run.device import cpu_model, describe_environment


def test_the_processor_has_a_name() -> None:
    assert cpu_model().strip()


def test_the_environment_names_what_a_figure_depends_on_and_is_recordable() -> None:
    facts = describe_environment("gcc 12", "T1", 2)
    assert {"device", "kernel", "python", "libc", "compiler", "packages", "tier", "threads", "digest"} == set(facts)
    assert (facts["compiler"], facts["tier"], facts["threads"]) == ("gcc 12", "T1", 2)
    assert facts["packages"]["numpy"] != "absent"
    assert canonical_json(facts)


def test_the_digest_covers_every_fact() -> None:
    facts = describe_environment("gcc 12", "T1", 2)
    assert facts["digest"] == digest({k: v for k, v in facts.items() if k != "digest"})
    others = [
        describe_environment("gcc 13", "T1", 2),
        describe_environment("gcc 12", "T2", 2),
        describe_environment("gcc 12", "T1", 1),
    ]
    assert len({facts["digest"], *(o["digest"] for o in others)}) == 4
