"""Takes arrays or Tensors, gives what layers compute from them: ``torch.nn.functional`` in NumPy."""

from jitmagic.nn.functional.activations import *  # noqa: F403 - the files list what they give
from jitmagic.nn.functional.attention import scaled_dot_product_attention
from jitmagic.nn.functional.convolution import *  # noqa: F403
from jitmagic.nn.functional.linear import *  # noqa: F403
from jitmagic.nn.functional.losses import *  # noqa: F403
from jitmagic.nn.functional.normalisation import *  # noqa: F403
from jitmagic.nn.functional.pooling import *  # noqa: F403

__all__ = ["scaled_dot_product_attention"]
