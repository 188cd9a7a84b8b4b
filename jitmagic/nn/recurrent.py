"""Recurrent layers: RNN (Elman, 1990), LSTM (Hochreiter and Schmidhuber, 1997), GRU (Cho et al., 2014)."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from jitmagic.nn import functional as F
from jitmagic.nn.module import Module
from jitmagic.nn.starting import draw, empty, start

__all__ = ["GRU", "LSTM", "RNN", "GRUCell", "LSTMCell", "RNNCell"]


def _rnn_step(gates: Any, h: Any, w: Any, b: Any, nonlinearity: str) -> Any:
    total = gates + h @ w.T
    if b is not None:
        total = total + b
    return np.tanh(total) if nonlinearity == "tanh" else F.relu(total)


def _lstm_step(gates: Any, h: Any, c: Any, w: Any, b: Any) -> tuple[Any, Any]:
    """Gates in PyTorch's order: input, forget, cell, output."""
    total = gates + h @ w.T
    if b is not None:
        total = total + b
    size = c.shape[-1]
    inner, forget = F.sigmoid(total[..., :size]), F.sigmoid(total[..., size : 2 * size])
    cell, outer = np.tanh(total[..., 2 * size : 3 * size]), F.sigmoid(total[..., 3 * size :])
    c = forget * c + inner * cell
    return outer * np.tanh(c), c


def _gru_step(gates: Any, h: Any, w: Any, b: Any) -> Any:
    """Gates in PyTorch's order: reset, update, new."""
    own = h @ w.T
    if b is not None:
        own = own + b
    size = h.shape[-1]
    reset = F.sigmoid(gates[..., :size] + own[..., :size])
    update = F.sigmoid(gates[..., size : 2 * size] + own[..., size : 2 * size])
    new = np.tanh(gates[..., 2 * size :] + reset * own[..., 2 * size :])
    return new + update * (h - new)


_USUAL = (
    ("proj_size", 0),
    ("num_layers", 1),
    ("bias", True),
    ("batch_first", False),
    ("dropout", 0.0),
    ("bidirectional", False),
)


