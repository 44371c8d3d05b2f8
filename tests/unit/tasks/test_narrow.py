from __future__ import annotations

from kernellab.tasks.builtin import TASKS
from kernellab.tasks.narrow import narrow_corners, narrow_shapes
from kernellab.tasks.spec import ON_GPU


def test_narrow_shapes_have_every_extent_up_to_where_borders_no_longer_meet() -> None:
    for halo in (0, 1, 2, 5):
        for found in (narrow_shapes(halo, ("H", "W"), "C"), narrow_corners(halo, ("H", "W"), "C")):
            for dim in ("H", "W", "C"):
                assert set(range(1, 2 * halo + 3)) <= {dims[dim] for dims in found}
        assert all(max(d["H"], d["W"]) >= 37 for d in narrow_shapes(halo, ("H", "W"), "C"))


def test_every_built_in_task_with_a_halo_is_judged_at_every_narrow_extent_and_at_large_odd_ones() -> None:
    found = [task for task in TASKS.values() if task.halo is not None]
    assert len(found) == 9
    for task in (*found, *(task.on(ON_GPU) for task in found)):
        assert task.halo is not None
        for dim in task.dim_names:
            judged = {dims[dim] for dims in task.edge}
            assert set(range(1, 2 * task.halo + 3)) <= judged, (task.name, dim)
            assert max(judged) > 2 * task.halo + 2, (task.name, dim)
