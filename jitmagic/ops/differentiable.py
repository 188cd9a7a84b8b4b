"""Takes a function that has no row of its own, gives the rules that its row gets when it is made (``extern``).

``np.linalg``, ``np.fft`` and SciPy run as they are inside graphs; here stands what the gradient needs to know of them.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import Any

import numpy as np

from jitmagic.ops.gradients.edits import delete_rules, insert_rules, of_block
from jitmagic.ops.gradients.factors import of_qr, of_svd, of_svdvals
from jitmagic.ops.gradients.fourier import (
    along_axes,
    of_shift,
    one_axis,
    real_axes,
    real_half,
    real_half_axes,
    real_signal,
)
from jitmagic.ops.gradients.histograms import bin_edges_rules
from jitmagic.ops.gradients.joins import of_vstack
from jitmagic.ops.gradients.linear_algebra import (
    lstsq_rules,
    of_cholesky,
    of_det,
    of_eig,
    of_eigh,
    of_eigvals,
    of_eigvalsh,
    of_inv,
    of_matrix_power,
    of_multi_dot,
    of_pinv,
    of_slogdet,
    solve_rules,
)
from jitmagic.ops.gradients.norms import of_matrix_norm, of_norm, of_vector_norm
from jitmagic.ops.gradients.products import (
    matmul_rules,
    of_trace,
    outer_rules,
    tensordot_rules,
    vecdot_rules,
)
from jitmagic.ops.gradients.repeated import rules_of_at
from jitmagic.ops.gradients.shapes import shape_of
from jitmagic.ops.gradients.special import SPECIAL
from jitmagic.ops.gradients.systems import of_cond, tensorsolve_rules
from jitmagic.ops.gradients.ufunc_methods import outer_rules_of, rules_of_folding
from jitmagic.ops.gradients.views import of_diagonal
from jitmagic.ops.record import Rules, Sample
from jitmagic.ops.registry import lookup
from jitmagic.ops.samples import arrays, called, positive, reals

__all__ = ["DIFFERENTIABLE", "Differentiable", "differentiable", "has_own_rules", "rules_of_method"]


@dataclass(frozen=True, slots=True)
class Differentiable:
    """The columns ``vjp``, ``samples`` and ``note`` of a row that is made on demand."""

    vjp: Rules
    samples: tuple[Sample, ...] = ()
    note: str = ""


def _matrix(*rest: Any, shape: tuple[int, ...] = (4, 4), **kwargs: Any) -> Sample:
    """One matrix, or a stack of them, far from singular."""
    return Sample(lambda rng: (rng.uniform(-1, 1, shape) + 4 * np.eye(shape[-1]), *rest), kwargs)


def _definite(rng: Any) -> Any:
    half = positive()(rng)
    return half @ half.T


DEFINITE = Sample(lambda rng: (_definite(rng),))
STACK = Sample(lambda rng: (np.stack([_definite(rng), _definite(rng)]),))
QR_MODES = tuple(
    called(mode=mode, shape=shape) for mode in ("r", "complete", "raw") for shape in ((4, 2), (3, 4), (3, 3), (2, 5, 3))
)
LOWER = "only the lower triangle (or UPLO) is read, and gets the gradient"

LINEAR_ALGEBRA: dict[str, Differentiable] = {
    "inv": Differentiable((of_inv,), (_matrix(), _matrix(shape=(2, 3, 3)))),
    "det": Differentiable(
        (of_det,),
        (_matrix(), _matrix(shape=(2, 3, 3)), Sample(lambda rng: (np.ones((3, 3)),))),
        "the gradient at a singular matrix are its cofactors, and exact",
    ),
    "slogdet": Differentiable(
        (of_slogdet,),
        (_matrix(), _matrix(shape=(2, 3, 3))),
        "the gradient of the logarithm at a singular matrix is infinite or NaN, 0 where its cotangent is 0",
    ),
    "solve": Differentiable(
        solve_rules,
        (
            Sample(lambda rng: (_definite(rng), rng.random(4))),
            Sample(lambda rng: (_definite(rng), rng.random((4, 2)))),
            Sample(lambda rng: (np.stack([_definite(rng)] * 2), rng.random((2, 4, 2)))),
            Sample(lambda rng: (np.stack([_definite(rng)] * 2), rng.random((4, 2)))),
        ),
    ),
    "cholesky": Differentiable((of_cholesky,), (DEFINITE, STACK), LOWER),
    "eigh": Differentiable((of_eigh,), (DEFINITE, STACK), f"{LOWER}; between equal eigenvalues it counts as 0"),
    "eigvalsh": Differentiable((of_eigvalsh,), (DEFINITE, STACK), LOWER),
    "eig": Differentiable((of_eig,), (DEFINITE,), "eigenvectors: for what does not depend on their phase"),
    "eigvals": Differentiable((of_eigvals,), (DEFINITE, _matrix())),
    "svd": Differentiable(
        (of_svd,),
        (
            called(shape=(4, 3), full_matrices=False),
            called(shape=(3, 4), full_matrices=False),
            called(shape=(3, 3)),
            called(shape=(2, 4, 3), compute_uv=False),
            Sample(lambda rng: (_definite(rng),), {"hermitian": True}),
            Sample(lambda rng: (_definite(rng) - 1,), {"hermitian": True, "compute_uv": False}),
        ),
        "between equal singular values it counts as 0; vectors of complex matrices, and those beside the square "
        "part: for what does not depend on their phase, or on which base they are",
    ),
    "svdvals": Differentiable((of_svdvals,), (called(),)),
    "qr": Differentiable((of_qr,), (called(), called(shape=(3, 4)), called(shape=(2, 4, 3)), *QR_MODES)),
    "pinv": Differentiable(
        (of_pinv,), (called(), called(shape=(3, 4)), Sample(lambda rng: (_definite(rng),), {"hermitian": True}))
    ),
    "lstsq": Differentiable(
        lstsq_rules,
        (
            Sample(lambda rng: (rng.random((4, 3)), rng.random(4))),
            Sample(lambda rng: (rng.random((4, 3)), rng.random((4, 2)))),
            Sample(lambda rng: (rng.random((3, 4)), rng.random((3, 2)))),
        ),
    ),
    "cond": Differentiable((of_cond,), (_matrix(), _matrix("fro"), _matrix(1), _matrix(-2), _matrix(shape=(2, 3, 3)))),
    "tensorsolve": Differentiable(
        tensorsolve_rules,
        (
            Sample(lambda rng: (rng.random((2, 3, 6)), rng.random((2, 3)))),
            Sample(lambda rng: (rng.random((2, 6, 3)), rng.random((2, 3))), {"axes": (1,)}),
        ),
    ),
    "norm": Differentiable(
        (of_norm,),
        (
            called(),
            called(axis=0),
            called(1, axis=1, keepdims=True),
            called(np.inf, axis=0),
            called(3, axis=0),
            *(called(ord) for ord in ("fro", "nuc", 1, -1, 2, -2, np.inf)),
            called("nuc", (0, 2), shape=(4, 3, 2)),
        ),
        "the derivative at 0 counts as 0",
    ),
    "vector_norm": Differentiable((of_vector_norm,), (called(), called(axis=0), called(axis=1, ord=1))),
    "matrix_norm": Differentiable((of_matrix_norm,), (called(), called(ord="nuc"))),
    "matrix_power": Differentiable((of_matrix_power,), (_matrix(3), _matrix(0), _matrix(-2))),
    "multi_dot": Differentiable(
        (of_multi_dot,),
        (
            Sample(lambda rng: ([rng.random((2, 3)), rng.random((3, 4)), rng.random((4, 2))],)),
            Sample(lambda rng: ([rng.random(3), rng.random((3, 4)), rng.random(4)],)),
        ),
    ),
    "matmul": Differentiable(matmul_rules, (arrays((4, 3), (3, 2)),)),
    "outer": Differentiable(outer_rules, (arrays((4,), (3,)),)),
    "tensordot": Differentiable(tensordot_rules, (arrays((4, 3, 2), (3, 2, 5)),)),
    "vecdot": Differentiable(vecdot_rules, (arrays((4, 3), (4, 3)),)),
    "trace": Differentiable(
        (lambda g, ans, x, /, *, offset=0, dtype=None: of_trace(g, ans, x, offset, -2, -1),), (called(),)
    ),
    "diagonal": Differentiable(
        (lambda g, ans, x, /, *, offset=0: of_diagonal(g, ans, x, offset, -2, -1),), (called(),)
    ),
}

SIGNAL = (called(), called(6, axis=0), called(2, axis=0), called(norm="ortho"), called(5, 1, "forward"))
SIGNALS = (called(), called(axes=(0,)), called((6, 2), (0, 1)), called(shape=(2, 4, 3)), called(norm="ortho"))


def _complex(sample: Sample) -> Sample:
    def args(rng: Any) -> tuple[Any, ...]:
        x, *rest = sample.args(rng)
        return (x + 1j * rng.random(x.shape), *rest)

    return Sample(args, sample.kwargs)


COMPLEX_SIGNAL = tuple(map(_complex, SIGNAL))
COMPLEX_SIGNALS = tuple(map(_complex, SIGNALS))
FOURIER: dict[str, Differentiable] = {
    "fft": Differentiable((one_axis(np.fft.fft),), SIGNAL + COMPLEX_SIGNAL),
    "ifft": Differentiable((one_axis(np.fft.ifft),), SIGNAL + COMPLEX_SIGNAL),
    "fft2": Differentiable((along_axes(np.fft.fft2, (-2, -1)),), SIGNALS),
    "ifft2": Differentiable((along_axes(np.fft.ifft2, (-2, -1)),), COMPLEX_SIGNALS),
    "fftn": Differentiable((along_axes(np.fft.fftn, None),), SIGNALS),
    "ifftn": Differentiable((along_axes(np.fft.ifftn, None),), COMPLEX_SIGNALS),
    "rfft": Differentiable((real_half(False),), SIGNAL),
    "irfft": Differentiable((real_signal(False),), COMPLEX_SIGNAL),
    "hfft": Differentiable((real_signal(True),), COMPLEX_SIGNAL),
    "ihfft": Differentiable((real_half(True),), SIGNAL),
    "rfft2": Differentiable((real_half_axes((-2, -1)),), SIGNALS),
    "irfft2": Differentiable((real_axes((-2, -1)),), COMPLEX_SIGNALS),
    "rfftn": Differentiable((real_half_axes(None),), SIGNALS),
    "irfftn": Differentiable((real_axes(None),), COMPLEX_SIGNALS),
    "fftshift": Differentiable((of_shift(np.fft.ifftshift),), (called(), called(axes=0))),
    "ifftshift": Differentiable((of_shift(np.fft.fftshift),), (called(), called(axes=0))),
}

RANGES = {"erfinv": (-0.9, 0.9), "i1": (-3, 3), "j0": (-3, 3), "j1": (-3, 3), "log_ndtr": (-3, 3), "ndtr": (-3, 3)}


def _special() -> dict[str, Differentiable]:
    def samples(name: str, rules: Rules) -> tuple[Sample, ...]:
        return reals(len(rules), *RANGES.get(name, (0.1, 0.9)))

    return {name: Differentiable(rules, samples(name, rules)) for name, rules in SPECIAL.items()}


def _of_diag(g: Any, ans: Any, v: Any, k: int = 0) -> Any:
    """A vector becomes a diagonal, a diagonal a vector."""
    return np.diagonal(g, k) if len(shape_of(v)) == 1 else of_diagonal(g, ans, v, k)


PLAIN: dict[str, Differentiable] = {
    "diag": Differentiable((_of_diag,), (called(shape=(4,)), called(1, shape=(3,)), called(), called(k=-1))),
    "delete": Differentiable(
        delete_rules, (called(1), called([0, 2], axis=0), called(slice(0, 2), 1), called(-1, axis=1))
    ),
    "insert": Differentiable(
        insert_rules,
        (
            Sample(lambda rng: (rng.random(4), 1, rng.random(2))),
            Sample(lambda rng: (rng.random(4), [1, 3], rng.random(2))),
            Sample(lambda rng: (rng.random((4, 3)), 1, rng.random(3)), {"axis": 0}),
            Sample(lambda rng: (rng.random((4, 3)), [0, 2], rng.random((4, 2))), {"axis": 1}),
            Sample(lambda rng: (rng.random((4, 3)), [0, -1, 2], rng.random((3, 1))), {"axis": 0}),
            Sample(lambda rng: (rng.random((4, 3)), 0, rng.random(1)), {"axis": 1}),
        ),
    ),
    "block": Differentiable((of_block,), ()),
    "row_stack": Differentiable((of_vstack,), ()),
    "histogram_bin_edges": Differentiable(bin_edges_rules, (called(4), called("sqrt"), called([0.1, 0.5, 1.5]))),
}

DIFFERENTIABLE: dict[str, dict[str, Differentiable]] = {
    "numpy": PLAIN,
    "numpy.linalg": LINEAR_ALGEBRA,
    "numpy.fft": FOURIER,
    "scipy.special": _special(),
    "scipy.fft": FOURIER,
}


def differentiable(function: Any) -> Differentiable | None:
    """What is known of the gradient of ``function``, if it is one of those above."""
    name = getattr(function, "__name__", "")
    for module, table in DIFFERENTIABLE.items():
        if name in table and getattr(sys.modules.get(module), name, None) is function:
            return table[name]
    return None


GIVE_VIEWS = frozenset(("diag", "diagonal"))  # only their Python code tells what shares memory


def has_own_rules(function: Any) -> bool:
    """Whether a derivative is better taken of ``function`` as a whole than of its Python code."""
    return differentiable(function) is not None and function.__name__ not in GIVE_VIEWS


def rules_of_method(ufunc: np.ufunc, method: str) -> Rules | None:
    """The rules of a method of ``ufunc``."""
    if method == "at":
        return rules_of_at(ufunc)
    if method != "outer":
        return rules_of_folding(ufunc, method)
    found = lookup(ufunc)
    rules = found[0].vjp if found else None
    return outer_rules_of(rules) if rules and len(rules) == 2 else None
