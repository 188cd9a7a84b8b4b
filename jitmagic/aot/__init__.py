"""Takes a captured graph, gives pure graphs and the wrappers that make a call of them mean the same."""

from __future__ import annotations

import importlib
from typing import Any

from jitmagic.aot.eager import aot_eager
from jitmagic.aot.inference import Backend, CompiledGraph, compile_inference, make_pure
from jitmagic.aot.overlap import AliasGroup, AliasGuard, Window
from jitmagic.aot.plan import CopyBack, InferencePlan, Rebuild, Ref
from jitmagic.ops.constraining import constrain

# The functions for users need the tracer, which is loaded when one of them is asked for.
_LATE = {
    "AotModule": "modules",
    "ExportError": "signature",
    "GraphModule": "graph_module",
    "GraphSignature": "signature",
    "Halves": "joint.joint_graph",
    "JointGraph": "joint.joint_graph",
    "StandIn": "standins",
    "StandInMode": "standins",
    "aot_export_joint_simple": "export",
    "aot_export_module": "export",
    "aot_function": "functions",
    "aot_module": "modules",
    "aot_module_simplified": "modules",
    "compiled_function": "functions",
    "cut": "joint.joint_graph",
    "default_partition": "joint.partitioners",
    "dynamic_axis": "constraints",
    "get_aot_graph_name": "naming",
    "min_cut_rematerialization_partition": "joint.partitioners",
    "same_size": "constraints",
    "set_model_name": "naming",
}

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
    "constrain",
    "make_pure",
]


def __getattr__(name: str) -> Any:
    if name in _LATE:
        return getattr(importlib.import_module(f"jitmagic.aot.{_LATE[name]}"), name)
    raise AttributeError(f"module 'jitmagic.aot' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*globals(), *_LATE])