class _Recurrent(Module):
    """Weights of all layers and directions, under PyTorch's names; ``gates`` rows of ``hidden_size`` each."""

    gates: ClassVar[int]

    def _set(
        self, input_size: int, hidden_size: int, num_layers: int, bias: bool, batch_first: bool, dropout: float,
        bidirectional: bool, proj_size: int, dtype: Any, rng: Any,
    ) -> None:  # fmt: skip
        if hidden_size <= 0 or num_layers <= 0:
            raise ValueError("hidden_size and num_layers must be greater than zero")
        if not 0.0 <= dropout <= 1.0:
            raise ValueError("dropout should be a number in range [0, 1]")
        if proj_size >= hidden_size:
            raise ValueError("proj_size has to be smaller than hidden_size")
        self.input_size = input_size
        self.hidden_size = hidden_size
        self.num_layers = num_layers
        self.bias = bias
        self.batch_first = batch_first
        self.dropout = dropout
        self.bidirectional = bidirectional
        self.proj_size = proj_size
        self.rng = rng
        self.suffixes = ("", "_reverse") if bidirectional else ("",)
        rows = self.gates * hidden_size
        out = proj_size or hidden_size
        for layer in range(num_layers):
            width = input_size if layer == 0 else out * len(self.suffixes)
            for suffix in self.suffixes:
                shapes: dict[str, tuple[int, ...]] = {"weight_ih": (rows, width), "weight_hh": (rows, out)}
                if bias:
                    shapes |= {"bias_ih": (rows,), "bias_hh": (rows,)}
                if proj_size:
                    shapes["weight_hr"] = (proj_size, hidden_size)
                for name, shape in shapes.items():
                    setattr(self, f"{name}_l{layer}{suffix}", empty(shape, dtype))
        start(self, rng)

    def reset_parameters(self, rng: Any = None) -> None:
        """Draw new starting values, in place."""
        draw(self, self.hidden_size, rng)

    def flatten_parameters(self) -> None:
        """Does nothing: it is there for programs that call it."""

    @property
    def all_weights(self) -> list[list[Any]]:
        """The parameters of each layer and direction."""
        places = [f"_l{layer}{suffix}" for layer in range(self.num_layers) for suffix in self.suffixes]
        return [[p for name, p in self._parameters.items() if f"_l{name.partition('_l')[2]}" == at] for at in places]

    def _weight(self, name: str, place: str) -> Any:
        return getattr(self, f"{name}_l{place}") if self.bias or not name.startswith("bias") else None

    def _enter(self, input: Any, state: Any) -> tuple[Any, Any, bool]:
        """(time, batch, features), the first states, each (layers, batch, size), and whether there is a batch."""
        ndim = len(input.shape)
        if ndim not in (2, 3):
            raise ValueError(f"{type(self).__name__}: Expected input to be 2D or 3D, got {ndim}D instead")
        if input.shape[-1] != self.input_size:
            raise RuntimeError(f"input has {input.shape[-1]} features, and {self.input_size} are expected")
        has_batch = ndim == 3
        steps = input[:, None] if not has_batch else np.swapaxes(input, 0, 1) if self.batch_first else input
        if state is None:
            rows = self.num_layers * len(self.suffixes)
            states = tuple(np.zeros((rows, steps.shape[1], size), input.dtype) for size in self._state_sizes())
        else:
            given = state if isinstance(state, tuple) else (state,)
            states = given if has_batch else tuple(s[:, None] for s in given)
        return steps, states, has_batch

    def _state_sizes(self) -> tuple[int, ...]:
        return (self.hidden_size,)

    def _run(self, input: Any, state: Any) -> tuple[Any, tuple[Any, ...]]:
        steps, states, has_batch = self._enter(input, state)
        last: list[tuple[Any, ...]] = []
        for layer in range(self.num_layers):
            outputs = []
            for direction, suffix in enumerate(self.suffixes):
                first = tuple(s[layer * len(self.suffixes) + direction] for s in states)
                found, end = self._scan(steps, first, f"{layer}{suffix}", direction == 1)
                outputs.append(found)
                last.append(end)
            steps = outputs[0] if len(outputs) == 1 else np.concatenate(outputs, axis=-1)
            if layer + 1 < self.num_layers:
                steps = F.dropout(steps, self.dropout, self.training, rng=self.rng)
        ends = tuple(np.stack([end[i] for end in last]) for i in range(len(states)))
        if not has_batch:
            return steps[:, 0], tuple(e[:, 0] for e in ends)
        return (np.swapaxes(steps, 0, 1) if self.batch_first else steps), ends

    def _scan(self, steps: Any, state: tuple[Any, ...], place: str, backwards: bool) -> tuple[Any, tuple[Any, ...]]:
        """One layer in one direction: the products with the inputs of all times at once, then time by time."""
        gates = F.linear(steps, self._weight("weight_ih", place), self._weight("bias_ih", place))
        count = steps.shape[0]
        found = []
        for t in range(count):
            state = self._step(gates[count - 1 - t if backwards else t], state, place)
            found.append(state[0])
        if backwards:
            found = found[::-1]
        return np.stack(found), state

    def _step(self, gates: Any, state: tuple[Any, ...], place: str) -> tuple[Any, ...]:
        raise NotImplementedError

    def extra_repr(self) -> str:
        text = f"{self.input_size}, {self.hidden_size}"
        for name, usual in _USUAL:
            if getattr(self, name) != usual:
                text += f", {name}={getattr(self, name)}"
        return text


class RNN(_Recurrent):
    """``h = tanh(W_ih x + b_ih + W_hh h + b_hh)``, or with ReLU.

    (time, batch, input_size), batch first if ``batch_first``, or without the batch; gives the outputs of the last
    layer, (time, batch, directions * hidden_size), and the last states (num_layers * directions, batch, hidden_size).
    ``dropout`` acts between layers in training.
    """

    gates = 1

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        num_layers: int = 1,
        nonlinearity: str = "tanh",
        bias: bool = True,
        batch_first: bool = False,
        dropout: float = 0.0,
        bidirectional: bool = False,
        *,
        dtype: Any = np.float64,
        rng: Any = None,
    ) -> None:
        super().__init__()
        if nonlinearity not in ("tanh", "relu"):
            raise ValueError(f"Unknown nonlinearity '{nonlinearity}'. Select from 'tanh' or 'relu'.")
        self.nonlinearity = nonlinearity
        self._set(input_size, hidden_size, num_layers, bias, batch_first, dropout, bidirectional, 0, dtype, rng)

    def forward(self, input: Any, hx: Any = None) -> Any:
        output, (h,) = self._run(input, hx)
        return output, h

    def _step(self, gates: Any, state: tuple[Any, ...], place: str) -> tuple[Any, ...]:
        w, b = self._weight("weight_hh", place), self._weight("bias_hh", place)
        return (_rnn_step(gates, state[0], w, b, self.nonlinearity),)


class GRU(_Recurrent):
    """Gated recurrent units; shapes as ``RNN``."""

    gates = 3

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        num_layers: int = 1,
        bias: bool = True,
        batch_first: bool = False,
        dropout: float = 0.0,
        bidirectional: bool = False,
        *,
        dtype: Any = np.float64,
        rng: Any = None,
    ) -> None:
        super().__init__()
        self._set(input_size, hidden_size, num_layers, bias, batch_first, dropout, bidirectional, 0, dtype, rng)

    def forward(self, input: Any, hx: Any = None) -> Any:
        output, (h,) = self._run(input, hx)
        return output, h

    def _step(self, gates: Any, state: tuple[Any, ...], place: str) -> tuple[Any, ...]:
        return (_gru_step(gates, state[0], self._weight("weight_hh", place), self._weight("bias_hh", place)),)


