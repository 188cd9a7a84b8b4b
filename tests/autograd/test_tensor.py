"""A Tensor is an ndarray with a history: NumPy's results, PyTorch's rules for leaves, ``grad`` and ``backward``."""

from __future__ import annotations

import copy
import gc
import pickle
import threading
import weakref
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import jitmagic as jm
from jitmagic.autograd.modes import is_grad_enabled
from jitmagic.errors import GradientError
from tests.autograd.slopes import X, differences, gradient


def test_memory_is_shared_and_results_are_tensors() -> None:
    array = np.arange(3.0)
    x = jm.Tensor(array)
    array[0] = 7
    assert x[0].item() == 7
    x[1] = 8
    assert array[1] == 8
    assert type(x + 1) is type(np.sin(x)) is type(array + x) is type(np.float64(1) + x) is type(x > 0) is jm.Tensor
    assert x.numpy() is array
    assert np.asarray(x) is array


def test_gradients_add_up_in_grad() -> None:
    x = jm.Tensor([1.0, 2.0], requires_grad=True)
    (x * x).sum().backward()
    (x * 3).sum().backward()
    assert x.grad is not None
    assert x.grad.numpy().tolist() == [5, 7]
    x.zero_grad()
    assert x.grad is None


def test_the_same_tensor_twice() -> None:
    """Row A25: contributions add up in the one ``grad``."""
    x = jm.Tensor([1.0, 2.0], requires_grad=True)
    (lambda a, b: (a * b).sum())(x, x).backward()
    assert x.grad is not None
    assert x.grad.numpy().tolist() == [2, 4]


def test_backward_of_what_is_no_number_needs_a_gradient() -> None:
    x = jm.Tensor([1.0, 2.0], requires_grad=True)
    with pytest.raises(GradientError, match="needs gradient="):
        (x * 2).backward()
    (x * 2).backward(np.array([1.0, 10.0]))
    assert x.grad is not None
    assert x.grad.numpy().tolist() == [2, 20]
    with pytest.raises(GradientError, match="has shape"):
        (x * 2).backward(np.ones(3))
    with pytest.raises(RuntimeError, match="requires no gradient"):
        jm.Tensor([1.0]).backward()


def test_the_record_is_let_go_of() -> None:
    x = jm.Tensor([1.0, 2.0], requires_grad=True)
    y = (x * x).sum()
    y.backward(retain_graph=True)
    y.backward()
    with pytest.raises(GradientError, match="retain_graph=True"):
        y.backward()


def test_integers_have_no_gradients() -> None:
    with pytest.raises(GradientError, match="int64"):
        jm.Tensor([1, 2], requires_grad=True)
    x = jm.Tensor([1.0, 2.0], requires_grad=True)
    assert not np.argmax(x).requires_grad
    assert not (x > 1).requires_grad
    assert not x.astype(np.int64).requires_grad


def test_leaves_refuse_writes_and_stay_as_they_are() -> None:
    """Row A07."""
    x = jm.Tensor([1.0, 2.0], requires_grad=True)

    def add_one(x: Any) -> None:
        x += 1

    def into_view(x: Any) -> None:
        x[1:][0] = 5

    writes: list[Callable[[Any], Any]] = [
        add_one,
        into_view,
        lambda x: x.fill(0),
        lambda x: np.copyto(x, 0.0),
        lambda x: np.exp(x, out=x),
        lambda x: x.sort(),
    ]
    for write in writes:
        with pytest.raises(GradientError, match="leaf"):
            write(x)
    assert x.numpy().tolist() == [1, 2]
    with jm.no_grad():
        x += 1
        x[0] = 9
    assert x.numpy().tolist() == [9, 3]
    assert x.is_leaf


def test_writes_under_no_grad_change_data_only() -> None:
    """Row A06: a running mean in a training step."""
    x = jm.Tensor([1.0, 2.0], requires_grad=True)
    mean = jm.Tensor(np.zeros(1))
    with jm.no_grad():
        mean *= 0.9
        mean += 0.1 * x.mean()
    assert not mean.requires_grad
    assert mean.numpy()[0] == 0.1 * 1.5


def test_views_of_detached_memory_do_not_touch_history() -> None:
    x = jm.Tensor([1.0, 2.0], requires_grad=True)
    y = x * 2
    y.detach()[0] = 100.0
    y.sum().backward()
    assert x.grad is not None
    assert x.grad.numpy().tolist() == [2, 2]


