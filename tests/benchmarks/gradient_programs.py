"""The programs whose gradients are measured, each as plain NumPy, for HIPS autograd and for JAX.

Where one text serves all three it is a function of the module ``xp``. The loops in time are written as each of the
three wants them: with writes in place for NumPy, without writes for autograd, as ``scan`` for JAX.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

__all__ = ["CASES", "Case"]


@dataclass(frozen=True)
class Case:
    """``plain(xp)``, ``autograd(xp)`` and ``jax(jax)`` give the function, ``argnums`` is what it is derived by."""

    name: str
    argnums: tuple[int, ...]
    arguments: Callable[[np.random.Generator], tuple[Any, ...]]
    plain: Callable[[Any], Callable[..., Any]]
    autograd: Callable[[Any], Callable[..., Any]]
    jax: Callable[[Any], Callable[..., Any]]


def logistic(np: Any) -> Callable[..., Any]:
    def loss(w, b, x, y):
        z = np.dot(x, w) + b
        return np.mean(np.log1p(np.exp(-y * z))) + 0.01 * np.sum(w * w)

    return loss


def network(np: Any) -> Callable[..., Any]:
    def loss(w1, b1, w2, b2, x, hot):
        h = np.tanh(np.dot(x, w1) + b1)
        z = np.dot(h, w2) + b2
        shifted = z - np.max(z, axis=1, keepdims=True)
        logs = shifted - np.log(np.sum(np.exp(shifted), axis=1, keepdims=True))
        return -np.sum(hot * logs) / len(x)

    return loss


def gaussian_process(np: Any) -> Callable[..., Any]:
    def loss(lengths, noise, x, y):
        s = x / lengths
        q = np.sum(s * s, axis=1)
        k = np.exp(-0.5 * (q[:, None] + q[None, :] - 2.0 * np.dot(s, s.T))) + noise**2 * np.eye(len(x))
        low = np.linalg.cholesky(k)
        a = np.linalg.solve(k, y)
        return 0.5 * np.dot(y, a) + np.sum(np.log(np.diag(low)))

    return loss


STEPS = 60


def pendulum(np: Any) -> Callable[..., Any]:
    def loss(angle, speed, damping):
        for _ in range(STEPS):
            speed = speed + 0.05 * (-np.sin(angle) - damping * speed)
            angle = angle + 0.05 * speed
        return np.mean(angle**2)

    return loss


def pendulum_jax(jax: Any) -> Callable[..., Any]:
    jnp = jax.numpy

    def loss(angle, speed, damping):
        def step(state, _):
            angle, speed = state
            speed = speed + 0.05 * (-jnp.sin(angle) - damping * speed)
            return (angle + 0.05 * speed, speed), None

        (angle, speed), _ = jax.lax.scan(step, (angle, speed), None, length=STEPS)
        return jnp.mean(angle**2)

    return loss


def heat(np: Any) -> Callable[..., Any]:
    def loss(k, u0, seen):
        u = u0.copy()
        for _ in range(STEPS):
            flux = k * (u[1:] - u[:-1])
            u[1:-1] += 0.2 * (flux[1:] - flux[:-1])
        return np.sum((u - seen) ** 2)

    return loss


def heat_autograd(np: Any) -> Callable[..., Any]:
    def loss(k, u0, seen):
        u = u0
        for _ in range(STEPS):
            flux = k * (u[1:] - u[:-1])
            inner = u[1:-1] + 0.2 * (flux[1:] - flux[:-1])
            u = np.concatenate([u[:1], inner, u[-1:]])
        return np.sum((u - seen) ** 2)

    return loss


def heat_jax(jax: Any) -> Callable[..., Any]:
    jnp = jax.numpy

    def loss(k, u0, seen):
        def step(u, _):
            flux = k * (u[1:] - u[:-1])
            return u.at[1:-1].add(0.2 * (flux[1:] - flux[:-1])), None

        u, _ = jax.lax.scan(step, u0, None, length=STEPS)
        return jnp.sum((u - seen) ** 2)

    return loss


def of_jax(make: Callable[[Any], Callable[..., Any]]) -> Callable[[Any], Callable[..., Any]]:
    return lambda jax: make(jax.numpy)


def logistic_data(n: int, d: int) -> Callable[[np.random.Generator], tuple[Any, ...]]:
    return lambda r: (r.normal(size=d) * 0.1, 0.3, r.normal(size=(n, d)), np.sign(r.normal(size=n)))


def network_data(n: int, d: int, h: int, c: int) -> Callable[[np.random.Generator], tuple[Any, ...]]:
    def make(r: np.random.Generator) -> tuple[Any, ...]:
        hot = np.eye(c)[r.integers(0, c, n)]
        return (
            r.normal(size=(d, h)) / 8,
            np.zeros(h),
            r.normal(size=(h, c)) / 8,
            np.zeros(c),
            r.normal(size=(n, d)),
            hot,
        )

    return make


def process_data(n: int, d: int) -> Callable[[np.random.Generator], tuple[Any, ...]]:
    return lambda r: (np.ones(d), 0.3, r.normal(size=(n, d)), r.normal(size=n))


def pendulum_data(n: int) -> Callable[[np.random.Generator], tuple[Any, ...]]:
    return lambda r: (r.normal(size=n), r.normal(size=n), 0.1 + r.random(n))


def heat_data(n: int) -> Callable[[np.random.Generator], tuple[Any, ...]]:
    return lambda r: (1.0 + r.random(n - 1), r.random(n), r.random(n))


CASES = (
    Case("logistic 1000×10", (0, 1), logistic_data(1000, 10), logistic, logistic, of_jax(logistic)),
    Case("logistic 20000×20", (0, 1), logistic_data(20000, 20), logistic, logistic, of_jax(logistic)),
    Case("network 200×32", (0, 1, 2, 3), network_data(200, 32, 64, 10), network, network, of_jax(network)),
    Case("network 2000×64", (0, 1, 2, 3), network_data(2000, 64, 128, 10), network, network, of_jax(network)),
    Case("process 100", (0, 1), process_data(100, 3), gaussian_process, gaussian_process, of_jax(gaussian_process)),
    Case("process 300", (0, 1), process_data(300, 3), gaussian_process, gaussian_process, of_jax(gaussian_process)),
    Case("pendulum 1000", (0, 1, 2), pendulum_data(1000), pendulum, pendulum, pendulum_jax),
    Case("pendulum 10000", (0, 1, 2), pendulum_data(10000), pendulum, pendulum, pendulum_jax),
    Case("heat 1000", (0,), heat_data(1000), heat, heat_autograd, heat_jax),
    Case("heat 20000", (0,), heat_data(20000), heat, heat_autograd, heat_jax),
)
