"""Search spaces: parameters, conditions, P0, identity, and the unit cube with an activity mask."""

from imabo.space.base import Parameter
from imabo.space.choices import Choice
from imabo.space.floats import Float
from imabo.space.ints import Int
from imabo.space.scalars import Config, Scalar
from imabo.space.space import Space

__all__ = ["Choice", "Config", "Float", "Int", "Parameter", "Scalar", "Space"]
