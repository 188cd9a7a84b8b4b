"""Takes a region (a typed loop), gives a callable that runs it as one kernel."""

from jitmagic.backends.regions.program import compile_region

__all__ = ["compile_region"]
