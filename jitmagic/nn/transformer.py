"""Encoder layers of a transformer (Vaswani et al., 2017; normalised first: Xiong et al., 2020)."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import numpy as np

from jitmagic.nn import functional as F
from jitmagic.nn.attention import MultiheadAttention
from jitmagic.nn.containers import ModuleList
from jitmagic.nn.dropout import Dropout
from jitmagic.nn.linear import Linear
from jitmagic.nn.module import Module
from jitmagic.nn.normalisation import LayerNorm

__all__ = ["TransformerEncoder", "TransformerEncoderLayer"]

_ACTIVATIONS: dict[str, Callable[[Any], Any]] = {"relu": F.relu, "gelu": F.gelu}


class TransformerEncoderLayer(Module):
    """Attention of a sequence to itself, then two linear layers, each added to its input and normalised.

    (time, batch, d_model), batch first with ``batch_first``, or without the batch; the shape is kept. Masks are those
    of ``MultiheadAttention``.
    """

    def __init__(
        self,
        d_model: int,
        nhead: int,
        dim_feedforward: int = 2048,
        dropout: float = 0.1,
        activation: str | Callable[[Any], Any] = "relu",
        layer_norm_eps: float = 1e-5,
        batch_first: bool = False,
        norm_first: bool = False,
        bias: bool = True,
        *,
        dtype: Any = np.float64,
        rng: Any = None,
    ) -> None:
        super().__init__()
        if isinstance(activation, str) and activation not in _ACTIVATIONS:
            raise RuntimeError(f"activation should be relu/gelu, not {activation}")
        self.self_attn = MultiheadAttention(
            d_model, nhead, dropout, bias, batch_first=batch_first, dtype=dtype, rng=rng
        )
        self.linear1 = Linear(d_model, dim_feedforward, bias, dtype=dtype, rng=rng)
        self.dropout = Dropout(dropout, rng=rng)
        self.linear2 = Linear(dim_feedforward, d_model, bias, dtype=dtype, rng=rng)
        self.norm_first = norm_first
        self.norm1 = LayerNorm(d_model, layer_norm_eps, bias=bias, dtype=dtype)
        self.norm2 = LayerNorm(d_model, layer_norm_eps, bias=bias, dtype=dtype)
        self.dropout1 = Dropout(dropout, rng=rng)
        self.dropout2 = Dropout(dropout, rng=rng)
        self.activation = _ACTIVATIONS[activation] if isinstance(activation, str) else activation

    def forward(self, src: Any, src_mask: Any = None, src_key_padding_mask: Any = None, is_causal: bool = False) -> Any:
        if self.norm_first:
            x = src + self._attended(self.norm1(src), src_mask, src_key_padding_mask)
            return x + self._fed(self.norm2(x))
        x = self.norm1(src + self._attended(src, src_mask, src_key_padding_mask))
        return self.norm2(x + self._fed(x))

    def _attended(self, x: Any, mask: Any, padding: Any) -> Any:
        found, _ = self.self_attn(x, x, x, padding, False, mask)
        return self.dropout1(found)

    def _fed(self, x: Any) -> Any:
        return self.dropout2(self.linear2(self.dropout(self.activation(self.linear1(x)))))


class TransformerEncoder(Module):
    """``num_layers`` copies of a layer, one after the other, and ``norm`` at the end if given."""

    def __init__(self, encoder_layer: Module, num_layers: int, norm: Module | None = None) -> None:
        super().__init__()
        self.layers = ModuleList([copy.deepcopy(encoder_layer) for _ in range(num_layers)])
        self.num_layers = num_layers
        self.norm = norm

    def forward(self, src: Any, mask: Any = None, src_key_padding_mask: Any = None, is_causal: bool = False) -> Any:
        output = src
        for layer in self.layers:
            output = layer(output, mask, src_key_padding_mask)
        return output if self.norm is None else self.norm(output)
