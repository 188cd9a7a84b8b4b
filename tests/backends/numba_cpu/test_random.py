"""Random graphs: the compiled program gives the bits, dtypes, shapes and memory order of the interpreted graph."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from jitmagic.backends.base import Bail
from jitmagic.backends.numba_cpu.program import compile_graph
from jitmagic.graph import ArrayMeta, Node
from tests.backends.building import Recorder, assert_agrees

DTYPES = [*["f8"] * 4, "f4", "i8", "i4", "i1", "u1", "u2", "u8", "?", "f2", "c16", ">f8"]
FAMILIES = [
    [(5,), (5,), (1,), ()],
    [(4, 5), (4, 5), (4, 5), (4, 1), (5,), (1, 5), ()],
    [(3, 4, 5), (3, 4, 5), (4, 5), (3, 1, 1), (4, 1), (1, 1, 1)],
    [(1100,), (1100,), ()],
    [(3, 1100), (3, 1100), (3, 1)],
    [(0, 5), (0, 5), (5,), (4, 0), (1, 0)],
]
SPECIAL = [np.nan, np.inf, -np.inf, -0.0, 0.0, 1e300, -1e-310, 1.5]
UNARY = ["negative", "sqrt", "exp", "sin", "log", "absolute"]
BINARY = ["add", "subtract", "multiply", "true_divide", "less", "equal", "bitwise_xor", "arctan2", "maximum", "hypot"]
BINARY += ["floor_divide", "power", "logical_and"]
CASTS = ["f8", "f4", "i8", "i2", "?", "u1", "u4", "u8"]
CONSTANTS = [2, 0, -1, 2.5, float("nan"), True, 200]
FOLDS = ["sum", "mean", "max", "min", "any", "all", "prod", "argmax", "cumsum"]
VIEWS: list[Any] = [np.s_[1:], np.s_[:-1], np.s_[::-1], np.s_[..., ::2], np.s_[..., None], np.s_[0], np.s_[-3:]]


def array(draw: Any, shapes: list[Any]) -> Any:
    """An input: any dtype and shape, C or Fortran order, reversed, strided, unaligned or read-only."""
    dtype = np.dtype(draw(st.sampled_from(DTYPES)))
    shape = draw(st.sampled_from(shapes))
    rng = np.random.default_rng(draw(st.integers(0, 99)))
    data = rng.standard_normal(shape) * 4
    if dtype.kind in "fc" and data.size:
        data.flat[:: max(data.size // 3, 1)] = rng.choice(SPECIAL, len(data.flat[:: max(data.size // 3, 1)]))
    with np.errstate(all="ignore"):
        values = data.astype(dtype) if dtype.kind in "fc" else (np.nan_to_num(data) * 10).astype("i8").astype(dtype)
    return LAYOUTS[draw(st.sampled_from(sorted(LAYOUTS)))](values)


def _strided(x: Any) -> Any:
    return np.repeat(x, 2, axis=-1)[..., ::2] if x.ndim else x


def _unaligned(x: Any) -> Any:
    raw = np.zeros(x.nbytes + 1, "u1")[1:].view(x.dtype).reshape(x.shape)
    raw[...] = x
    return raw


def _read_only(x: Any) -> Any:
    x = np.array(x)
    x.flags.writeable = False
    return x


LAYOUTS = {
    "C": lambda x: x,
    "C again": lambda x: x,
    "F": np.asfortranarray,
    "reversed": lambda x: x[::-1] if x.ndim else x,
    "strided": _strided,
    "unaligned": _unaligned,
    "read-only": _read_only,
    "scalar": lambda x: x[()] if x.ndim == 0 else x,
}


def step(draw: Any, recorder: Recorder, nodes: list[Node]) -> None:
    """One more call on values that exist; what NumPy refuses is left out."""
    kind = draw(st.sampled_from(["unary", *["binary"] * 5, "cast", "where", "view", "transpose", "fold"]))
    pick = lambda: draw(st.sampled_from(nodes[-5:] if draw(st.booleans()) else nodes))
    either = lambda: draw(st.sampled_from(CONSTANTS)) if draw(st.integers(0, 3)) == 0 else pick()
    makers = {
        "unary": lambda: (draw(st.sampled_from(UNARY)), pick()),
        "binary": lambda: (draw(st.sampled_from(BINARY)), *draw(st.permutations([pick(), either()]))),
        "cast": lambda: ("astype", pick(), np.dtype(draw(st.sampled_from(CASTS)))),
        "where": lambda: ("where", pick(), either(), pick()),
        "view": lambda: ("getitem", pick(), draw(st.sampled_from(VIEWS))),
        "transpose": lambda: ("transpose", pick()),
        "fold": lambda: (draw(st.sampled_from(FOLDS)), pick()),
    }
    arguments = makers[kind]()
    axis = {"axis": draw(st.sampled_from([None, 0, 1, -1]))} if kind == "fold" else {}
    try:
        nodes.append(recorder.call(*arguments, **axis))
    except (TypeError, ValueError, IndexError, OverflowError, AttributeError):
        return


@st.composite
def programs(draw: Any) -> Recorder:
    recorder = Recorder()
    family = draw(st.sampled_from(FAMILIES))
    nodes = [recorder.input(array(draw, family)) for _ in range(draw(st.integers(1, 3)))]
    nodes.append(recorder.input(draw(st.sampled_from([3, 2.5, 1e300, -7]))))
    for _ in range(draw(st.integers(4, 12))):
        step(draw, recorder, nodes)
    made = [n for n in nodes if n.kind == "call" and isinstance(n.meta, ArrayMeta)]
    outputs = draw(st.lists(st.sampled_from(made[-3:]), min_size=1, max_size=3)) if made else nodes[:1]
    recorder.graph.outputs = outputs
    recorder.graph.prune()
    recorder.finish(*outputs)
    return recorder


@pytest.mark.filterwarnings("ignore")
@settings(max_examples=40, suppress_health_check=list(HealthCheck))
@given(programs())
def test_random_programs_give_numpys_bits(recorder: Recorder) -> None:
    """Bits, dtype, shape, memory order, scalars; inputs stay as they were."""
    program = compile_graph(recorder.graph)
    try:
        assert_agrees(program, recorder.graph, recorder.inputs)
        return
    except Bail as bail:
        cause = bail.__cause__
    # a float out of the range of the integer that it is cast to has no defined value, nor has the sign of a zero that
    # is the largest; and NumPy warns about imaginary parts that are lost
    assert any("bad" in kernel.source for kernel in program.kernels) or isinstance(cause, np.exceptions.ComplexWarning)
