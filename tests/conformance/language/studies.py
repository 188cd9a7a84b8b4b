"""Rows: whole programs of notebooks that compute: statistics, signals, images, finance, simulation."""

from __future__ import annotations

from tests.conformance.runner import Program

__all__ = ["ROWS"]

ROWS = (
    Program(
        "moving average crossover",
        """
def sma(p, n):
    c = np.cumsum(np.insert(p, 0, 0.0))
    return (c[n:] - c[:-n]) / n
def f(prices, fast=3, slow=8):
    a, b = sma(prices, fast), sma(prices, slow)
    a = a[-len(b):]
    pos = np.where(a > b, 1, 0)
    trades = np.flatnonzero(np.diff(pos))
    gains = []
    for t in trades:
        gains.append(float(prices[slow + t] - prices[slow + t - 1]))
    return {"trades": len(trades), "gain": sum(gains), "best": max(gains, default=0.0)}
""",
        [
            "100 + np.cumsum(np.random.default_rng(0).normal(size=60))",
            "100 + np.cumsum(np.random.default_rng(1).normal(size=80)), slow=10",
        ],
        breaks=1,
    ),
    Program(
        "bisection root",
        """
def bisect(f, a, b, tol=1e-10):
    fa, fb = f(a), f(b)
    if fa * fb > 0:
        raise ValueError(f"no sign change in [{a}, {b}]")
    steps = 0
    while b - a > tol:
        m = 0.5 * (a + b)
        fm = f(m)
        steps += 1
        if fm == 0:
            break
        if fa * fm < 0:
            b, fb = m, fm
        else:
            a, fa = m, fm
    return 0.5 * (a + b), steps
def f(coeffs, a, b):
    return bisect(lambda x: np.polyval(coeffs, x), a, b)
""",
        ["np.array([1.0, 0.0, -2.0]), 0.0, 2.0", "np.array([1.0, 0.0, 2.0]), 0.0, 2.0"],
    ),
    Program(
        "monte carlo options",
        """
def f(s0, k, r, sigma, t, n, seed=0):
    rng = np.random.default_rng(seed)
    z = rng.standard_normal(n)
    st = s0 * np.exp((r - 0.5 * sigma**2) * t + sigma * np.sqrt(t) * z)
    payoff = np.maximum(st - k, 0)
    price = np.exp(-r * t) * payoff.mean()
    err = np.exp(-r * t) * payoff.std(ddof=1) / np.sqrt(n)
    print(f"price {price:.4f} +- {1.96 * err:.4f}")
    return price, (price - 1.96 * err, price + 1.96 * err)
""",
        ["100.0, 105.0, 0.03, 0.2, 1.0, 2000", "90.0, 105.0, 0.03, 0.25, 0.5, 1000, seed=4"],
    ),
    Program(
        "running statistics class",
        """
class Running:
    def __init__(self):
        self.n, self.mean, self.m2 = 0, 0.0, 0.0
    def push(self, x):
        self.n += 1
        d = x - self.mean
        self.mean += d / self.n
        self.m2 += d * (x - self.mean)
    @property
    def std(self):
        return (self.m2 / (self.n - 1)) ** 0.5 if self.n > 1 else float("nan")
    def __repr__(self):
        return f"Running(n={self.n}, mean={self.mean:.3f}, std={self.std:.3f})"
def f(xs):
    r = Running()
    for x in xs:
        r.push(x)
    print(r)
    return r.mean, r.std, r.n
""",
        ["np.linspace(0, 5, 11)", "[1.0, 2.0, 4.0]"],
    ),
    Program(
        "spring mass rk4",
        """
def rk4(f, y, t, h):
    k1 = f(t, y)
    k2 = f(t + h / 2, y + h / 2 * k1)
    k3 = f(t + h / 2, y + h / 2 * k2)
    k4 = f(t + h, y + h * k3)
    return y + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
def f(k, c, y0, t_end, n):
    f = lambda t, y: np.array([y[1], -k * y[0] - c * y[1]])
    ts = np.linspace(0, t_end, n)
    ys = np.zeros((n, 2))
    ys[0] = y0
    for i in range(n - 1):
        ys[i + 1] = rk4(f, ys[i], ts[i], ts[1] - ts[0])
    zero = np.where(np.diff(np.sign(ys[:, 0])))[0]
    return ys[-1], ts[zero], len(zero)
""",
        ["4.0, 0.1, (1.0, 0.0), 10.0, 101"],
    ),
    Program(
        "bootstrap interval",
        """
def f(data, n_boot, alpha=0.05, seed=1):
    rng = np.random.default_rng(seed)
    means = np.empty(n_boot)
    for b in range(n_boot):
        sample = rng.choice(data, size=len(data), replace=True)
        means[b] = sample.mean()
    lo, hi = np.quantile(means, [alpha / 2, 1 - alpha / 2])
    return lo, hi, bool(lo <= data.mean() <= hi)
""",
        ["np.arange(20.0), 50"],
    ),
    Program(
        "text histogram",
        """
def f(data, bins=5, width=20):
    counts, edges = np.histogram(data, bins=bins)
    top = counts.max()
    lines = []
    for c, a, b in zip(counts, edges[:-1], edges[1:]):
        bar = "#" * int(width * c / top)
        lines.append(f"[{a:6.2f}, {b:6.2f}) {bar} {c}")
    print("\\n".join(lines))
    return counts
""",
        ["np.random.default_rng(0).normal(size=50)"],
    ),
    Program(
        "pagerank",
        """
def f(links, d=0.85, tol=1e-8):
    n = len(links)
    m = np.zeros((n, n))
    for i, outs in enumerate(links):
        for j in outs:
            m[j, i] = 1 / len(outs)
        if not outs:
            m[:, i] = 1 / n
    r = np.full(n, 1 / n)
    for it in range(100):
        new = (1 - d) / n + d * m @ r
        if np.abs(new - r).sum() < tol:
            break
        r = new
    ranking = sorted(range(n), key=lambda i: -r[i])
    return r, ranking, it
""",
        ["[[1, 2], [2], [0], [0, 2]]"],
    ),
    Program(
        "fft filter",
        """
def f(signal, dt, cutoff):
    spec = np.fft.rfft(signal)
    freq = np.fft.rfftfreq(len(signal), dt)
    spec[freq > cutoff] = 0
    clean = np.fft.irfft(spec, n=len(signal))
    power = np.abs(spec) ** 2
    peak = freq[np.argmax(power[1:]) + 1]
    return clean, peak, 10 * np.log10(power.max() / power.mean())
""",
        ["np.sin(np.arange(64) * 0.3) + 0.1 * np.cos(np.arange(64) * 2.5), 0.1, 2.0"],
    ),
    Program(
        "confusion matrix",
        """
def f(y_true, y_pred, labels):
    n = len(labels)
    cm = np.zeros((n, n), dtype=int)
    for t, p in zip(y_true, y_pred):
        cm[t, p] += 1
    with np.errstate(invalid="ignore", divide="ignore"):
        precision = np.diag(cm) / cm.sum(axis=0)
        recall = np.diag(cm) / cm.sum(axis=1)
    report = {l: {"p": float(p), "r": float(r)} for l, p, r in zip(labels, precision, recall)}
    return cm, report, np.trace(cm) / cm.sum()
""",
        ["np.array([0, 1, 2, 1]), np.array([0, 2, 2, 1]), ['a', 'b', 'c']", "[0, 1, 1], [1, 1, 1], ['x', 'y']"],
    ),
    Program(
        "prime sieve",
        """
def f(n):
    sieve = np.ones(n + 1, dtype=bool)
    sieve[:2] = False
    for i in range(2, int(n**0.5) + 1):
        if sieve[i]:
            sieve[i * i::i] = False
    primes = np.nonzero(sieve)[0]
    gaps = np.diff(primes)
    return primes, gaps.max(), primes[gaps.argmax()]
""",
        ["60", "100"],
    ),
    Program(
        "pca projection",
        """
class PCA:
    def __init__(self, k):
        self.k = k
    def fit(self, X):
        self.mean_ = X.mean(axis=0)
        U, S, Vt = np.linalg.svd(X - self.mean_, full_matrices=False)
        self.components_ = Vt[:self.k]
        self.ratio_ = (S**2 / np.sum(S**2))[:self.k]
        return self
    def transform(self, X):
        return (X - self.mean_) @ self.components_.T
def f(X, k=2):
    p = PCA(k).fit(X)
    Z = p.transform(X)
    print(f"explained {p.ratio_.sum():.1%}")
    return Z.shape, np.round(Z.std(axis=0), 6), vars(p).keys() >= {"k", "mean_"}
""",
        ["np.random.default_rng(0).normal(size=(12, 4))"],
    ),
    Program(
        "histogram equalize",
        """
def f(img, levels=256):
    hist = np.bincount(img.ravel(), minlength=levels)
    cdf = hist.cumsum()
    nz = cdf[cdf > 0]
    lo = nz.min()
    lut = np.clip((cdf - lo) * (levels - 1) / (img.size - lo), 0, levels - 1).astype(np.uint8)
    return lut[img]
""",
        ["np.random.default_rng(0).integers(40, 90, (8, 8))"],
    ),
    Program(
        "loan schedule",
        """
def f(principal, rate, months):
    r = rate / 12
    pay = principal * r / (1 - (1 + r) ** -months)
    rows, bal = [], principal
    for m in range(1, months + 1):
        interest = bal * r
        bal = bal - (pay - interest)
        rows.append((m, round(interest, 2), round(bal, 2)))
    arr = np.array(rows)
    return round(pay, 2), arr[-1], arr[:, 1].sum()
""",
        ["1000.0, 0.06, 12", "5000, 0.03, 24"],
    ),
    Program(
        "image filters",
        """
def convolve(img, k):
    kh, kw = k.shape
    p = np.pad(img, ((kh // 2,), (kw // 2,)), mode="edge")
    out = np.zeros_like(img, dtype=float)
    for i in range(kh):
        for j in range(kw):
            out += k[i, j] * p[i:i + img.shape[0], j:j + img.shape[1]]
    return out
def f(img):
    sobel = np.array([[1, 0, -1], [2, 0, -2], [1, 0, -1]], float)
    gx, gy = convolve(img, sobel), convolve(img, sobel.T)
    mag = np.hypot(gx, gy)
    mag *= 255 / mag.max()
    edges = mag > np.percentile(mag, 90)
    ys, xs = np.nonzero(edges)
    return mag.astype(np.uint8), edges.sum(), (ys.min(), xs.max())
""",
        ["np.random.default_rng(3).integers(0, 255, (20, 24))"],
    ),
    Program(
        "outlier removal loop",
        """
def f(x, k=3.0):
    rounds = 0
    while True:
        z = np.abs(x - x.mean()) / x.std()
        keep = z < k
        if keep.all():
            break
        x = x[keep]
        rounds += 1
    return x, rounds
""",
        ["np.concatenate([np.linspace(0, 1, 30), [50.0, -20.0]])", "np.arange(6.0)"],
        breaks=1,
    ),
    Program(
        "knapsack",
        """
def f(weights, values, capacity):
    n = len(weights)
    best = np.zeros((n + 1, capacity + 1), dtype=int)
    for i in range(1, n + 1):
        w, v = weights[i - 1], values[i - 1]
        for c in range(capacity + 1):
            best[i, c] = best[i - 1, c]
            if w <= c and best[i - 1, c - w] + v > best[i, c]:
                best[i, c] = best[i - 1, c - w] + v
    chosen, c = [], capacity
    for i in range(n, 0, -1):
        if best[i, c] != best[i - 1, c]:
            chosen.append(i - 1)
            c -= weights[i - 1]
    return best[n, capacity], chosen[::-1]
""",
        ["[3, 4, 5, 9, 14], [3, 4, 4, 10, 15], 20", "[2, 3, 7], [1, 6, 8], 10"],
        breaks=1,
    ),
    Program(
        "bubble sort counts",
        """
def f(a):
    a = a.copy()
    swaps = 0
    n = len(a)
    for i in range(n):
        done = True
        for j in range(n - 1 - i):
            if a[j] > a[j + 1]:
                a[j], a[j + 1] = a[j + 1], a[j]
                swaps += 1
                done = False
        if done:
            break
    return a, swaps
""",
        ["np.array([5, 1, 4, 2, 8])", "[3, 2, 1]"],
    ),
    Program(
        "temperature conversion table",
        """
def f(celsius):
    f = celsius * 9 / 5 + 32
    k = celsius + 273.15
    header = f"{'C':>8}{'F':>8}{'K':>9}"
    print(header)
    print("-" * len(header))
    for c, ff, kk in zip(celsius, f, k):
        mark = " *" if c < 0 else ""
        print(f"{c:8.1f}{ff:8.1f}{kk:9.2f}{mark}")
    return np.column_stack([celsius, f, k])
""",
        ["np.array([-5.0, 0.0, 21.5])"],
    ),
    Program(
        "argsort ranking with ties",
        """
def f(scores, names):
    order = np.argsort(-scores, kind="stable")
    ranks = np.empty(len(scores), int)
    prev, rank = None, 0
    for pos, i in enumerate(order, 1):
        if prev is None or scores[i] != prev:
            rank = pos
            prev = scores[i]
        ranks[i] = rank
    return dict(zip(names, ranks.tolist()))
""",
        ["np.array([3.0, 5.0, 3.0, 1.0]), ['a', 'b', 'c', 'd']"],
    ),
)
