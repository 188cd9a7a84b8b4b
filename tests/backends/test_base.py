"""The registry of backends."""

from __future__ import annotations

import numpy as np
import pytest

from jitmagic.backends import get_backend, list_backends
from jitmagic.errors import UserError
from tests.backends.building import Recorder, assert_agrees


def test_an_unknown_backend_names_those_that_exist() -> None:
    with pytest.raises(UserError, match=r"no backend 'fortran'.*'eager', 'numba'"):
        get_backend("fortran")


def test_eager_takes_captured_graphs_and_numba_pure_ones() -> None:
    assert {"eager", "numba"} <= set(list_backends())
    assert not get_backend("eager").pure
    assert get_backend("numba").pure


@pytest.mark.parametrize("name", ["eager", "numba"])
def test_backends_agree(name: str) -> None:
    recorder = Recorder()
    x = recorder.input(np.linspace(0, 1, 9))
    graph = recorder.finish(recorder.call("sqrt", recorder.call("add", x, 1.0)))
    assert_agrees(get_backend(name).compile(graph, None), graph, recorder.inputs)