class LSTM(_Recurrent):
    """Long short-term memory; shapes as ``RNN``, states are pairs ``(h, c)``.

    With ``proj_size`` the outputs and ``h`` have that size: they are multiplied by ``weight_hr``.
    """

    gates = 4

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        num_layers: int = 1,
        bias: bool = True,
        batch_first: bool = False,
        dropout: float = 0.0,
        bidirectional: bool = False,
        proj_size: int = 0,
        *,
        dtype: Any = np.float64,
        rng: Any = None,
    ) -> None:
        super().__init__()
        self._set(input_size, hidden_size, num_layers, bias, batch_first, dropout, bidirectional, proj_size, dtype, rng)

    def forward(self, input: Any, hx: Any = None) -> Any:
        return self._run(input, hx)

    def _state_sizes(self) -> tuple[int, ...]:
        return (self.proj_size or self.hidden_size, self.hidden_size)

    def _step(self, gates: Any, state: tuple[Any, ...], place: str) -> tuple[Any, ...]:
        w, b = self._weight("weight_hh", place), self._weight("bias_hh", place)
        h, c = _lstm_step(gates, state[0], state[1], w, b)
        return (h @ self._weight("weight_hr", place).T if self.proj_size else h), c


class _Cell(Module):
    """One step: ``weight_ih``, ``weight_hh``, ``bias_ih``, ``bias_hh``."""

    gates: ClassVar[int]
    weight_ih: Any
    weight_hh: Any
    bias_ih: Any
    bias_hh: Any

    def _set(self, input_size: int, hidden_size: int, bias: bool, dtype: Any, rng: Any) -> None:
        self.input_size = input_size
        self.hidden_size = hidden_size
        self.bias = bias
        rows = self.gates * hidden_size
        self.weight_ih = empty((rows, input_size), dtype)
        self.weight_hh = empty((rows, hidden_size), dtype)
        for name in ("bias_ih", "bias_hh"):
            self.register_parameter(name, empty((rows,), dtype) if bias else None)
        start(self, rng)

    def reset_parameters(self, rng: Any = None) -> None:
        """Draw new starting values, in place."""
        draw(self, self.hidden_size, rng)

    def _first(self, input: Any) -> Any:
        return np.zeros((*input.shape[:-1], self.hidden_size), input.dtype)

    def _of_input(self, input: Any) -> Any:
        return F.linear(input, self.weight_ih, self.bias_ih)

    def extra_repr(self) -> str:
        return f"{self.input_size}, {self.hidden_size}" + ("" if self.bias else ", bias=False")


class RNNCell(_Cell):
    """One step of ``RNN``: (batch, input_size) and (batch, hidden_size) to (batch, hidden_size)."""

    gates = 1

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        bias: bool = True,
        nonlinearity: str = "tanh",
        *,
        dtype: Any = np.float64,
        rng: Any = None,
    ) -> None:
        super().__init__()
        if nonlinearity not in ("tanh", "relu"):
            raise ValueError(f"Unknown nonlinearity: {nonlinearity}")
        self.nonlinearity = nonlinearity
        self._set(input_size, hidden_size, bias, dtype, rng)

    def forward(self, input: Any, hx: Any = None) -> Any:
        h = self._first(input) if hx is None else hx
        return _rnn_step(self._of_input(input), h, self.weight_hh, self.bias_hh, self.nonlinearity)


class GRUCell(_Cell):
    """One step of ``GRU``."""

    gates = 3

    def __init__(
        self, input_size: int, hidden_size: int, bias: bool = True, *, dtype: Any = np.float64, rng: Any = None
    ) -> None:
        super().__init__()
        self._set(input_size, hidden_size, bias, dtype, rng)

    def forward(self, input: Any, hx: Any = None) -> Any:
        h = self._first(input) if hx is None else hx
        return _gru_step(self._of_input(input), h, self.weight_hh, self.bias_hh)


class LSTMCell(_Cell):
    """One step of ``LSTM``: the state is a pair ``(h, c)``, and so is the result."""

    gates = 4

    def __init__(
        self, input_size: int, hidden_size: int, bias: bool = True, *, dtype: Any = np.float64, rng: Any = None
    ) -> None:
        super().__init__()
        self._set(input_size, hidden_size, bias, dtype, rng)

    def forward(self, input: Any, hx: Any = None) -> Any:
        h, c = (self._first(input), self._first(input)) if hx is None else hx
        return _lstm_step(self._of_input(input), h, c, self.weight_hh, self.bias_hh)
