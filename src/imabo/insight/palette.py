"""Colours of the traces: told apart by people who see colours differently, on light and dark."""

from __future__ import annotations

from typing import Final

# Okabe and Ito's set, without its black and its yellow, which vanish on dark and on light.
BLUE: Final = "#0072B2"
ORANGE: Final = "#E69F00"
GREEN: Final = "#009E73"
RED: Final = "#D55E00"
SKY: Final = "#56B4E9"
PINK: Final = "#CC79A7"
GREY: Final = "#8A8F98"
OLIVE: Final = "#A39B1E"
VIOLET: Final = "#7A6FD0"

SERIES: Final = (BLUE, ORANGE, GREEN, PINK, SKY, RED, OLIVE, VIOLET)
# For numbers: Viridis in even steps, also in grey, without its ends that vanish on dark and light.
SCALE: Final = ("#472C7A", "#3B518B", "#2C718E", "#21908D", "#27AD81", "#5CC863", "#AADC32")

ORIGINS: Final = {"warmup": SKY, "baseline": ORANGE, "oracle": BLUE, "manual": PINK}


def faint(colour: str, opacity: float = 0.2) -> str:
    """A colour to fill a band with."""
    red, green, blue = (int(colour[i : i + 2], 16) for i in (1, 3, 5))
    return f"rgba({red}, {green}, {blue}, {opacity:g})"


def of_place(place: int) -> str:
    """The colour of the value that came at a place: eight, then the same ones lighter."""
    colour = SERIES[place % len(SERIES)]
    if place // len(SERIES) % 2 == 0:
        return colour
    parts = (int(colour[i : i + 2], 16) for i in (1, 3, 5))
    return "#" + "".join(f"{(part + 255) // 2:02X}" for part in parts)
