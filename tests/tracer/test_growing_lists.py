"""Lists that a loop fills whose end only the data tell: what they hold, who else holds it, and the breaks they cost."""

from __future__ import annotations

import pytest

from tests.conformance import programs

WHOLE = {
    "history of a descent": (
        """
def f(x0, lr=0.1, tol=1e-6, maxiter=200):
    x = np.array(x0, dtype=float)
    path = [x.copy()]
    loss = []
    for i in range(maxiter):
        g = 2 * (x - np.array([1.0, -2.0]))
        step = lr * g
        x = x - step
        path.append(x.copy())
        loss.append(np.abs(g).sum())
        if np.linalg.norm(step) < tol:
            return x, i, np.array(path), loss
    return x, maxiter, np.array(path), loss
""",
        [
            "f([3.0, 4.0])",
            "f([3.0, 4.0])",
            "f([3.0, 4.0], 0.3)",
            "f([3.0, 4.0], 0.3)",
            "f([1.0, -2.0])",
            "f([1.0, -2.0])",
            "f([1.0, 2.0], 0.1, 1e-6, 0)",
            "f([1.0, 2.0], 0.1, 1e-6, 0)",
        ],
    ),
    "lists that leave, filled on some rounds": (
        """
def f(X, n):
    out, py, cond, early = [], [], [], [1.5]
    k = 0
    while k < n:
        X = X @ X / np.abs(X).max()
        out.append(X * 2)
        py.append(float(X[0, 0]))
        if X.sum() > 0.3:
            cond.append(k)
            early.append(1.0 * k)
        if np.abs(X).max() < 1e-3: break
        k += 1
    return out, py, cond, early, len(out), len(cond), X
""",
        [
            "f(np.arange(9.0).reshape(3, 3) - 3, 6)",
            "f(np.arange(9.0).reshape(3, 3) - 3, 6)",
            "f(-np.eye(2), 3)",
            "f(-np.eye(2), 3)",
            "f(np.eye(2), 0)",
            "f(np.eye(2), 0)",
        ],
    ),
    "list of an attribute": (
        """
class S:
    def __init__(self, tol): self.tol = tol; self.log = []
    def solve(self, M, b):
        x = np.zeros_like(b)
        D = np.diag(M); R = M - np.diagflat(D)
        for i in range(100):
            xn = (b - R @ x) / D
            err = np.abs(xn - x).max()
            self.log.append(float(err))
            x = xn
            if err < self.tol:
                break
        self.iterations = i + 1
        return x
def f(M, b):
    s = S(1e-8)
    x = s.solve(M, b)
    return x, s.iterations, s.log[-1], s.log, len(s.log)
""",
        [
            "f(np.array([[5.0,1,0],[1,6,2],[0,2,7]]), np.array([1.0,2,3]))",
            "f(np.array([[5.0,1,0],[1,6,2],[0,2,7]]), np.array([1.0,2,3]))",
        ],
    ),
    "numbers of every type": (
        """
def f(x):
    a, b, c = [], [], []
    for i in range(30):
        x = x * 0.5
        a.append(bool(x[0] > 0.2)); b.append(i); c.append(x > 0.2)
        if x.max() < 0.1: break
    return a, b, c, sum(a), max(b), np.array(b), np.array(a).sum()
""",
        [
            "f(np.ones(3))",
            "f(np.ones(3))",
            "f(np.zeros(3))",
            "f(np.zeros(3))",
        ],
    ),
}
OTHERS = {
    "arrays that others see too": (
        """
def f(x):
    a, b, c, d = [], [], [], [x]
    for i in range(30):
        x = x * 0.5
        a.append(x)
        y = x + 1
        b.append(y); c.append(y)
        z = np.abs(x)
        d.append(z)
        z += 1
        if x.max() < 0.1: break
    a[0][0] = 7
    return a, b, c, d, x
""",
        [
            "f(np.ones(3))",
            "f(np.ones(3))",
        ],
    ),
    "arrays that are written later": (
        """
def f(x):
    d = []
    last = None
    for i in range(30):
        z = np.abs(x) + i
        d.append(z)
        x *= 0.5
        if x.max() < 0.1: break
    d[0][0] = 9
    return d, x, d[-1] is d[0]
""",
        [
            "f(np.ones(3))",
            "f(np.ones(3))",
        ],
    ),
    "list that its loop reads": (
        """
def f(x):
    h = [1.0]
    n = 0
    while True:
        x = x * 0.5
        h.append(h[-1] * x.max())
        n += len(h)
        if h[-1] < 1e-5: break
    return h, n, np.array(h), np.diff(h)
""",
        [
            "f(np.ones(3))",
            "f(np.ones(3))",
        ],
    ),
    "values of several types": (
        """
def f(x):
    h = []
    while True:
        x = x * 0.5
        h.append(x.max() if x.sum() > 1 else 0)
        if x.max() < 1e-2: break
    g = []
    for i in range(40):
        x = x + 0.25
        g.append((i, x.sum()))
        if x.sum() > 5: break
    return h, g
""",
        [
            "f(np.ones(3))",
            "f(np.ones(3))",
        ],
    ),
    "loops in loops": (
        """
def f(X):
    out = []
    tot = []
    for i in range(20):
        X = X * 0.9
        for j in range(20):
            Y = X * j
            out.append(Y.sum())
            if Y.max() > 3: break
        tot.append(X.mean(axis=0))
        if X.max() < 0.5: break
    return np.array(out), np.stack(tot), np.vstack(tot), len(out), tot, np.mean(tot, axis=0), np.asarray(out).max()
""",
        [
            "f(np.arange(12.0).reshape(4, 3) / 5)",
            "f(np.arange(12.0).reshape(4, 3) / 5)",
        ],
    ),
    "lists of the caller": (
        """
log = []
def f(x, out):
    for i in range(30):
        x = x * 0.5
        log.append(x.max())
        out.append(x.copy())
        if x.max() < 0.1: break
    return x
""",
        [
            "f(np.ones(3), [])",
            "f(np.ones(3), [])",
            "f(np.ones(3), [1])",
            "f(np.ones(3), [1])",
            "log",
        ],
    ),
    "list that its loop runs over": (
        """
def f(V):
    Q = []
    for v in V.T:
        w = v - sum((v @ q) * q for q in Q)
        n = np.linalg.norm(w)
        if n > 1e-10:
            Q.append(w / n)
    return np.array(Q).T
""",
        [
            "f(np.arange(12.0).reshape(4, 3) / 5)",
            "f(np.arange(12.0).reshape(4, 3) / 5)",
        ],
    ),
}


@pytest.mark.parametrize("name", WHOLE)
def test_the_loop_stays_in_the_graph(name: str) -> None:
    text, calls = WHOLE[name]
    programs.same_everywhere(text, calls)
    assert programs.explained(text, calls[0]).break_count == 0


@pytest.mark.parametrize("name", OTHERS)
def test_what_has_no_form_means_what_it_means_plainly(name: str) -> None:
    text, calls = OTHERS[name]
    programs.same_everywhere(text, calls)
    assert programs.explained(text, calls[0]).break_count > 0


@pytest.mark.parametrize("value", ["x.sum()", "float(x[0])", "i", "bool(x[0] > 1)", "x.max() > 1", "np.float32(x[0])"])
@pytest.mark.parametrize("start", ["", "x.sum() * 0"])
def test_numbers_keep_their_type_also_in_empty_lists(value: str, start: str) -> None:
    text = f"""
def f(x):
    out = [{start}]
    for i in range(50):
        if x.max() < 1:
            break
        out.append({value})
        x = x / 2
    return out, np.array(out), len(out), out[-1:] if False else x
"""
    programs.same_everywhere(text, [f"f(np.array([{v}, 3.0]))" for v in (5, -8, 2, 300)] + ["f(np.zeros(2))"])
