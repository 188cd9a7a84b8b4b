"""Takes a cotangent and a call, gives the cotangents of the call's operands: what the ``vjp`` column of a row may hold.

The contract of ``Op.vjp``:

* It is a tuple with one rule for each operand by position, or None in place of a rule where the operand has no
  gradient (indices, shapes, flags). Places beyond the tuple have none either. If the last operand is variadic
  (``*operands``), its rule serves all operands from there on, and gives a list, one cotangent for each.
* ``rule(g, ans, *args, **kwargs)``: ``g`` is the cotangent of the result ``ans``, then come the canonical arguments of
  the call. The rule gives the cotangent of its operand, with the operand's shape and dtype (broadcasting undone); for
  an operand that is a list of arrays a list of cotangents. If the call gives several results, ``g`` and ``ans`` are
  tuples, and an entry of ``g`` is None where no cotangent arrived.
* A row that writes (``Op.writes``) is differentiated as if it gave the new value of the operand that it writes: ``g``
  is the cotangent of that value, ``ans`` the value itself.
* A rule is plain NumPy code over anything that behaves like an array: operators, ``np`` functions, ``shape``,
  ``dtype``, ``ndim``, ``T``, ``astype``, ``reshape``. So the eager tape runs it on ndarrays, or on Tensors for higher
  derivatives, and the compiler on values that record a graph and whose sizes may be symbols. It may compute with shapes
  and branch on ranks, dtypes and constants, never on data. Functions of our own are called through ``invoke``.
* Complex numbers follow HIPS autograd and JAX: ``g * f'(z)`` without conjugation, so that for a real function of ``x +
  iy`` the gradient is ``df/dx - i df/dy``.
* A cotangent of 0 stays 0: where a derivative is infinite or NaN, 0 times it counts as 0 (``damp``), so that masked
  branches add nothing. Where a value is finite but its derivative is not (``sqrt`` at 0), the derivative counts as 0.
  The convention of each kink stands in the row's ``note``.
"""

from jitmagic.ops.gradients.calls import as_called, by_position, cotangents, invoke
from jitmagic.ops.gradients.elementwise import Elementwise, damp, elementwise, zero
from jitmagic.ops.gradients.shapes import as_operand, cast, count_of, fit, restore_axes, shape_of, unbroadcast

__all__ = [
    "Elementwise",
    "as_called",
    "as_operand",
    "by_position",
    "cast",
    "cotangents",
    "count_of",
    "damp",
    "elementwise",
    "fit",
    "invoke",
    "restore_axes",
    "shape_of",
    "unbroadcast",
    "zero",
]
