"""Policies: serve which arm, or admit a new one."""

from imabo.policies.base import Decision, Expand, Policy, Rounds, Serve
from imabo.policies.imoss import IMOSS
from imabo.policies.informed import Informed
from imabo.policies.qrm2 import QRM2
from imabo.policies.ucbair import UCBAIR

__all__ = ["IMOSS", "QRM2", "UCBAIR", "Decision", "Expand", "Informed", "Policy", "Rounds", "Serve"]
