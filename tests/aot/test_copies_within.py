"""``x[a] = x[b]`` within one memory gives NumPy's bits, also where NumPy reads what it has just written."""

import numpy as np
import pytest

import jitmagic as jm
from jitmagic.ops.copying import shows_order

N = 16
PARTS = [slice(1, None), slice(None, -1), slice(None, None, 2), slice(1, None, 2), slice(0, 8), slice(8, None),
         slice(4, 12), slice(None, None, -1), slice(None, None, -2), slice(None, None, 3), slice(0, 6), slice(3, 9),
         slice(10, 4, -1)]  # fmt: skip
PAIRS = [(a, b) for a in PARTS for b in PARTS if len(range(N)[a]) == len(range(N)[b])]
BASE = np.arange(float(N))
SHOWN = [(a, b) for a, b in PAIRS if shows_order(BASE[a], BASE[b])]


def assigned(x, a, b):
    x[a] = x[b]
    return x.sum()


def copied(x, a, b):
    np.copyto(x[a], x[b])
    return x.sum()


def added(x, a, b):
    x[a] += x[b]
    return x.sum()


@pytest.mark.parametrize("function", [assigned, copied, added], ids=lambda f: f.__name__)
@pytest.mark.parametrize("options", [{}, {"dynamic": True}, {"backend": "eager"}], ids=["numba", "dynamic", "eager"])
def test_bits_are_those_of_numpy(function, options):
    for a, b in SHOWN[:4] + PAIRS[:: 9 if options else 5]:

        def part(x, a=a, b=b):
            return function(x, a, b)

        compiled = jm.compile(part, **options)
        ahead = jm.aot.aot_function(part, jm.aot.aot_eager)
        found, wanted, too = (np.arange(float(N)) for _ in range(3))
        assert compiled(found) == part(wanted), (a, b)
        assert found.tobytes() == wanted.tobytes(), (a, b)
        if (a, b) in SHOWN and function is not added:
            with pytest.raises(jm.UserError, match="share memory"):
                ahead(too)
        else:
            ahead(too)
            assert too.tobytes() == wanted.tobytes(), (a, b)


@pytest.mark.parametrize(("a", "b"), PAIRS)
def test_the_prediction_is_what_numpy_does(a, b):
    x = np.arange(float(N))
    y = x.copy()
    x[a] = x[b]
    y[a] = y[b].copy()
    z = np.arange(float(N))
    assert shows_order(z[a], z[b]) == (x.tobytes() != y.tobytes())


def test_a_gradient_through_such_a_copy_is_refused():
    def f(x):
        y = x * 1
        y[::2] = y[:8]
        return (y * np.arange(16.0)).sum()

    with pytest.raises(jm.GradientError, match=r"copy\(\)"):
        jm.grad(f)(np.ones(N))
