"""Takes a captured graph, gives pure graphs and the wrappers that make a call of them mean the same."""

from jitmagic.aot.eager import aot_eager
from jitmagic.aot.inference import Backend, CompiledGraph, compile_inference, make_pure
from jitmagic.aot.overlap import AliasGroup, AliasGuard, Window
from jitmagic.aot.plan import CopyBack, InferencePlan, Rebuild, Ref

__all__ = [
    "AliasGroup",
    "AliasGuard",
    "Backend",
    "CompiledGraph",
    "CopyBack",
    "InferencePlan",
    "Rebuild",
    "Ref",
    "Window",
    "aot_eager",
    "compile_inference",
    "make_pure",
]