def test_values_that_are_needed_are_kept_through_writes() -> None:
    def f(x: Any) -> Any:
        y = x * 2
        z = np.exp(y).sum() + (np.sin(y[0]) * y[1, ::2].sum()).sum()
        y += 1
        y[1] = 0.0
        y **= 2
        return z + y.sum()

    np.testing.assert_allclose(gradient(f, X), differences(f, X), rtol=1e-6)
    x = jm.Tensor([1.0, 2.0], requires_grad=True)
    y = (x * x).sum()
    with jm.no_grad():
        x += 10
    y.backward()
    assert x.grad is not None
    assert x.grad.numpy().tolist() == [2, 4]


def test_results_that_were_overwritten_are_computed_again() -> None:
    def f(x: Any) -> Any:
        y = x * 1
        y /= x + 5
        y /= x[0] * x[0]
        np.exp(y, out=y)
        y *= y
        return y.sum()

    np.testing.assert_allclose(gradient(f, X), differences(f, X), rtol=1e-5)


def test_overwritten_values_that_no_rule_reads_are_none() -> None:
    x = jm.Tensor([1.0, 2.0], requires_grad=True)
    y = x * 2
    z = y.sum() + y[1:].sum() + (y + 1).mean()
    y += 1
    y[0] = 0.0
    (z + y.sum()).backward()
    assert x.grad is not None
    np.testing.assert_allclose(x.grad.numpy(), [2 + 1, 2 + 2 + 1 + 2])


def test_a_view_sees_the_history_of_writes_to_its_base() -> None:
    x = jm.Tensor([1.0, 2.0, 3.0], requires_grad=True)
    base = jm.Tensor(np.zeros(3))
    view = base[1:]
    base[1] = x[0] * 2
    assert view.requires_grad
    (view * np.array([10.0, 100.0])).sum().backward()
    assert x.grad is not None
    assert x.grad.numpy().tolist() == [20, 0, 0]


def test_a_plain_array_does_not_take_a_tensor_with_history() -> None:
    x = jm.Tensor([1.0, 2.0], requires_grad=True)
    plain = np.zeros(2)
    with pytest.raises(GradientError, match="plain array"):
        plain[:] = x
    with pytest.raises(GradientError, match="plain array"):
        np.multiply(x, 2, out=plain)
    with pytest.raises(GradientError, match="plain array"):
        np.copyto(plain, x)
    with pytest.raises(GradientError, match="plain array"):
        np.array([x, x])
    assert plain.tolist() == [0, 0]


def test_modes_nest_decorate_and_belong_to_a_thread() -> None:
    x = jm.Tensor([1.0], requires_grad=True)

    @jm.no_grad()
    def inside() -> Any:
        with jm.enable_grad():
            kept = x * 2
        return kept, x * 2

    kept, dropped = inside()
    assert kept.requires_grad
    assert not dropped.requires_grad
    seen: list[bool] = []
    with jm.no_grad():
        thread = threading.Thread(target=lambda: seen.append(is_grad_enabled()))
        thread.start()
        thread.join()
        assert not is_grad_enabled()
    assert seen == [True]
    with pytest.raises(ZeroDivisionError), jm.no_grad():
        raise ZeroDivisionError
    assert is_grad_enabled()


def test_hooks_see_and_replace_gradients() -> None:
    x = jm.Tensor([1.0, 2.0], requires_grad=True)
    y = x * 2
    seen: list[Any] = []
    handle = y.register_hook(lambda g: seen.append(g.numpy().tolist()))
    leaf_hook = x.register_hook(lambda g: g * 10)
    y.retain_grad()
    (y * y).sum().backward(retain_graph=True)
    assert seen == [[4, 8]]
    assert y.grad is not None
    assert y.grad.numpy().tolist() == [4, 8]
    assert x.grad is not None
    assert x.grad.numpy().tolist() == [80, 160]
    handle.remove()
    leaf_hook.remove()
    x.zero_grad()
    (y * y).sum().backward()
    assert len(seen) == 1
    assert x.grad.numpy().tolist() == [8, 16]


def test_higher_derivatives() -> None:
    x = jm.Tensor([1.0, 2.0], requires_grad=True)
    (x**3).sum().backward(create_graph=True)
    first = x.grad
    assert first is not None
    x.grad = None
    (first * np.array([1.0, 10.0])).sum().backward()
    assert x.grad is not None
    assert x.grad.numpy().tolist() == [6, 120]


