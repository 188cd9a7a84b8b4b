"""Takes a function and options, gives a compiled function: what happens at each call."""
