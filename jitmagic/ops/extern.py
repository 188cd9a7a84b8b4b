"""Takes a function of NumPy or SciPy that has no row, gives it one: it runs as it is, inside the graph.

Its result is inferred by running it on small arrays, so only functions that read their arguments and return something
new may pass. Executors compare what it really gives with what was inferred (``Op.probed``).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from jitmagic.errors import Unsupported
from jitmagic.graph.meta import ArrayMeta, PyMeta
from jitmagic.graph.shapes import SymInt
from jitmagic.ops.describe import replace_leaves
from jitmagic.ops.differentiable import differentiable, rules_of_method
from jitmagic.ops.extern_sizes import sizes_of
from jitmagic.ops.gradients.ufunc_methods import SIGNATURES
from jitmagic.ops.lowering import InnerLoop
from jitmagic.ops.probing import probe, probe_as_it_is
from jitmagic.ops.record import Arguments, Inferred, Op, Rules
from jitmagic.ops.registry import lookup, own_signature
from jitmagic.ops.ufuncs import ufunc_arguments, ufunc_rule
from jitmagic.ops.writing import written_at

__all__ = ["DENIED", "differentiable_row", "extern", "opaque"]

ALL = frozenset({"divide", "over", "under", "invalid"})
PURE_MODULES = (
    "numpy",
    "numpy.linalg",
    "numpy.fft",
    "numpy.lib",
    "numpy.polynomial",
    "scipy.special",
    "scipy.linalg",
    "scipy.fft",
    "scipy.signal",
    "scipy.ndimage",
)

# Functions that may not be run on made-up arrays, or not be reordered, by reason.
REASONS: dict[str, str] = {
    "reads or writes files": """save savez savez_compressed savetxt load loadtxt genfromtxt fromfile fromregex memmap
        open_memmap""",
    "calls functions of the user": """apply_along_axis apply_over_axes fromfunction fromiter frompyfunc vectorize
        piecewise
        generic_filter generic_filter1d generic_laplace generic_gradient_magnitude
        geometric_transform""",
    "reads or changes settings": """set_printoptions seterr seterrcall setbufsize errstate printoptions geterr
        geterrcall getbufsize get_printoptions info show_config show_runtime test set_workers set_backend
        set_global_backend register_backend""",
    "reads all the values to make text": "array2string array_repr array_str format_float_positional",
    "gives a view or not, by the values": "trim_zeros",
    "gives another dtype or size for other values": """eig eigvals roots poly real_if_close common_type sqrtm logm
        funm signm fractional_matrix_power null_space orth eig_banded""",
    "reads foreign memory or asks about memory": """frombuffer from_dlpack may_share_memory shares_memory
        nditer nested_iters require""",
    "solves a system, and LAPACK prints a complaint about made-up numbers": """chebfit legfit lagfit hermfit
        hermefit""",
    "writes into its operands": "copyto put place putmask put_along_axis fill_diagonal",
}
DENIED = {name: reason for reason, names in REASONS.items() for name in names.split()}
UFUNC_METHODS = {"reduce": probe, "accumulate": probe, "outer": probe, "reduceat": probe, "at": written_at}
_made: dict[Any, Op] = {}


def extern(function: Any) -> Op:
    """The row of ``function``, made at the first request.

    Raises Unsupported ``random`` or ``extern-unknown`` if it cannot be one node of a graph.
    """
    found = lookup(function)
    if found is not None:
        return found[0]
    try:
        known = _made.get(function)
    except TypeError:
        raise Unsupported("extern-unknown", _name_of(function)) from None
    if known is None:
        known = _made[function] = _row(function)
    return known


def opaque(function: Any) -> Op:
    """The row of a function that the user allows in graphs (``jm.allow_in_graph``): it is never looked into."""
    return Op(_name_of(function), function, _extern_rule, raises=True, probed=True, warns=ALL)


def _row(function: Any) -> Op:
    name = _name_of(function)
    known = differentiable(function)
    vjp = known.vjp if known else None
    if isinstance(function, np.ufunc) and function.signature is None:
        return Op(
            name,
            function,
            ufunc_rule,
            warns=ALL,
            vjp=vjp,
            lower=InnerLoop(),
            adapt=lambda *args, **kwargs: ufunc_arguments(function, args, kwargs),
        )
    owner = getattr(function, "__self__", None)
    if isinstance(owner, np.ufunc) and function.__name__ in UFUNC_METHODS:
        writes = (0,) if function.__name__ == "at" else ()
        rule = UFUNC_METHODS[function.__name__]
        name = f"{owner.__name__}_{function.__name__}"
        vjp = rules_of_method(owner, function.__name__)
        signature = SIGNATURES.get(function.__name__, own_signature(function))
        return Op(name, function, rule, signature=signature, raises=True, warns=ALL, writes=writes, vjp=vjp)
    _refuse_denied(function, name)
    return _probed(name, function, vjp)


def _probed(name: str, function: Any, vjp: Rules | None) -> Op:
    signature = own_signature(function)
    return Op(name, function, _extern_rule, signature=signature, raises=True, probed=True, warns=ALL, vjp=vjp)


def differentiable_row(function: Any) -> Op | None:
    """The row of ``function`` for a tape, which needs no description of the result beforehand; None: no rules known."""
    found = lookup(function)
    if found is not None:
        return found[0]
    known = differentiable(function)
    return None if known is None else _probed(_name_of(function), function, known.vjp)


def _refuse_denied(function: Any, name: str) -> None:
    module = getattr(function, "__module__", None) or ""
    if module.startswith("numpy.random") or module.startswith("scipy.stats"):
        raise Unsupported("random", name)
    by_value = module.endswith("scimath") or "scimath_impl" in module  # real or complex, as the values need
    public = not by_value and any(
        module == m or module.startswith(f"{m}.") or module.startswith(f"{m}._") for m in PURE_MODULES
    )
    if not public or isinstance(function, type) or name in DENIED:
        raise Unsupported("extern-unknown", name)


def _extern_rule(call: Arguments) -> Inferred:
    """As the general rule; sizes that are no operand's count as known only at run time."""
    for key, value in call.kwargs.items():
        if key in ("out", "output") and value is not None:
            raise Unsupported("extern-unknown", f"{call.op.name} with {key}=")
    module = getattr(call.op.call, "__module__", None) or ""
    if module.startswith(("numpy.fft", "scipy.fft")):
        return probe_as_it_is(call, sizes_of(call.op.call) if call.args else None)
    leaves = _leaves((call.args, dict(call.kwargs)))
    if not any(isinstance(leaf, ArrayMeta | PyMeta | SymInt | np.ndarray) for leaf in leaves):
        return probe(call)  # of constants: what it gives now it gives always
    if call.op.call in COUNTED:
        return probe(call, counted=lambda *place: place == COUNTED[call.op.call])
    offsets = call.op.call in PLACED and _is_placed(call)
    return probe(call, trust_constants=False, offsets=offsets, sizes=sizes_of(call.op.call))


# Sizes of results that only the data tell, as entry of the result and axis
COUNTED: dict[Any, tuple[int, int]] = {np.linalg.lstsq: (1, 0)}  # residuals, if there are any
PLACED = (np.insert, np.delete)  # sizes of the first operand and a number, if their second one is known


def _is_placed(call: Arguments) -> bool:
    places = _leaves(call.kwargs.get("obj", call.args[1] if len(call.args) > 1 else None))
    return all(isinstance(place, int) for place in places)


def _leaves(value: Any) -> list[Any]:
    found: list[Any] = []
    replace_leaves(value, found.append)
    return found


def _name_of(function: Any) -> str:
    return str(getattr(function, "__name__", type(function).__name__))