def test_functions_that_numpy_writes_in_python_are_recorded_through() -> None:
    for f in (
        lambda x: np.polyval([2.0, 1.0, 3.0], x).sum(),
        lambda x: (np.cov(x) ** 2).sum(),
        lambda x: np.corrcoef(x).sum(),
        lambda x: (np.unwrap(x * 3) ** 2).sum(),
    ):
        np.testing.assert_allclose(gradient(f, X), differences(f, X), rtol=1e-5, atol=1e-6)


def test_functions_without_gradient_name_themselves() -> None:
    x = jm.Tensor([3.0, 1.0, 2.0], requires_grad=True)
    y = x.byteswap()
    assert y.numpy().tolist() == x.numpy().byteswap().tolist()
    with pytest.raises(GradientError, match="byteswap"):
        y.sum().backward()
    z = np.power.reduceat(x, [0, 1])
    with pytest.raises(GradientError, match="reduceat"):
        z.sum().backward()


def test_methods_of_ufuncs() -> None:
    x = np.array([1.0, 2.0, 4.0])
    for f in (
        lambda x: np.add.reduce(x),
        lambda x: np.multiply.reduce(x),
        lambda x: np.maximum.reduce(x * x),
        lambda x: np.add.accumulate(x)[1] ** 2,
        lambda x: np.multiply.outer(x, x).sum(),
    ):
        np.testing.assert_allclose(gradient(f, x), differences(f, x), rtol=1e-6)


def test_scalars_run_as_scalars() -> None:
    """A sum is a NumPy scalar, whose operators NumPy computes by other code; ``+=`` on it makes a new Tensor."""
    x = jm.Tensor([1.0, 2.0], requires_grad=True)
    total = x.sum()
    kept = total
    total += x[0] * 2
    assert type(total._values) is np.float64
    assert kept._values == 3
    total.backward()
    assert x.grad is not None
    assert x.grad.numpy().tolist() == [3, 1]


def test_complex_tensors() -> None:
    """The gradient of a real function of ``x + iy`` is ``df/dx - i df/dy``."""
    z = jm.Tensor([1 + 2j], requires_grad=True)
    (z * np.conj(z)).real.sum().backward()
    assert z.grad is not None
    assert z.grad.numpy().tolist() == [2 - 4j]


def test_single_precision() -> None:
    x = jm.Tensor(np.ones(3, np.float32), requires_grad=True)
    (x * 2.0 + np.ones(3)).sum().backward()
    assert x.grad is not None
    assert x.grad.dtype == np.float32


def test_metadata_and_conversions() -> None:
    x = jm.Tensor(X.copy())
    assert (x.shape, x.ndim, x.dtype, x.size, len(x)) == ((2, 3), 2, X.dtype, 6, 2)
    assert x.tolist() == X.tolist()
    assert float(x[0, 0]) == 1.5
    assert [row.tolist() for row in x] == X.tolist()
    assert 3.0 in x
    assert "requires_grad" not in repr(x)
    x.unit = "m"
    x.shape = (3, 2)
    assert x.shape == (3, 2)
    with pytest.raises(AttributeError, match="in place"):
        x.shape = (4, 2)
    with pytest.raises(AttributeError):
        x.no_such_name
    with pytest.raises(ValueError, match="ambiguous"):
        bool(x)
    assert {x: 1}[x] == 1


def test_reshaped_in_place() -> None:
    leaf = jm.Tensor(X.copy(), requires_grad=True)
    y = leaf * 2
    y.shape = (3, 2)
    (y * np.arange(6.0).reshape(3, 2)).sum().backward()
    assert leaf.grad is not None
    assert leaf.grad.numpy().tolist() == [[0, 2, 4], [6, 8, 10]]
    z = leaf * 2
    part = z[0]
    with pytest.raises(GradientError, match="reshape"):
        z.shape = (3, 2)
    assert part.shape == (3,)


def test_copies_and_pickles_of_leaves() -> None:
    x = jm.Tensor(X.copy(), requires_grad=True)
    again = pickle.loads(pickle.dumps(x))
    assert again.requires_grad
    assert again.numpy().tolist() == X.tolist()
    other = copy.deepcopy(x)
    assert not np.shares_memory(other.numpy(), x.numpy())
    with pytest.raises(GradientError, match="history"):
        copy.deepcopy(x * 2)


def test_a_result_that_is_its_operand_is_the_same_tensor() -> None:
    x = jm.Tensor(X.copy(), requires_grad=True)
    y = x * 1
    assert y.astype(float, copy=False) is y
    assert np.squeeze(y).numpy() is not None
    y += 1
    assert np.exp(y, out=y) is y


