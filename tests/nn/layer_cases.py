"""Every layer with settings and inputs, under the names that PyTorch's layer and its arguments have too."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from jitmagic import nn

__all__ = ["CASES", "Case", "made"]

Shape = tuple[int, ...]


@dataclass(frozen=True)
class Case:
    """``nn.<layer>(*args, **kwargs)`` called with arrays of ``shapes``, and with what ``more`` gives."""

    layer: str
    args: tuple[Any, ...]
    shapes: tuple[Shape, ...]
    kwargs: dict[str, Any] = field(default_factory=dict)
    more: Callable[[Any], dict[str, Any]] | None = None  # other arguments by name, from a generator
    takes_dtype: bool = True  # whether the layer has parameters
    make: Callable[[Any, Shape], Any] = lambda rng, shape: rng.normal(size=shape)

    @property
    def name(self) -> str:
        settings = ",".join([*map(repr, self.args), *(f"{k}={v!r}" for k, v in self.kwargs.items())])
        return f"{self.layer}({settings}){'x'.join(map(str, self.shapes[0]))}{'+' * (self.more is not None)}"

    def inputs(self, dtype: Any = np.float64) -> tuple[list[Any], dict[str, Any]]:
        """Positional arrays, and arguments by name."""
        rng = np.random.default_rng(11)
        arrays = [self.make(rng, shape).astype(dtype) for shape in self.shapes]
        named = self.more(rng) if self.more else {}
        return arrays, {k: _cast(v, dtype) for k, v in named.items()}


def _cast(value: Any, dtype: Any) -> Any:
    if isinstance(value, tuple):
        return tuple(_cast(v, dtype) for v in value)
    return value.astype(dtype) if isinstance(value, np.ndarray) and value.dtype.kind == "f" else value


def made(case: Case, dtype: Any = np.float64) -> Any:
    """The layer with random parameters, so that starting values of 0 and 1 hide nothing."""
    kwargs = dict(case.kwargs, dtype=dtype) if case.takes_dtype else dict(case.kwargs)
    kwargs = {k: _cast(v, dtype) for k, v in kwargs.items()}
    layer = getattr(nn, case.layer)(*_cast(case.args, dtype), **kwargs)
    rng = np.random.default_rng(12)
    for parameter in layer.parameters():
        parameter[...] = rng.normal(size=parameter.shape) * 0.5
    return layer


def plain(layer: str, *args: Any, shapes: tuple[Shape, ...] = ((3, 4, 5),), **kwargs: Any) -> Case:
    return Case(layer, args, shapes, kwargs, takes_dtype=False)


def of(layer: str, *args: Any, shapes: tuple[Shape, ...], more: Any = None, **kwargs: Any) -> Case:
    return Case(layer, args, shapes, kwargs, more)


def positive(rng: Any, shape: Shape) -> Any:
    return rng.uniform(0.1, 0.9, shape)


def _classes(shape: Shape, count: int, ignored: bool = False) -> Callable[[Any], dict[str, Any]]:
    def more(rng: Any) -> dict[str, Any]:
        target = rng.integers(0, count, shape)
        if ignored:
            target.flat[0] = -100
        return {"target": target}

    return more


def _target(shape: Shape, make: Callable[[Any, Shape], Any] = positive, name: str = "target") -> Any:
    return lambda rng: {name: make(rng, shape)}


def _signs(rng: Any, shape: Shape) -> Any:
    return rng.choice([-1.0, 1.0], shape)


def loss(layer: str, *args: Any, shapes: tuple[Shape, ...], more: Any, make: Any = None, **kwargs: Any) -> Case:
    extra = {} if make is None else {"make": make}
    return Case(layer, args, shapes, kwargs, more, takes_dtype=False, **extra)


ACTIVATIONS = [
    *(plain(name) for name in (
        "ReLU", "ReLU6", "Tanh", "Sigmoid", "SiLU", "Mish", "SELU", "Hardsigmoid", "Hardswish", "LogSigmoid",
        "Softsign", "Tanhshrink", "GELU", "LeakyReLU", "ELU", "CELU", "Hardtanh", "Softplus", "Hardshrink",
        "Softshrink", "Identity",
    )),
    plain("GELU", approximate="tanh"),
    plain("LeakyReLU", 0.3),
    plain("ELU", 0.7),
    plain("CELU", 0.7),
    plain("Hardtanh", -0.5, 0.25),
    plain("Softplus", 2.0, 1.0),
    plain("Threshold", 0.1, 20.0),
    plain("Hardshrink", 0.2),
    plain("Softshrink", 0.2),
    plain("GLU", 1),
    *(plain(name, axis) for name in ("Softmax", "Softmin", "LogSoftmax") for axis in (-1, 1)),
    plain("Softmax2d", shapes=((2, 3, 4, 5),)),
    of("PReLU", shapes=((3, 4, 5),)),
    of("PReLU", 4, shapes=((3, 4, 5),)),
]  # fmt: skip

SHAPES = [
    plain("Flatten"),
    plain("Flatten", 0, 1),
    plain("Unflatten", 1, (2, 2)),
    of("Linear", 5, 3, shapes=((3, 4, 5),)),
    of("Linear", 5, 3, shapes=((5,),), bias=False),
    of("Bilinear", 5, 4, 3, shapes=((2, 5), (2, 4))),
    of("Bilinear", 5, 4, 3, shapes=((2, 3, 5), (2, 3, 4)), bias=False),
]

CONVOLUTIONS = [
    of("Conv1d", 4, 6, 3, shapes=((2, 4, 9),)),
    of("Conv1d", 4, 6, 3, shapes=((4, 9),), stride=2, padding=1),
    of("Conv1d", 4, 6, 4, shapes=((2, 4, 9),), padding="same", dilation=2, groups=2),
    of("Conv2d", 4, 6, 3, shapes=((2, 4, 7, 8),)),
    of("Conv2d", 4, 6, (3, 2), shapes=((2, 4, 7, 8),), stride=(2, 1), padding=(1, 2), dilation=(1, 2), groups=2),
    of("Conv2d", 4, 4, 3, shapes=((4, 7, 8),), groups=4, bias=False),
    of("Conv2d", 4, 6, (2, 3), shapes=((2, 4, 7, 8),), padding="same"),
    of("Conv2d", 4, 6, 2, shapes=((2, 4, 7, 8),), padding="valid", stride=3),
    *(of("Conv2d", 2, 3, 3, shapes=((2, 2, 5, 6),), padding=(1, 2), padding_mode=mode)
      for mode in ("reflect", "replicate", "circular")),
    of("Conv1d", 2, 3, 3, shapes=((2, 2, 6),), padding=2, padding_mode="reflect"),
    of("ConvTranspose1d", 4, 6, 3, shapes=((2, 4, 5),)),
    of("ConvTranspose1d", 4, 6, 3, shapes=((4, 5),), stride=3, padding=1, output_padding=2, dilation=2, groups=2),
    of("ConvTranspose2d", 4, 6, 3, shapes=((2, 4, 5, 4),)),
    of("ConvTranspose1d", 4, 6, 3, shapes=((2, 4, 5),), padding=1, output_padding=1, dilation=2),
    of("ConvTranspose2d", 4, 6, (3, 2), shapes=((2, 4, 5, 4),), padding=1, output_padding=(2, 1), dilation=(3, 2)),
    of("ConvTranspose2d", 4, 6, (3, 2), shapes=((2, 4, 5, 4),), stride=2, padding=1, output_padding=(1, 0), bias=False),
    of("ConvTranspose2d", 4, 6, 3, shapes=((2, 4, 5, 4),), stride=2, groups=2,
       more=lambda rng: {"output_size": (12, 9)}),
]  # fmt: skip

POOLING = [
    *(plain(f"{kind}Pool1d", 3, shapes=((2, 3, 10),), **settings)
      for kind in ("Max", "Avg") for settings in ({}, {"stride": 2, "padding": 1}, {"stride": 2, "ceil_mode": True})),
    *(plain(f"{kind}Pool2d", (3, 2), shapes=((2, 3, 7, 9),), **settings)
      for kind in ("Max", "Avg")
      for settings in ({}, {"stride": 2, "padding": (1, 1)}, {"stride": (2, 3), "padding": 1, "ceil_mode": True})),
    plain("MaxPool2d", 2, shapes=((3, 8, 8),)),
    plain("MaxPool2d", 2, shapes=((2, 3, 8, 8),), dilation=2, stride=1),
    plain("AvgPool2d", 3, shapes=((2, 3, 7, 8),), padding=1, count_include_pad=False),
    plain("AvgPool2d", 3, shapes=((2, 3, 7, 8),), divisor_override=5),
    *(plain(f"Adaptive{kind}Pool1d", size, shapes=((2, 3, 10),)) for kind in ("Avg", "Max") for size in (1, 4, 5)),
    *(plain(f"Adaptive{kind}Pool2d", size, shapes=((2, 3, 6, 9),))
      for kind in ("Avg", "Max") for size in (1, (4, 3), (None, 4))),
]  # fmt: skip

NORMALISATION = [
    of("LayerNorm", 5, shapes=((3, 4, 5),)),
    of("LayerNorm", (4, 5), shapes=((3, 4, 5),), eps=1e-3),
    of("LayerNorm", 5, shapes=((3, 4, 5),), bias=False),
    of("LayerNorm", 5, shapes=((3, 4, 5),), elementwise_affine=False),
    of("RMSNorm", 5, shapes=((3, 4, 5),)),
    of("RMSNorm", (4, 5), shapes=((3, 4, 5),), eps=1e-3),
    of("GroupNorm", 2, 4, shapes=((3, 4, 5),)),
    of("GroupNorm", 4, 4, shapes=((3, 4, 5, 2),), affine=False),
    of("BatchNorm1d", 4, shapes=((5, 4),)),
    of("BatchNorm1d", 4, shapes=((3, 4, 5),), momentum=None),
    of("BatchNorm1d", 4, shapes=((3, 4, 5),), track_running_stats=False),
    of("BatchNorm2d", 4, shapes=((3, 4, 5, 2),), momentum=0.3, eps=1e-3),
    of("BatchNorm2d", 4, shapes=((3, 4, 5, 2),), affine=False),
    of("InstanceNorm1d", 4, shapes=((3, 4, 5),)),
    of("InstanceNorm2d", 4, shapes=((3, 4, 5, 2),), affine=True, track_running_stats=True),
    of("InstanceNorm2d", 4, shapes=((4, 5, 2),), affine=True),
]

RECURRENT = [
    *(of(name, 4, 3, shapes=((5, 2, 4),), **settings)
      for name in ("RNN", "GRU", "LSTM")
      for settings in ({}, {"num_layers": 2, "bidirectional": True}, {"batch_first": True, "bias": False})),
    of("RNN", 4, 3, shapes=((5, 2, 4),), nonlinearity="relu"),
    of("LSTM", 4, 3, shapes=((5, 2, 4),), proj_size=2, num_layers=2),
    of("GRU", 4, 3, shapes=((5, 4),)),
    of("GRU", 4, 3, shapes=((5, 2, 4),), more=lambda rng: {"hx": rng.normal(size=(1, 2, 3))}),
    of("LSTM", 4, 3, shapes=((5, 2, 4),),
       more=lambda rng: {"hx": (rng.normal(size=(1, 2, 3)), rng.normal(size=(1, 2, 3)))}),
    *(of(name, 4, 3, shapes=((2, 4),)) for name in ("RNNCell", "GRUCell", "LSTMCell")),
    of("GRUCell", 4, 3, shapes=((2, 4), (2, 3)), bias=False),
]  # fmt: skip


def _mask(rng: Any) -> dict[str, Any]:
    padding = np.zeros((2, 6), bool)
    padding[1, 4:] = True
    return {"key_padding_mask": padding, "attn_mask": np.triu(np.ones((5, 6), bool), 2)}


ATTENTION = [
    of("MultiheadAttention", 8, 2, shapes=((5, 2, 8), (6, 2, 8), (6, 2, 8))),
    of("MultiheadAttention", 8, 2, shapes=((5, 2, 8), (6, 2, 8), (6, 2, 8)), more=_mask),
    of("MultiheadAttention", 8, 2, shapes=((5, 2, 8), (6, 2, 8), (6, 2, 8)), add_bias_kv=True, add_zero_attn=True,
       more=_mask),
    of("MultiheadAttention", 8, 4, shapes=((2, 5, 8), (2, 6, 3), (2, 6, 7)), kdim=3, vdim=7, batch_first=True,
       bias=False, more=lambda rng: {"attn_mask": rng.normal(size=(8, 5, 6)), "average_attn_weights": False}),
    of("MultiheadAttention", 8, 2, shapes=((5, 8), (6, 8), (6, 8)), more=lambda rng: {"need_weights": False}),
    of("TransformerEncoderLayer", 8, 2, 12, 0.0, shapes=((5, 2, 8),)),
    of("TransformerEncoderLayer", 8, 2, 12, 0.0, shapes=((2, 5, 8),), batch_first=True, norm_first=True,
       activation="gelu", more=lambda rng: {"src_mask": np.triu(np.ones((5, 5), bool), 1)}),
]  # fmt: skip

LOSSES = [
    *(loss(name, shapes=((3, 4),), more=_target((3, 4)), reduction=word)
      for name in ("MSELoss", "L1Loss", "SmoothL1Loss", "HuberLoss") for word in ("mean", "sum", "none")),
    loss("SmoothL1Loss", shapes=((3, 4),), more=_target((3, 4)), beta=0.4),
    loss("HuberLoss", shapes=((3, 4),), more=_target((3, 4)), delta=0.4),
    *(loss("CrossEntropyLoss", shapes=((4, 3),), more=_classes((4,), 3, True), reduction=word, label_smoothing=smooth)
      for word in ("mean", "sum", "none") for smooth in (0.0, 0.2)),
    loss("CrossEntropyLoss", shapes=((3,),), more=_classes((), 3)),
    loss("CrossEntropyLoss", np.array([0.2, 1.0, 3.0]), shapes=((4, 3, 2, 2),), more=_classes((4, 2, 2), 3, True),
         label_smoothing=0.1),
    loss("CrossEntropyLoss", shapes=((4, 3),), more=_target((4, 3)), label_smoothing=0.1),
    loss("CrossEntropyLoss", np.array([0.2, 1.0, 3.0]), shapes=((4, 3, 2),), more=_target((4, 3, 2))),
    loss("NLLLoss", shapes=((4, 3),), more=_classes((4,), 3, True)),
    loss("NLLLoss", np.array([0.2, 1.0, 3.0]), shapes=((4, 3, 2),), more=_classes((4, 2), 3), reduction="none"),
    loss("BCELoss", shapes=((3, 4),), more=_target((3, 4)), make=positive),
    loss("BCELoss", np.array([0.2, 1.0, 3.0, 0.0]), shapes=((3, 4),), more=_target((3, 4)), make=positive),
    loss("BCEWithLogitsLoss", shapes=((3, 4),), more=_target((3, 4))),
    loss("BCEWithLogitsLoss", shapes=((3, 4),), more=_target((3, 4)), pos_weight=np.array([0.2, 1.0, 3.0, 2.0])),
    loss("KLDivLoss", reduction="batchmean", shapes=((3, 4),), more=_target((3, 4))),
    loss("KLDivLoss", reduction="sum", shapes=((3, 4),), more=_target((3, 4)), log_target=True),
    loss("PoissonNLLLoss", shapes=((3, 4),), more=_target((3, 4), lambda rng, s: rng.poisson(3, s) * 1.0), full=True),
    loss("PoissonNLLLoss", shapes=((3, 4),), more=_target((3, 4)), make=positive, log_input=False),
    loss("GaussianNLLLoss", shapes=((3, 4),), full=True,
         more=lambda rng: {"target": rng.normal(size=(3, 4)), "var": positive(rng, (3, 4))}),
    loss("HingeEmbeddingLoss", shapes=((3, 4),), more=_target((3, 4), _signs)),
    loss("MarginRankingLoss", 0.3, shapes=((5,), (5,)), more=_target((5,), _signs)),
    loss("SoftMarginLoss", shapes=((3, 4),), more=_target((3, 4), _signs)),
    loss("CosineEmbeddingLoss", 0.1, shapes=((5, 4), (5, 4)), more=_target((5,), _signs)),
    loss("TripletMarginLoss", shapes=((5, 4), (5, 4), (5, 4)), more=None),
    loss("TripletMarginLoss", 2.0, shapes=((5, 4), (5, 4), (5, 4)), more=None, swap=True),
]  # fmt: skip

CASES = [
    *ACTIVATIONS, *SHAPES, *CONVOLUTIONS, *POOLING, *NORMALISATION, *RECURRENT, *ATTENTION, *LOSSES,
]  # fmt: skip
