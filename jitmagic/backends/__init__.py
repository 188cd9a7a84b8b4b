"""Takes a pure graph, gives a callable: eager, aot_eager, numba (cpu) and numba_cuda."""
