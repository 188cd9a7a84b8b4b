"""Takes a pure graph, gives a callable: eager, aot_eager, numba (cpu) and numba_cuda."""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from typing import Any

from jitmagic.backends.base import Bail, get_backend, list_backends, register_backend
from jitmagic.backends.eager import compile_eager
from jitmagic.graph import Graph
from jitmagic.graph.region import Region
from jitmagic.graph.region_adjoint import register_region_compiler

__all__ = ["Bail", "get_backend", "list_backends", "register_backend"]


def _compile_graph(graph: Graph, examples: Sequence[Any] | None = None, *, fastmath: bool = False) -> Any:
    """The code generator is loaded at the first compile: importing jitmagic loads no compiler."""
    program = importlib.import_module("jitmagic.backends.numba_cpu.program")
    return program.compile_graph(graph, examples, fastmath=fastmath)


def _compile_region(region: Region) -> Any:
    return importlib.import_module("jitmagic.backends.regions").compile_region(region)


register_region_compiler(_compile_region)


def _compile_for_cuda(graph: Graph, examples: Sequence[Any] | None = None) -> Any:
    return importlib.import_module("jitmagic.backends.numba_cuda.program").compile_graph(graph, examples)


register_backend("eager", compile_eager, pure=False)
register_backend("numba", _compile_graph, keeps_writes=True)
register_backend("numba_cuda", _compile_for_cuda)
