"""What an exported graph is to its caller: the meaning of each input and output."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from jitmagic.errors import UserError

__all__ = ["BackwardSignature", "ExportError", "GraphSignature"]


class ExportError(UserError, RuntimeError):
    """The code cannot be exported; the message says what is in the way, with what was found about the code."""


@dataclass(frozen=True, slots=True)
class BackwardSignature:
    """Of a joint graph: which outputs are gradients, of what, and which output is the loss."""

    gradients_to_parameters: dict[str, str]
    gradients_to_user_inputs: dict[str, str]
    loss_output: str


@dataclass(frozen=True, slots=True)
class GraphSignature:
    """``inputs_to_...`` map names of the graph's inputs to names in the module, ``buffers_to_mutate`` its outputs.

    ``in_spec`` and ``out_spec`` are the structures of the user's inputs and outputs.
    """

    parameters: list[str]
    buffers: list[str]
    user_inputs: list[str]
    user_outputs: list[str]
    inputs_to_parameters: dict[str, str]
    inputs_to_buffers: dict[str, str]
    buffers_to_mutate: dict[str, str]
    in_spec: Any
    out_spec: Any
    backward_signature: BackwardSignature | None = None