def test_operands_that_give_way() -> None:
    class Other:
        __array_ufunc__ = None

        def __radd__(self, other: Any) -> str:
            return "other"

    assert jm.Tensor(X) + Other() == "other"


def test_functions_that_are_composed_of_others() -> None:
    for f in (
        lambda x: (np.diag(x[0]) ** 2).sum() + np.diag(x[:, :2]).prod(),
        lambda x: (np.block([[x, x * 2], [np.ones((1, 3)), x[:1]]]) * np.arange(18.0).reshape(3, 6)).sum(),
        lambda x: (np.delete(x, 1, axis=1) ** 2).sum() + np.delete(x, 2).prod(),
        lambda x: (np.insert(x[0], [1, 2], x[1, 0] * 2) ** 2).sum() + np.insert(x[0], 1, x[1, :2])[2],
        lambda x: np.apply_along_axis(lambda row: row * row[0], 1, x).sum(),
        lambda x: np.apply_along_axis(np.prod, 0, x).sum(),
        lambda x: sum(b.sum() for b in np.broadcast_arrays(x[0], x * x)),
        lambda x: (np.stack([x[1], [x[0, 2], x[1, 1], x[0, 0]]]) * np.array([[1.0, 2, 5], [3, 4, 6]])).sum(),
        lambda x: np.where(x, x * 2, x).sum(),
    ):
        leaf = jm.Tensor(X.copy(), requires_grad=True)
        assert f(leaf)._values == f(X)
        np.testing.assert_allclose(gradient(f, X), differences(f, X), rtol=1e-6)


def test_options_without_a_rule_name_themselves() -> None:
    x = jm.Tensor([1.0, 2.0], requires_grad=True)
    y = np.sum(np.linalg.pinv(np.eye(3) * x[0], rtol=x[1] / 100))
    assert y.numpy() == 3
    with pytest.raises(GradientError, match="rtol="):
        y.backward()


def test_a_record_that_nobody_needs_dies_at_once() -> None:
    """No cycles: forward passes without a backward pass hold no memory until a collection."""
    gc.collect()
    gc.disable()
    try:
        x = jm.Tensor(X.copy(), requires_grad=True)
        y = np.exp(x * 2)
        y[0] *= 3
        y[1] = np.sin(x[0])
        gone = [weakref.ref(y.grad_fn), weakref.ref(y), weakref.ref((np.split(y, 2)[0] * y[0]).sum().grad_fn)]
        del y
        assert [each() for each in gone] == [None] * 3
    finally:
        gc.enable()


def test_several_results_that_were_overwritten_are_computed_again() -> None:
    def f(x: Any) -> Any:
        q, r = np.linalg.qr(x)
        q *= 2
        r += 1
        return (q * np.arange(4.0).reshape(2, 2)).sum() + (r**2).sum()

    np.testing.assert_allclose(gradient(f, X), differences(f, X), rtol=1e-5, atol=1e-7)


def test_the_base_of_a_view_keeps_its_history() -> None:
    """It was a plain array, through which no gradient came back."""
    x = jm.Tensor([1.0, 2.0, 3.0], requires_grad=True)
    y = x * 2
    assert y[1:].base is y
    assert y.base is None
    (y[1:].base ** 2).sum().backward()
    assert x.grad is not None
    assert x.grad.numpy().tolist() == [8, 16, 24]


def test_what_leaves_by_dlpack_is_refused_while_it_has_a_gradient() -> None:
    x = jm.Tensor([1.0, 2.0], requires_grad=True)
    with pytest.raises(GradientError, match="plain array"):
        np.from_dlpack(x)
    assert np.from_dlpack(x.detach()).tolist() == [1, 2]
    assert x.to_device("cpu") is x


def test_flags_are_set_and_what_cannot_be_says_what_does_it() -> None:
    def f(x):
        y = x * 1
        y.setflags(write=False)
        try:
            y[0] = 3
        except ValueError:
            return (y * y).sum()
        return y.sum()

    x = np.arange(1.0, 4)
    value, found = jm.value_and_grad(f)(x)
    assert value == f(x)
    np.testing.assert_array_equal(found, 2 * x)
    t = jm.Tensor(x, requires_grad=True)
    f(t).backward()
    np.testing.assert_array_equal(t.grad, 2 * x)
    for name, value, advice in (("dtype", "i8", "view"), ("strides", (0,), "broadcast_to")):
        with pytest.raises(AttributeError, match=f"{name} of a Tensor.*{advice}"):
            setattr(t * 1, name, value)
