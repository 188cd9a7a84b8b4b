"""What layers are defined to compute, element by element and window by window: slow, and plain to read."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

__all__ = ["REFERENCES"]


def sigmoid(x: float) -> float:
    return 1.0 / (1.0 + math.exp(-x))


def softplus(x: float, beta: float = 1.0, threshold: float = 20.0) -> float:
    return x if beta * x > threshold else math.log(1.0 + math.exp(beta * x)) / beta


def elu(x: float, alpha: float) -> float:
    return x if x > 0 else alpha * (math.exp(x) - 1.0)


SCALARS: dict[str, Callable[[Any, float], float]] = {
    "ReLU": lambda m, x: max(x, 0.0),
    "ReLU6": lambda m, x: min(max(x, 0.0), 6.0),
    "Tanh": lambda m, x: math.tanh(x),
    "Sigmoid": lambda m, x: sigmoid(x),
    "SiLU": lambda m, x: x * sigmoid(x),
    "Mish": lambda m, x: x * math.tanh(softplus(x)),
    "SELU": lambda m, x: 1.0507009873554804934 * elu(x, 1.6732632423543772848),
    "Hardsigmoid": lambda m, x: min(max(x / 6.0 + 0.5, 0.0), 1.0),
    "Hardswish": lambda m, x: x * min(max(x + 3.0, 0.0), 6.0) / 6.0,
    "LogSigmoid": lambda m, x: math.log(sigmoid(x)),
    "Softsign": lambda m, x: x / (1.0 + abs(x)),
    "Tanhshrink": lambda m, x: x - math.tanh(x),
    "GELU": lambda m, x: (
        0.5 * x * (1.0 + math.erf(x / math.sqrt(2.0)))
        if m.approximate == "none"
        else 0.5 * x * (1.0 + math.tanh(math.sqrt(2.0 / math.pi) * (x + 0.044715 * x**3)))
    ),
    "LeakyReLU": lambda m, x: x if x > 0 else m.negative_slope * x,
    "ELU": lambda m, x: elu(x, m.alpha),
    "CELU": lambda m, x: x if x > 0 else m.alpha * (math.exp(x / m.alpha) - 1.0),
    "Hardtanh": lambda m, x: min(max(x, m.min_val), m.max_val),
    "Softplus": lambda m, x: softplus(x, m.beta, m.threshold),
    "Hardshrink": lambda m, x: x if abs(x) > m.lambd else 0.0,
    "Softshrink": lambda m, x: math.copysign(max(abs(x) - m.lambd, 0.0), x),
    "Threshold": lambda m, x: x if x > m.threshold else m.value,
    "Identity": lambda m, x: x,
}


def elementwise(name: str) -> Callable[..., Any]:
    return lambda m, x: np.array([SCALARS[name](m, v) for v in x.ravel()]).reshape(x.shape)


def prelu(m: Any, x: Any) -> Any:
    found = np.empty_like(x)
    for index in np.ndindex(x.shape):
        slope = m.weight[index[1] if len(m.weight) > 1 else 0]
        found[index] = x[index] if x[index] > 0 else slope * x[index]
    return found


def softmax(x: Any, axis: int) -> Any:
    e = np.exp(x)
    return e / e.sum(axis, keepdims=True)


def glu(m: Any, x: Any) -> Any:
    half = x.shape[m.dim] // 2
    return x.take(range(half), m.dim) / (1.0 + np.exp(-x.take(range(half, 2 * half), m.dim)))


# -- products


def linear(m: Any, x: Any) -> Any:
    found = np.einsum("...i,oi->...o", x, m.weight)
    return found if m.bias is None else found + m.bias


def bilinear(m: Any, a: Any, b: Any) -> Any:
    found = np.einsum("...i,oij,...j->...o", a, m.weight, b)
    return found if m.bias is None else found + m.bias


# -- windows


def per_axis(value: Any, rank: int) -> tuple[int, ...]:
    return tuple(value) if isinstance(value, tuple) else (value,) * rank


MODES = {"zeros": "constant", "reflect": "reflect", "replicate": "edge", "circular": "wrap"}


def padded(m: Any, x: Any, rank: int) -> Any:
    if m.padding == "same":
        totals = [d * (k - 1) for d, k in zip(m.dilation, m.kernel_size, strict=True)]
        pairs = [(t // 2, t - t // 2) for t in totals]
    else:
        pairs = [(p, p) for p in per_axis(0 if m.padding == "valid" else m.padding, rank)]
    return np.pad(x, [(0, 0), (0, 0), *pairs], mode=MODES[m.padding_mode])


def conv(rank: int) -> Callable[..., Any]:
    def run(m: Any, x: Any) -> Any:
        if x.ndim == rank + 1:
            return run(m, x[None])[0]
        x = padded(m, x, rank)
        each_in, each_out = m.in_channels // m.groups, m.out_channels // m.groups
        reach = [d * (k - 1) + 1 for d, k in zip(m.dilation, m.kernel_size, strict=True)]
        out = [(n - r) // s + 1 for n, r, s in zip(x.shape[2:], reach, m.stride, strict=True)]
        found = np.zeros((len(x), m.out_channels, *out))
        for n, o, *place in np.ndindex(found.shape):
            total = 0.0 if m.bias is None else m.bias[o]
            for c, *k in np.ndindex(m.weight.shape[1:]):
                at = [p * s + i * d for p, s, i, d in zip(place, m.stride, k, m.dilation, strict=True)]
                total += m.weight[(o, c, *k)] * x[(n, o // each_out * each_in + c, *at)]
            found[(n, o, *place)] = total
        return found

    return run


def conv_transpose(rank: int) -> Callable[..., Any]:
    def run(m: Any, x: Any, output_size: Any = None) -> Any:
        if x.ndim == rank + 1:
            return run(m, x[None], output_size)[0]
        reach = [d * (k - 1) + 1 for d, k in zip(m.dilation, m.kernel_size, strict=True)]
        whole = [(n - 1) * s + r for n, s, r in zip(x.shape[2:], m.stride, reach, strict=True)]
        out = [w - 2 * p + e for w, p, e in zip(whole, m.padding, m.output_padding, strict=True)]
        out = list(output_size) if output_size is not None else out
        found = np.zeros(
            (len(x), m.out_channels, *(o + 2 * p + r for o, p, r in zip(out, m.padding, reach, strict=True)))
        )
        each_in, each_out = m.in_channels // m.groups, m.out_channels // m.groups
        for n, c, *place in np.ndindex(x.shape):
            for o, *k in np.ndindex(m.weight.shape[1:]):
                at = [p * s + i * d for p, s, i, d in zip(place, m.stride, k, m.dilation, strict=True)]
                found[(n, c // each_in * each_out + o, *at)] += m.weight[(c, o, *k)] * x[(n, c, *place)]
        found = found[(slice(None), slice(None), *(slice(p, p + o) for p, o in zip(m.padding, out, strict=True)))]
        return found if m.bias is None else found + m.bias.reshape((-1,) + (1,) * rank)

    return run


def windows(m: Any, sizes: Any, rank: int) -> Iterator[tuple[tuple[int, ...], list[list[int]]]]:
    """Each place of the result with the indices along each axis that its window has, also those of the padding."""
    kernel, stride, padding = (per_axis(v, rank) for v in (m.kernel_size, m.stride, m.padding))
    dilation = per_axis(getattr(m, "dilation", 1), rank)
    counts = []
    for n, k, s, p, d in zip(sizes, kernel, stride, padding, dilation, strict=True):
        span = (n + 2 * p - d * (k - 1) - 1) / s
        count = (math.ceil(span) if m.ceil_mode else math.floor(span)) + 1
        counts.append(count - 1 if (count - 1) * s >= n + p else count)
    for place in np.ndindex(*counts):
        yield (
            place,
            [
                [i * s - p + j * d for j in range(k)]
                for i, k, s, p, d in zip(place, kernel, stride, padding, dilation, strict=True)
            ],
        )


def pool(rank: int, fold: Callable[..., float]) -> Callable[..., Any]:
    def run(m: Any, x: Any) -> Any:
        if x.ndim == rank + 1:
            return run(m, x[None])[0]
        sizes = x.shape[2:]
        cells = dict(windows(m, sizes, rank))
        found = np.zeros((*x.shape[:2], *(max(p[i] for p in cells) + 1 for i in range(rank))))
        for n, c in np.ndindex(x.shape[:2]):
            for place, axes in cells.items():
                inside = [[i for i in axis if 0 <= i < size] for axis, size in zip(axes, sizes, strict=True)]
                values = x[n, c][np.ix_(*inside)]
                found[(n, c, *place)] = fold(m, values, axes, sizes)
        return found

    return run


def mean_of_window(m: Any, values: Any, axes: Any, sizes: Any) -> float:
    if getattr(m, "divisor_override", None) is not None:
        return float(values.sum() / m.divisor_override)
    if not m.count_include_pad:
        return float(values.mean())
    pads = per_axis(m.padding, len(axes))
    count = math.prod(sum(i < n + p for i in axis) for axis, n, p in zip(axes, sizes, pads, strict=True))
    return float(values.sum() / count)


def adaptive(rank: int, fold: Callable[[Any], float]) -> Callable[..., Any]:
    def run(m: Any, x: Any) -> Any:
        sizes = x.shape[2:]
        wanted = [n if w is None else w for n, w in zip(sizes, per_axis(m.output_size, rank), strict=True)]
        found = np.zeros((*x.shape[:2], *wanted))
        for n, c, *place in np.ndindex(found.shape):
            cell = tuple(
                slice(math.floor(i * size / w), math.ceil((i + 1) * size / w))
                for i, size, w in zip(place, sizes, wanted, strict=True)
            )
            found[(n, c, *place)] = fold(x[(n, c, *cell)])
        return found

    return run


# -- normalisation


def standard(x: Any, eps: float) -> Any:
    return (x - x.mean()) / math.sqrt(x.var() + eps)


def by_channel(m: Any, x: Any) -> Any:
    shape = (1, -1) + (1,) * (x.ndim - 2)
    weight = 1.0 if m.weight is None else m.weight.reshape(shape)
    return x * weight + (0.0 if m.bias is None else m.bias.reshape(shape))


def layer_norm(m: Any, x: Any) -> Any:
    rows = x.reshape(-1, math.prod(m.normalized_shape))
    found = np.array([standard(row, m.eps) for row in rows]).reshape(x.shape)
    found = found if m.weight is None else found * m.weight
    return found if m.bias is None else found + m.bias


def rms_norm(m: Any, x: Any) -> Any:
    rows = x.reshape(-1, math.prod(m.normalized_shape))
    eps = np.finfo(x.dtype).eps if m.eps is None else m.eps
    return np.array([row / math.sqrt((row**2).mean() + eps) for row in rows]).reshape(x.shape) * m.weight


def group_norm(m: Any, x: Any) -> Any:
    parts = [[standard(g, m.eps) for g in np.split(sample, m.num_groups)] for sample in x]
    return by_channel(m, np.array(parts).reshape(x.shape))


def batch_norm(m: Any, x: Any) -> Any:
    found = np.stack([standard(x[:, c], m.eps) for c in range(x.shape[1])], axis=1)
    return by_channel(m, found)


def instance_norm(rank: int) -> Callable[..., Any]:
    def run(m: Any, x: Any) -> Any:
        if x.ndim == rank + 1:
            return run(m, x[None])[0]
        return by_channel(m, np.array([[standard(c, m.eps) for c in sample] for sample in x]))

    return run


# -- recurrent


def step(kind: str, m: Any, x: Any, state: list[Any], weights: Any) -> list[Any]:
    w_ih, w_hh, b_ih, b_hh = weights
    own_in, own_hidden = w_ih @ x + b_ih, w_hh @ state[0] + b_hh
    if kind.startswith("RNN"):
        total = own_in + own_hidden
        return [np.tanh(total) if m.nonlinearity == "tanh" else np.maximum(total, 0)]
    logistic = np.vectorize(sigmoid)
    if kind.startswith("GRU"):
        (ri, zi, ni), (rh, zh, nh) = np.split(own_in, 3), np.split(own_hidden, 3)
        r, z = logistic(ri + rh), logistic(zi + zh)
        return [(1 - z) * np.tanh(ni + r * nh) + z * state[0]]
    i, f, g, o = np.split(own_in + own_hidden, 4)
    c = logistic(f) * state[1] + logistic(i) * np.tanh(g)
    return [logistic(o) * np.tanh(c), c]


def weights_of(m: Any, place: str) -> tuple[Any, ...]:
    rows = [getattr(m, f"weight_{part}{place}") for part in ("ih", "hh")]
    if m.bias:
        return (*rows, *(getattr(m, f"bias_{part}{place}") for part in ("ih", "hh")))
    return (*rows, 0.0, 0.0)


def recurrent(kind: str) -> Callable[..., Any]:
    def run(m: Any, x: Any, hx: Any = None) -> Any:
        if x.ndim == 2:
            out, states = run(m, x[:, None], hx)
            return out[:, 0], states[:, 0]
        if m.batch_first:
            x = x.swapaxes(0, 1)
        places = [f"_l{layer}{suffix}" for layer in range(m.num_layers) for suffix in m.suffixes]
        sizes = [m.proj_size or m.hidden_size, m.hidden_size][: 2 if kind == "LSTM" else 1]
        ends = [np.zeros((len(places), x.shape[1], size)) for size in sizes]
        given = hx if isinstance(hx, tuple) else (hx,)
        for layer in range(m.num_layers):
            sides = []
            for suffix in m.suffixes:
                row = places.index(f"_l{layer}{suffix}")
                out = np.zeros((*x.shape[:2], sizes[0]))
                for n in range(x.shape[1]):
                    state = [
                        np.zeros(size) if hx is None else g[row, n] for size, g in zip(sizes, given * 2, strict=False)
                    ]
                    for t in reversed(range(len(x))) if suffix else range(len(x)):
                        state = step(kind, m, x[t, n], state, weights_of(m, places[row]))
                        if m.proj_size:
                            state[0] = getattr(m, f"weight_hr{places[row]}") @ state[0]
                        out[t, n] = state[0]
                    for end, value in zip(ends, state, strict=True):
                        end[row, n] = value
                sides.append(out)
            x = np.concatenate(sides, axis=-1)
        return (x.swapaxes(0, 1) if m.batch_first else x), (ends[0] if len(ends) == 1 else tuple(ends))

    return run


def cell(kind: str) -> Callable[..., Any]:
    def run(m: Any, x: Any, h: Any = None) -> Any:
        rows = []
        for n in range(len(x)):
            state = [np.zeros(m.hidden_size) if h is None else h[n] for _ in range(2)]
            rows.append(step(kind, m, x[n], state, weights_of(m, "")))
        found = tuple(np.array([row[i] for row in rows]) for i in range(len(rows[0])))
        return found if len(found) > 1 else found[0]

    return run


# -- attention


def attention(
    m: Any, query: Any, key: Any, value: Any, key_padding_mask: Any = None, need_weights: bool = True,
    attn_mask: Any = None, average_attn_weights: bool = True,
) -> Any:  # fmt: skip
    if query.ndim == 2:
        out, shown = attention(m, query[:, None], key[:, None], value[:, None], None, need_weights)
        return out[:, 0], None if shown is None else shown[0]
    if m.batch_first:
        query, key, value = (a.swapaxes(0, 1) for a in (query, key, value))
    e, d = m.embed_dim, m.head_dim
    names = ("q_proj_weight", "k_proj_weight", "v_proj_weight")
    ws = np.split(m.in_proj_weight, 3) if m.in_proj_weight is not None else [getattr(m, name) for name in names]
    bs = np.split(m.in_proj_bias, 3) if m.in_proj_bias is not None else [np.zeros(e)] * 3
    out, all_weights = np.zeros((*query.shape[:2], e)), []
    for n in range(query.shape[1]):
        q, k, v = (a[:, n] @ w.T + b for a, w, b in zip((query, key, value), ws, bs, strict=True))
        more = [m.bias_k[0], m.bias_v[0]] if m.bias_k is not None else [np.zeros((0, e))] * 2
        zero = np.zeros((1 if m.add_zero_attn else 0, e))
        k, v = np.concatenate([k, more[0], zero]), np.concatenate([v, more[1], zero])
        for h in range(m.num_heads):
            part = slice(h * d, (h + 1) * d)
            scores = q[:, part] @ k[:, part].T / math.sqrt(d)
            width = key.shape[0]
            if attn_mask is not None:
                mask = attn_mask if attn_mask.ndim == 2 else attn_mask[n * m.num_heads + h]
                scores[:, :width] += np.where(mask, -np.inf, 0.0) if mask.dtype == bool else mask
            if key_padding_mask is not None:
                scores[:, :width] += np.where(key_padding_mask[n], -np.inf, 0.0)
            weights = softmax(scores, -1)
            all_weights.append(weights)
            out[:, n, part] = weights @ v[:, part]
    found = out @ m.out_proj.weight.T + (0.0 if m.out_proj.bias is None else m.out_proj.bias)
    shown = np.array(all_weights).reshape(query.shape[1], m.num_heads, *all_weights[0].shape)
    shown = shown.mean(1) if average_attn_weights else shown
    return (found.swapaxes(0, 1) if m.batch_first else found), (shown if need_weights else None)


def encoder_layer(m: Any, x: Any, src_mask: Any = None) -> Any:
    def attended(y: Any) -> Any:
        return attention(m.self_attn, y, y, y, attn_mask=src_mask)[0]

    def fed(y: Any) -> Any:
        inner = linear(m.linear1, y)
        gelu = elementwise("GELU")
        kind = type("Exact", (), {"approximate": "none"})
        return linear(m.linear2, gelu(kind, inner) if m.norm_first else np.maximum(inner, 0))

    if m.norm_first:  # the case with GELU
        x = x + attended(layer_norm(m.norm1, x))
        return x + fed(layer_norm(m.norm2, x))
    x = layer_norm(m.norm1, x + attended(x))
    return layer_norm(m.norm2, x + fed(x))


REFERENCES: dict[str, Callable[..., Any]] = {
    **{name: elementwise(name) for name in SCALARS},
    "PReLU": prelu,
    "GLU": glu,
    "Softmax": lambda m, x: softmax(x, m.dim),
    "Softmin": lambda m, x: softmax(-x, m.dim),
    "LogSoftmax": lambda m, x: np.log(softmax(x, m.dim)),
    "Softmax2d": lambda m, x: softmax(x, 1),
    "Flatten": lambda m, x: np.array([x[i].ravel() for i in range(len(x))]) if m.start_dim else x.reshape(12, 5),
    "Unflatten": lambda m, x: x.reshape(3, 2, 2, 5),
    "Linear": linear,
    "Bilinear": bilinear,
    **{f"Conv{rank}d": conv(rank) for rank in (1, 2)},
    **{f"ConvTranspose{rank}d": conv_transpose(rank) for rank in (1, 2)},
    **{f"MaxPool{rank}d": pool(rank, lambda m, values, *_: float(values.max())) for rank in (1, 2)},
    **{f"AvgPool{rank}d": pool(rank, mean_of_window) for rank in (1, 2)},
    **{f"AdaptiveAvgPool{rank}d": adaptive(rank, np.mean) for rank in (1, 2)},
    **{f"AdaptiveMaxPool{rank}d": adaptive(rank, np.max) for rank in (1, 2)},
    "LayerNorm": layer_norm,
    "RMSNorm": rms_norm,
    "GroupNorm": group_norm,
    **{f"BatchNorm{rank}d": batch_norm for rank in (1, 2)},
    **{f"InstanceNorm{rank}d": instance_norm(rank) for rank in (1, 2)},
    **{kind: recurrent(kind) for kind in ("RNN", "GRU", "LSTM")},
    **{f"{kind}Cell": cell(kind) for kind in ("RNN", "GRU", "LSTM")},
    "MultiheadAttention": attention,
    "TransformerEncoderLayer": encoder_layer,
}
