"""Oracles: which configuration to admit next."""

from imabo.oracles.base import Exhausted, Oracle, Proposal
from imabo.oracles.gp import GP
from imabo.oracles.mixed import Mixed
from imabo.oracles.mutate import Mutate
from imabo.oracles.random import Random
from imabo.oracles.tabpfn import TabPFN
from imabo.oracles.tpe import TPE

__all__ = ["GP", "TPE", "Exhausted", "Mixed", "Mutate", "Oracle", "Proposal", "Random", "TabPFN"]
