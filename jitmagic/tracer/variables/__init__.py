"""Takes a value or a piece of the trace, gives the tracker that stands for it: one file per family."""
