"""Arguments and results of several kinds of classes."""

from dataclasses import dataclass
from datetime import date
from enum import Enum
from pathlib import Path
from typing import Annotated

import attrs
from mcp_gen import Server
from pydantic import BaseModel, Field

server = Server("office", "1.0.0")


class Size(Enum):
    SMALL = "s"
    LARGE = "l"


class Room(BaseModel):
    name: str
    seats: int = Field(ge=1, description="Number of seats")


@attrs.define
class Booking:
    room: Room
    day: date
    size: Size = Size.SMALL


@dataclass
class Receipt:
    saved_as: Path
    bookings: list[Booking]


@server.tool
def book(bookings: list[Booking], folder: Annotated[Path, "Where the receipt goes"]) -> Receipt:
    """Book some rooms."""
    return Receipt(folder / f"{bookings[0].day}.txt", bookings)


if __name__ == "__main__":
    server.run("stdio")
