"""Takes a function and real arguments, gives a Capture: graph, guards, effects, outputs, continuation."""
