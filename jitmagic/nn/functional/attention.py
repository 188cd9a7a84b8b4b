"""Scaled dot-product attention (Vaswani et al., 2017)."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from jitmagic.nn.functional.activations import softmax
from jitmagic.nn.functional.linear import dropout

__all__ = ["attention_weights", "scaled_dot_product_attention"]


def scaled_dot_product_attention(
    query: Any,
    key: Any,
    value: Any,
    attn_mask: Any = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    scale: float | None = None,
    *,
    rng: Any = None,
) -> Any:
    """(..., l, e), (..., s, e), (..., s, v) to (..., l, v).

    ``attn_mask`` (..., l, s) is added to the products, or if it is boolean says where attention may go. ``scale`` is
    ``1 / sqrt(e)`` unless given.
    """
    if is_causal:
        if attn_mask is not None:
            raise RuntimeError("attn_mask and is_causal cannot both be given")
        attn_mask = np.tril(np.ones((query.shape[-2], key.shape[-2]), np.bool_))
    weights = attention_weights(query, key, _added(attn_mask, query.dtype), scale)
    return dropout(weights, dropout_p, rng=rng) @ value


def _added(mask: Any, dtype: Any) -> Any:
    """A mask to add: a boolean one allows where it is true."""
    if mask is None or mask.dtype.kind != "b":
        return mask
    return np.where(mask, np.zeros((), dtype), -np.inf).astype(dtype)


def attention_weights(query: Any, key: Any, added: Any = None, scale: float | None = None) -> Any:
    """The softmax of the scaled products: (..., l, s)."""
    factor = 1.0 / math.sqrt(query.shape[-1]) if scale is None else scale
    products = (query * factor) @ np.swapaxes(key, -1, -2)
    return softmax(products if added is None else products + added, -1)
