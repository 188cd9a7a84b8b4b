"""Arrays of a size that only the data tell: made in the graph, of the size that selections by the same mask have."""

from __future__ import annotations

import pytest

from tests.conformance import programs

PROGRAMS = {
    "as many as a mask selects": (
        """
def f(x, k=1.0):
    keep = np.abs(x) < k
    n = int(keep.sum())
    out = np.empty(n)
    out[:] = x[keep]
    z = np.zeros((n, 2))
    z[:, 0] = out
    z[:, 1] = x[keep] * 2
    more = np.empty(np.count_nonzero(keep))
    more[:] = x[keep]
    return out, z, more, np.arange(n), np.ones(n, dtype=int), np.full(n, 2.5), np.full((2, n), n)
""",
        ["f(np.linspace(-3, 3, 40))", "f(np.linspace(-3, 3, 40), 2.0)", "f(np.ones(5))", "f(np.zeros((2, 3)))"],
    ),
    "numbers of the data": (
        """
def f(x):
    n = int(x[0])
    m = x.astype(int).max()
    a = np.zeros(n) + 1
    b = np.arange(m) * 2
    c = np.arange(n - 5)
    d = np.arange(1, n + 1), np.arange(-2, m), np.arange(3, n - 3)
    return a, b, c.sum(), d, a.shape, np.zeros((n, m), np.float32).T, np.arange(n, dtype=np.float32)
""",
        [f"f(np.array({values}))" for values in ("[4.0, 7.0]", "[0.0, 1.0]", "[1.0, 1.0]", "[2.0, 9.5, -1.0]")],
    ),
    "sizes that NumPy refuses": (
        """
def f(x):
    log.append(1)
    a = np.zeros(int(x[0]))
    b = np.arange(int(x[1]))
    return a, b, np.linspace(0, 1, int(x[2]) + 2), np.eye(int(x[0]))
log = []
""",
        [f"f(np.array({values}))" for values in ("[2.0, 1.0, 0.0]", "[-1.0, 1.0, 0.0]", "[1.0, -4.0, 0.0]")]
        + ["f(np.array([1.0, 1.0, -3.0]))", "f(np.array([np.nan, 1.0, 1.0]))", "log"],
    ),
}
CHANGED = (
    """
def f(x):
    m = x > 0
    n = m.sum()
    m[0] = not m[0]
    out = np.zeros(n)
    out += x[m]
    return out
""",
    ["f(np.array([1.0, 2.0, -1.0]))", "f(np.array([-1.0, 2.0, 3.0]))", "f(np.array([1.0, -2.0]))"],
)


@pytest.mark.parametrize("name", PROGRAMS)
def test_sizes_of_the_data_stay_in_the_graph(name: str) -> None:
    text, calls = PROGRAMS[name]
    programs.same_everywhere(text, calls)
    assert programs.explained(text, calls[0]).break_count == 0


def test_a_mask_that_is_written_has_another_count() -> None:
    programs.same_everywhere(*CHANGED)


@pytest.mark.parametrize("kind", ["np.int8", "np.int32", "np.uint8", "np.int64", "np.uint64", "bool", "float"])
def test_the_type_of_a_number_decides_the_dtype_of_a_range(kind: str) -> None:
    text = """
def f(x):
    n = x[0]
    return np.arange(n), np.zeros(int(n)), np.arange(n).dtype, np.arange(n, dtype=float)
"""
    programs.same_everywhere(text, [f"f(np.array([{n}], {kind}))" for n in (3, 0, 1)])
