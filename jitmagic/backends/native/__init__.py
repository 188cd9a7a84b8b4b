"""The native kernel runtime: takes the text of loops and operands, gives machine code that runs on them.

It knows nothing of graphs. Kernel text is Python over the names of ``intrinsics.NAMESPACE``.
"""

from jitmagic.backends.native.abi import (
    Address,
    FloatFlag,
    Status,
    block_words,
    has_half,
    parse_form,
    split_result,
)
from jitmagic.backends.native.compile import Kernel, compile_kernel, load_kernel
from jitmagic.backends.native.inner_loop import InnerLoop, inner_loop
from jitmagic.backends.native.launch import make_launcher
from jitmagic.backends.native.launch import prepare as prepare_launch
from jitmagic.backends.native.store import Store, current_store

__all__ = [
    "Address",
    "FloatFlag",
    "InnerLoop",
    "Kernel",
    "Status",
    "Store",
    "block_words",
    "compile_kernel",
    "current_store",
    "has_half",
    "inner_loop",
    "load_kernel",
    "make_launcher",
    "parse_form",
    "prepare_launch",
    "split_result",
]
