"""Takes a pure graph, gives loops that no target has shaped yet: which nodes share a loop, and what it does."""
