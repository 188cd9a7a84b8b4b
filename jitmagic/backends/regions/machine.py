"""Takes the text of a region's kernel, gives object code, through LLVM and without Numba.

A region's kernel is typed code of a small vocabulary, so its translation needs no inference: what takes Numba a second
takes a twentieth of that here. Nothing sets a fast-math flag: LLVM neither contracts nor reassociates.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import llvmlite.binding as llvm

from jitmagic.backends.native.passes import freed
from jitmagic.backends.native.store import Stored
from jitmagic.backends.regions.translate import ENTRY, translate
from jitmagic.errors import InternalError

__all__ = ["generate", "optimised"]


@cache
def _machine() -> Any:
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    return llvm.Target.from_default_triple().create_target_machine(
        cpu=llvm.get_host_cpu_name(),
        features=llvm.get_host_cpu_features().flatten(),
        opt=3,
        reloc="pic",
        codemodel="default",
    )


def generate(source: str, name: str, fastmath: bool) -> Stored:
    """Compile ``def region(args, lo, hi): ...``; a loop is exact whatever ``fastmath`` says."""
    return Stored(ENTRY, _machine().emit_object(_module(source)))


def optimised(source: str) -> str:
    """The assembly text, for tests and for people."""
    return str(_machine().emit_assembly(_module(source)))


def _module(source: str) -> Any:
    try:
        module = llvm.parse_assembly(translate(source))
        module.verify()
    except RuntimeError as error:
        raise InternalError(f"the kernel of a loop does not compile: {error}\n{source}") from error
    tuning = llvm.create_pipeline_tuning_options(speed_level=3)
    tuning.loop_vectorization = True
    tuning.slp_vectorization = True
    builder = llvm.create_pass_builder(_machine(), tuning)
    freed(builder.getModulePassManager()).run(module, builder)
    return module
