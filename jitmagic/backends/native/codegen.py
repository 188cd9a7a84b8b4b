"""Takes the text of a kernel, gives object code.

Importing this module imports Numba.
"""

from __future__ import annotations

from functools import cache, partial
from typing import Any

import llvmlite.binding as llvm
from llvmlite import ir
from numba.core import codegen, compiler, registry, types
from numba.core.callconv import create_error_model
from numba.core.compiler_lock import global_compiler_lock
from numba.core.cpu_options import FastMathOptions
from numba.core.fastmathpass import rewrite_module

from jitmagic.backends.native.abi import FEW_TURNS, Status
from jitmagic.backends.native.collecting import collecting_later
from jitmagic.backends.native.intrinsics import NAMESPACE
from jitmagic.backends.native.lowering import lower
from jitmagic.backends.native.passes import freed
from jitmagic.backends.native.store import Stored
from jitmagic.errors import InternalError, Unsupported

__all__ = ["ENTRY", "assembly", "generate"]

# Numba is annotated in places only
_new_flags: Any = compiler.Flags
_fast_math: Any = FastMathOptions
_compile_extra: Any = compiler.compile_extra
_error_model: Any = create_error_model
_allow_fast_math: Any = rewrite_module

_ALLOWED = {"contract", "reassoc"}  # by ``fastmath``: NaN and infinities stay
# Polynomials take less time in vectors of 512 bits, where there are any: sin 1.1 ns instead of 2.2, tanh 1.3 instead of
# 1.8. LLVM prefers 256, since wide ones slow down the processors that had them first.
_WIDE = '"prefer-vector-width"="512"'
ENTRY = "jitmagic_kernel"  # the symbol of every kernel; each is linked by itself


class _HostCodegen(codegen.AOTCPUCodegen):
    """Object code for this very CPU, without adding it to Numba's own engine."""

    def _customize_tm_options(self, options: dict[str, Any]) -> None:
        options["cpu"] = llvm.get_host_cpu_name()
        options["features"] = self._tm_features
        options["reloc"] = "pic"
        options["codemodel"] = "default"

    def _customize_tm_features(self) -> str:
        return str(llvm.get_host_cpu_features().flatten())

    def _module_pass_manager(self, **options: Any) -> tuple[Any, Any]:
        base: Any = super()
        passes, builder = base._module_pass_manager(**options)
        return freed(passes), builder

    def _function_pass_manager(self, **options: Any) -> tuple[Any, Any]:
        base: Any = super()
        passes, builder = base._function_pass_manager(**options)
        return freed(passes), builder


class _ScalarCodegen(_HostCodegen):
    """The same without vectorised loops, for texts that start with ``FEW_TURNS``."""

    def _pass_builder(self, **options: Any) -> Any:
        builder: Any = super()
        return builder._pass_builder(**{**options, "loop_vectorize": False})


@cache
def _contexts(engine: Any) -> tuple[Any, Any]:
    target = registry.cpu_target
    host = target.target_context.subtarget(
        _internal_codegen=engine("jitmagic"),
        aot_mode=True,  # refuses what would put an absolute address into the code
    )
    host.create_cfunc_wrapper = partial(_add_entry, host, engine is _ScalarCodegen)
    return target.typing_context, host


def _add_entry(context: Any, inline: bool, library: Any, description: Any, env: Any, call_helper: Any) -> None:
    """The C function around Numba's own. Numba's would print an exception, for which it needs the
    interpreter.

    A kernel whose Numba code raises all the same gives Status.RAISED. ``inline`` takes a call from each run, at the
    price of twice the code.
    """
    module = context.create_module("entry")
    convention = context.call_conv
    callee = ir.Function(
        module,
        convention.get_function_type(description.restype, description.argtypes),
        description.llvm_func_name,
    )
    word = context.get_value_type(description.restype)
    parameters = [context.get_value_type(kind) for kind in description.argtypes]
    entry = ir.Function(module, ir.FunctionType(word, parameters), ENTRY)
    builder = ir.IRBuilder(entry.append_basic_block())
    status, value = convention.call_function(builder, callee, description.restype, description.argtypes, entry.args)
    if inline:
        for instruction in builder.block.instructions:
            if isinstance(instruction, ir.CallInstr):
                instruction.attributes.add("alwaysinline")
    builder.ret(builder.select(status.is_error, word(int(Status.RAISED)), value))
    library.add_ir_module(module)


