"""Takes arrays and parameters, gives modules with PyTorch's names; usable without the compiler."""

from jitmagic.nn import utils
from jitmagic.nn.activations import GELU, ReLU, Sigmoid, Softmax, Tanh
from jitmagic.nn.containers import ModuleDict, ModuleList, Sequential
from jitmagic.nn.dynamic import mark_dynamic_class
from jitmagic.nn.hooks import (
    RemovableHandle,
    register_module_forward_hook,
    register_module_forward_pre_hook,
    register_module_full_backward_hook,
    register_module_full_backward_pre_hook,
)
from jitmagic.nn.layers import Dropout, Embedding, Flatten, Identity, LayerNorm, Linear
from jitmagic.nn.lazy import LazyModuleMixin
from jitmagic.nn.managed import manage
from jitmagic.nn.module import Module
from jitmagic.nn.parameter import Parameter, UninitializedBuffer, UninitializedParameter
from jitmagic.nn.parameters import ParameterDict, ParameterList

__all__ = [
    "GELU",
    "Dropout",
    "Embedding",
    "Flatten",
    "Identity",
    "LayerNorm",
    "LazyModuleMixin",
    "Linear",
    "Module",
    "ModuleDict",
    "ModuleList",
    "Parameter",
    "ParameterDict",
    "ParameterList",
    "ReLU",
    "RemovableHandle",
    "Sequential",
    "Sigmoid",
    "Softmax",
    "Tanh",
    "UninitializedBuffer",
    "UninitializedParameter",
    "manage",
    "mark_dynamic_class",
    "register_module_forward_hook",
    "register_module_forward_pre_hook",
    "register_module_full_backward_hook",
    "register_module_full_backward_pre_hook",
    "utils",
]
