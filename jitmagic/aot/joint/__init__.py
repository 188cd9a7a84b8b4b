"""Takes a pure graph and what is asked of it, gives the graph with its backward computation."""