@cache
def _lowering() -> tuple[Any, Any]:
    """Numba's context for ``lower``, and LLVM's description of this CPU."""
    typing_context, host = _contexts(_HostCodegen)
    typing_context.refresh()
    host.refresh()
    return host.subtarget(error_model=_error_model("numpy", host)), host.codegen()._tm


def _assembly_text(context: Any, source: str, name: str, fastmath: bool) -> str:
    module = lower(context, source, name, ENTRY)
    if fastmath:
        _allow_fast_math(module, _fast_math(_ALLOWED))
        set.add(
            module.globals[ENTRY].attributes, _WIDE
        )  # (llvmlite's own ``add`` knows attributes without values only)
    return str(module)


def _optimised(source: str, name: str, fastmath: bool) -> Any:
    """LLVM's module of a text that ``lowering`` knows; None for others. One run of one pipeline over one module."""
    context, machine = _lowering()
    try:
        with collecting_later():
            text = _assembly_text(context, source, name, fastmath)
    except Unsupported:
        return None
    optimised = llvm.parse_assembly(text)
    tuning = llvm.create_pipeline_tuning_options(speed_level=3)
    tuning.loop_vectorization = not source.startswith(FEW_TURNS)
    tuning.slp_vectorization = True
    builder = llvm.create_pass_builder(machine, tuning)
    freed(builder.getModulePassManager()).run(optimised, builder)
    return optimised


_FLAGS = {
    "error_model": "numpy",  # no ZeroDivisionError
    "boundscheck": False,
    "no_cpython_wrapper": True,
    "no_cfunc_wrapper": False,
    "no_compile": True,  # not into Numba's engine
    "nrt": False,  # a kernel that allocates does not compile
}


def _flags(fastmath: bool) -> Any:
    flags = _new_flags()
    for name, value in _FLAGS.items():
        setattr(flags, name, value)
    flags.fastmath = _fast_math(_ALLOWED if fastmath else False)
    return flags


@global_compiler_lock  # type: ignore[untyped-decorator]  # Numba has no annotations
def generate(source: str, name: str, filename: str, fastmath: bool) -> Stored:
    """Compile ``def <name>(args, lo, hi)``; what ``lowering`` does not know goes through all of Numba.

    Errors of Numba become InternalError.
    """
    module = _optimised(source, name, fastmath)
    if module is not None:
        return Stored(ENTRY, _lowering()[1].emit_object(module))
    return Stored(ENTRY, _compile(source, name, filename, fastmath).emit_native_object())


@global_compiler_lock  # type: ignore[untyped-decorator]  # Numba has no annotations
def assembly(source: str, name: str, *, fastmath: bool = False) -> str:
    """The assembly text of a kernel, for tests and for people."""
    module = _optimised(source, name, fastmath)
    if module is not None:
        return str(_lowering()[1].emit_assembly(module))
    library = _compile(source, name, f"<jitmagic kernel {name}>", fastmath)
    library.finalize()
    return str(library.get_asm_str())


@global_compiler_lock  # type: ignore[untyped-decorator]  # Numba has no annotations
def _compile(source: str, name: str, filename: str, fastmath: bool) -> Any:
    scope = dict(NAMESPACE)
    exec(compile(source, filename, "exec"), scope)
    typing_context, target_context = _contexts(_ScalarCodegen if source.startswith(FEW_TURNS) else _HostCodegen)
    word = types.int64
    try:
        result = _compile_extra(
            typing_context,
            target_context,
            scope[name],
            (word, word, word),
            word,
            _flags(fastmath),
            {},
        )
    except Exception as error:  # whatever it is, the text is ours and the user's call goes on plainly
        raise InternalError(f"kernel {name} does not compile: {error}\n{source}") from error
    return result.library
