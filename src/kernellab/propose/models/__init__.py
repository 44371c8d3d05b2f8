"""Language models behind one protocol: clients, budget, journal, replay."""

from kernellab.propose.models.accounts import Account, Budget, Estimate, Spent
from kernellab.propose.models.base import NEVER, Cancel, Message, Model, ModelFault, Reply, Request, Usage
from kernellab.propose.models.client import Limits
from kernellab.propose.models.journal import Journal
from kernellab.propose.models.opening import open_model
from kernellab.propose.models.prices import Price, Prices, load_prices
from kernellab.propose.models.recorded import Recorded
from kernellab.propose.models.replay import ReplayModel
from kernellab.propose.models.retry import Policy

__all__ = [
    "NEVER", "Account", "Budget", "Cancel", "Estimate", "Journal", "Limits", "Message", "Model", "ModelFault",
    "Policy", "Price", "Prices", "Recorded", "ReplayModel", "Reply", "Request", "Spent", "Usage",
    "load_prices", "open_model",
]  # fmt: skip
