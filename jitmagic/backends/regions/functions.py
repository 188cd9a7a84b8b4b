"""Takes functions of one number, gives their text: Python's raise outside of their domain, which leaves the kernel."""

from __future__ import annotations

from jitmagic.backends.native.abi import Status
from jitmagic.backends.regions.arithmetic import fitting
from jitmagic.backends.regions.complexes import complex_part
from jitmagic.backends.regions.writer import COMPLEX, FLOATS, LIMITS, Writer
from jitmagic.errors import Unsupported
from jitmagic.graph import region as ir

__all__ = ["truncated", "unary"]


def unary(e: Writer, node: ir.Unary) -> str:
    if node.operand.type in COMPLEX:
        return complex_part(e, node)
    text = e.value(node.operand)
    if node.function == "neg":
        return fitting(e, f"(-{text})", node.type) if node.type in LIMITS else f"(-{text})"
    if node.function == "abs":
        if node.type == "float32":
            return f"np.float32(abs({text}))"
        return fitting(e, f"abs({text})", node.type) if node.type in LIMITS else f"abs({text})"
    if node.function == "int":
        return truncated(e, text, node.operand.type)
    module, _, name = node.function.partition(".")
    if module == "numpy":
        return _numpy_function(e, name, text, node.operand.type, node.type)
    return _math_function(e, name, e.hold(text), node.type)


def truncated(e: Writer, text: str, kind: str) -> str:
    if kind not in FLOATS:
        return f"np.int64({text})"
    text = e.hold(text)
    e.leave(f"not abs({text}) < {float(2**52)!r}", Status.OVERFLOW)
    return f"np.int64({text})"


_NUMPY = {"sqrt": "math.sqrt({0})", "fabs": "abs({0})", "absolute": "abs({0})"}
_NUMPY |= {"square": "({0} * {0})", "negative": "(-{0})"}
_CLASSES = {
    "isnan": "({0} != {0})",
    "isinf": "math.isinf({0})",
    "isfinite": "(not math.isinf({0}) and not ({0} != {0}))",
}


def _numpy_function(e: Writer, name: str, text: str, operand: str, kind: str) -> str:
    if name in _CLASSES:
        return _CLASSES[name].format(e.hold(text))
    if name in _NUMPY:
        made = _NUMPY[name].format(e.hold(text))
        return f"np.float32({made})" if kind == "float32" else made
    if kind != operand:
        raise Unsupported("region", f"numpy.{name} of a number")
    return e.hold(f"ufunc_{kind}({e.inner_loop(name, kind, kind)}, {text})")


_DOMAINS = {
    "sqrt": "{0} < 0.0",
    "log": "not {0} > 0.0",
    "log2": "not {0} > 0.0",
    "log10": "not {0} > 0.0",
    "log1p": "not {0} > -1.0",
    "asin": "not abs({0}) <= 1.0",
    "acos": "not abs({0}) <= 1.0",
    "acosh": "not {0} >= 1.0",
    "atanh": "not abs({0}) < 1.0",
}
_FINITE = ("sin", "cos", "tan", "exp", "expm1", "sinh", "cosh", "tanh", "atan", "asinh", "fabs")


def _math_function(e: Writer, name: str, text: str, kind: str) -> str:
    """Python's functions raise outside of their domain, and where a finite number gives an infinite one."""
    if name in _CLASSES:
        return _CLASSES[name].format(text)
    if name in ("floor", "ceil"):
        e.leave(f"not abs({text}) < {float(2**52)!r}", Status.OVERFLOW)
        return f"np.int64(math.{name}({text}))"
    if name in _DOMAINS:
        e.leave(_DOMAINS[name].format(text), Status.VALUE_ERROR)
        return f"math.{name}({text})"
    if name not in _FINITE:
        raise Unsupported("region", f"math.{name}")
    e.leave(f"not ({text} - {text} == 0.0)", Status.VALUE_ERROR)
    result = e.hold(f"math.{name}({text})")
    if name in ("exp", "expm1", "sinh", "cosh"):
        e.leave(f"math.isinf({result})", Status.OVERFLOW)
    return result
