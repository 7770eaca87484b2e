"""The demonstration: a simulated assistant, tuned live while its feedback comes late or never."""

from imabo.demo.running import run

__all__ = ["run"]
