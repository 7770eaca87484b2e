"""What the tests of TabPFN share: weights that are made here."""

from .checkpoint import checkpoint as checkpoint
