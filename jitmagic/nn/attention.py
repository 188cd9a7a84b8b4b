"""Attention with several heads (Vaswani et al., 2017)."""

from __future__ import annotations

from typing import Any

import numpy as np

from jitmagic.nn import functional as F
from jitmagic.nn import init
from jitmagic.nn.functional.attention import attention_weights
from jitmagic.nn.linear import Linear
from jitmagic.nn.module import Module
from jitmagic.nn.parameter import Parameter

__all__ = ["MultiheadAttention"]


class MultiheadAttention(Module):
    """Queries (l, n, embed_dim), keys (s, n, kdim), values (s, n, vdim) to (l, n, embed_dim), and the weights.

    Batch first with ``batch_first``, or all without the batch. ``key_padding_mask`` (n, s) leaves out keys where it is
    true; ``attn_mask`` (l, s) or (n * num_heads, l, s) leaves out pairs where it is true, or is added if it is no
    boolean array. Weights are (n, l, s), the mean over heads, or (n, num_heads, l, s) without ``average_attn_weights``;
    None without ``need_weights``.

    Raises ValueError if ``num_heads`` does not divide ``embed_dim``.
    """

    in_proj_weight: Any
    q_proj_weight: Any
    k_proj_weight: Any
    v_proj_weight: Any
    in_proj_bias: Any
    bias_k: Any
    bias_v: Any

    def __init__(
        self,
        embed_dim: int,
        num_heads: int,
        dropout: float = 0.0,
        bias: bool = True,
        add_bias_kv: bool = False,
        add_zero_attn: bool = False,
        kdim: int | None = None,
        vdim: int | None = None,
        batch_first: bool = False,
        *,
        dtype: Any = np.float64,
        rng: Any = None,
    ) -> None:
        super().__init__()
        if embed_dim <= 0 or num_heads <= 0 or embed_dim % num_heads:
            raise ValueError(f"embed_dim={embed_dim} must be divisible by num_heads={num_heads}, both positive")
        self.embed_dim = embed_dim
        self.kdim = embed_dim if kdim is None else kdim
        self.vdim = embed_dim if vdim is None else vdim
        self.num_heads = num_heads
        self.head_dim = embed_dim // num_heads
        self.dropout = dropout
        self.batch_first = batch_first
        self.add_zero_attn = add_zero_attn
        self.rng = rng
        self._register(bias, add_bias_kv, dtype, rng)

    def _register(self, bias: bool, add_bias_kv: bool, dtype: Any, rng: Any) -> None:
        e = self.embed_dim
        together = self.kdim == e and self.vdim == e
        shapes = {"q_proj_weight": (e, e), "k_proj_weight": (e, self.kdim), "v_proj_weight": (e, self.vdim)}

        def drawn(shape: tuple[int, ...], fill: Any) -> Parameter:
            found: Parameter = fill(Parameter(np.empty(shape, dtype)), generator=rng)
            return found

        for name, shape in shapes.items():
            self.register_parameter(name, None if together else drawn(shape, init.xavier_uniform_))
        self.register_parameter("in_proj_weight", drawn((3 * e, e), init.xavier_uniform_) if together else None)
        self.register_parameter("in_proj_bias", Parameter(np.zeros(3 * e, dtype)) if bias else None)
        self.out_proj = Linear(e, e, bias, dtype=dtype, rng=rng)
        if bias:
            self.out_proj.bias[...] = 0
        for name in ("bias_k", "bias_v"):
            self.register_parameter(name, drawn((1, 1, e), init.xavier_normal_) if add_bias_kv else None)

    def forward(
        self,
        query: Any,
        key: Any,
        value: Any,
        key_padding_mask: Any = None,
        need_weights: bool = True,
        attn_mask: Any = None,
        average_attn_weights: bool = True,
        is_causal: bool = False,
    ) -> Any:
        if is_causal and attn_mask is None:
            raise RuntimeError("is_causal is a hint about attn_mask, which must be given as well")
        has_batch = len(query.shape) == 3
        if not has_batch:
            query, key, value = query[None], key[None], value[None]
            key_padding_mask = None if key_padding_mask is None else key_padding_mask[None]
        elif not self.batch_first:
            query, key, value = (np.swapaxes(x, 0, 1) for x in (query, key, value))
        q, k, v = self._projected(query, key, value)
        added = self._added(attn_mask, key_padding_mask, q.shape[0], q.dtype)
        k, v, added = self._lengthened(k, v, added)
        weights = attention_weights(self._heads(q), self._heads(k), added)
        weights = F.dropout(weights, self.dropout, self.training, rng=self.rng)
        mixed = np.swapaxes(weights @ self._heads(v), 1, 2)
        found = self.out_proj(mixed.reshape((*mixed.shape[:2], self.embed_dim)))
        shown = (np.mean(weights, axis=1) if average_attn_weights else weights) if need_weights else None
        if not has_batch:
            return found[0], None if shown is None else shown[0]
        return (found if self.batch_first else np.swapaxes(found, 0, 1)), shown

    def _projected(self, query: Any, key: Any, value: Any) -> tuple[Any, ...]:
        e = self.embed_dim
        if self.in_proj_weight is not None:
            weights = tuple(self.in_proj_weight[i * e : (i + 1) * e] for i in range(3))
        else:
            weights = (self.q_proj_weight, self.k_proj_weight, self.v_proj_weight)
        biases = tuple(None if self.in_proj_bias is None else self.in_proj_bias[i * e : (i + 1) * e] for i in range(3))
        return tuple(F.linear(x, w, b) for x, w, b in zip((query, key, value), weights, biases, strict=True))

    def _heads(self, x: Any) -> Any:
        """(n, l, embed_dim) to (n, num_heads, l, head_dim)."""
        return np.swapaxes(x.reshape((*x.shape[:2], self.num_heads, self.head_dim)), 1, 2)

    def _added(self, attn_mask: Any, key_padding_mask: Any, batch: Any, dtype: Any) -> Any:
        """What both masks add to the products: (1 or n, 1 or num_heads, 1 or l, s), or None."""
        added = None
        if attn_mask is not None:
            added = _as_numbers(attn_mask, dtype)
            if len(attn_mask.shape) == 3:
                added = added.reshape((batch, self.num_heads, *attn_mask.shape[1:]))
        if key_padding_mask is not None:
            padding = _as_numbers(key_padding_mask, dtype)[:, None, None, :]
            added = padding if added is None else added + padding
        return added

    def _lengthened(self, k: Any, v: Any, added: Any) -> tuple[Any, Any, Any]:
        """With the learned key and value, and the one of zeros, behind; no mask leaves them out."""
        more = 0
        if self.bias_k is not None:
            ones = np.ones((k.shape[0], 1, 1), k.dtype)
            k = np.concatenate([k, ones * self.bias_k], axis=1)
            v = np.concatenate([v, ones * self.bias_v], axis=1)
            more += 1
        if self.add_zero_attn:
            nothing = np.zeros((k.shape[0], 1, self.embed_dim), k.dtype)
            k, v = np.concatenate([k, nothing], axis=1), np.concatenate([v, nothing], axis=1)
            more += 1
        if more and added is not None:
            added = np.concatenate([added, np.zeros((*added.shape[:-1], more), added.dtype)], axis=-1)
        return k, v, added

    def extra_repr(self) -> str:
        return ""


def _as_numbers(mask: Any, dtype: Any) -> Any:
    """A boolean mask leaves out where it is true."""
    return np.where(mask, -np.inf, np.zeros((), dtype)).astype(dtype) if mask.dtype.kind == "b" else mask
