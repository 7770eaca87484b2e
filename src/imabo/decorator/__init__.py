"""``@tuned``: a function whose arguments a study chooses, call by call."""

from imabo.decorator.calls import TunedCall
from imabo.decorator.streams import AsyncTunedStream, TunedStream
from imabo.decorator.tuned import Tuned, tuned

__all__ = ["AsyncTunedStream", "Tuned", "TunedCall", "TunedStream", "tuned"]
