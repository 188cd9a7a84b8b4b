"""``%%compile`` for NumPy cells: the same answer, faster, explained in the cell."""

from __future__ import annotations

import importlib
from typing import Any

from jitmagic import own_builtins as own_builtins

# isort: split
# The modules below run with the builtins that the one above keeps.
from jitmagic import aot, nn, optim
from jitmagic.api import (
    allow_in_graph,
    clear_cache,
    compile,
    comptime,
    disable,
    explain,
    graph_break,
    list_backends,
    mark_dynamic,
    mark_static,
    mark_static_address,
    maybe_mark_dynamic,
    recompiles,
    register_backend,
    register_container,
    reset,
    substitute,
    wait,
)
from jitmagic.autograd.function import Function, checkpoint, cond
from jitmagic.autograd.modes import enable_grad, no_grad
from jitmagic.autograd.tensor import Tensor, detach
from jitmagic.config import config, configure
from jitmagic.errors import FullGraphError, GradientError, InternalError, JitMagicError, Unsupported, UserError
from jitmagic.gradients import grad, hessian, jacobian, value_and_grad, vjp

__all__ = [
    "FullGraphError",
    "Function",
    "GradientError",
    "InternalError",
    "JitMagicError",
    "Tensor",
    "Unsupported",
    "UserError",
    "allow_in_graph",
    "aot",
    "checkpoint",
    "clear_cache",
    "compile",
    "comptime",
    "cond",
    "config",
    "configure",
    "detach",
    "disable",
    "enable_grad",
    "explain",
    "grad",
    "graph_break",
    "hessian",
    "jacobian",
    "list_backends",
    "load_ipython_extension",
    "mark_dynamic",
    "mark_static",
    "mark_static_address",
    "maybe_mark_dynamic",
    "nn",
    "no_grad",
    "optim",
    "recompiles",
    "register_backend",
    "register_container",
    "reset",
    "substitute",
    "unload_ipython_extension",
    "value_and_grad",
    "vjp",
    "wait",
]


def load_ipython_extension(shell: Any) -> None:
    """``%load_ext jitmagic``."""
    importlib.import_module("jitmagic.magic.extension").load_ipython_extension(shell)


def unload_ipython_extension(shell: Any) -> None:
    """``%unload_ext jitmagic``."""
    importlib.import_module("jitmagic.magic.extension").unload_ipython_extension(shell)
