"""Takes a pure graph, gives a callable: eager, aot_eager, numba (cpu) and numba_cuda."""

from jitmagic.backends.base import Bail, get_backend, list_backends, register_backend
from jitmagic.backends.eager import compile_eager
from jitmagic.backends.numba_cpu.program import compile_graph

__all__ = ["Bail", "get_backend", "list_backends", "register_backend"]

register_backend("eager", compile_eager, pure=False)
register_backend("numba", compile_graph)
