"""Takes a pure graph, gives a program: kernels compiled by Numba and a host function in Python that runs them."""
