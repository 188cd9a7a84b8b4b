"""Takes a pure graph, gives a program for an NVIDIA GPU: the second emitter of the loop IR, through ``numba.cuda``."""
