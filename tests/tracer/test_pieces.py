"""Parts of a function that was split are found as long as they live, whatever becomes of equal ones."""

import gc

import numpy as np
import pytest

import jitmagic as jm


def split(x):
    print(end="")
    open("/dev/null").close()
    return x + 1


@pytest.mark.parametrize("first_dies", [True, False])
def test_the_end_of_a_twin_takes_no_parts_along(first_dies):
    twins = [jm.compile(split, backend="eager"), jm.compile(split, backend="numba")]
    for twin in twins:
        twin(np.ones(3))
    left = twins.pop(1 if first_dies else 0)
    twins.clear()
    del twin
    gc.collect()
    for x in (np.ones((2, 3)), np.ones(3, np.float32)):
        np.testing.assert_array_equal(left(x), split(x))
    assert "changed after it was loaded" not in left.jit.report().text
