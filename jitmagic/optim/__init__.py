"""Takes parameters and their gradients, gives optimisers that change the parameters; usable without the compiler."""

from jitmagic.optim import lr_scheduler
from jitmagic.optim.adagrad import Adagrad
from jitmagic.optim.adam import Adam, AdamW
from jitmagic.optim.optimizer import Optimizer
from jitmagic.optim.rmsprop import RMSprop
from jitmagic.optim.sgd import SGD

__all__ = ["SGD", "Adagrad", "Adam", "AdamW", "Optimizer", "RMSprop", "lr_scheduler"]
