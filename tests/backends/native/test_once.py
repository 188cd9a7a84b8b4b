"""What threads compute at the same time is one result for all of them."""

from __future__ import annotations

import importlib.util
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

from jitmagic.backends.native import launch
from jitmagic.backends.native.once import once


def test_threads_that_compute_at_the_same_time_get_one_result() -> None:
    together = Barrier(2, timeout=10)

    def make() -> object:
        together.wait()
        return object()

    made = once(make)
    with ThreadPoolExecutor(2) as threads:
        first, second = (future.result() for future in [threads.submit(made), threads.submit(made)])
    assert first is second is made()


def test_the_definition_behind_launchers_stays_where_builtins_point_to(monkeypatch) -> None:
    """A builtin knows its definition by address only: a second definition must not replace the first."""
    spec = importlib.util.find_spec(launch.__name__)
    assert spec is not None
    assert spec.loader is not None
    fresh = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(fresh)
    together = Barrier(2, timeout=10)

    def compiled(source: str, name: str) -> launch.Kernel:
        together.wait()
        return launch.compile_kernel(source, name)

    monkeypatch.setattr(fresh, "compile_kernel", compiled)
    with ThreadPoolExecutor(2) as threads:
        first, second = (future.result() for future in [threads.submit(fresh._method), threads.submit(fresh._method)])
    assert first is second
