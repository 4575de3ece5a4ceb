"""A prompt of several messages, and completion of its argument."""

from collections.abc import Mapping
from typing import Any

from mcp_gen import Server, assistant, user

server = Server("travel", "1.0.0")
CITIES = {"Norway": ["Bergen", "Oslo"], "Peru": ["Cusco", "Lima"]}


@server.prompt(title="Plan a trip")
def trip(country: str, city: str, days: int = 3) -> list[Any]:
    """Plan a trip to a city."""
    return [
        user(f"I am going to {city} in {country} for {days} days."),
        assistant("What do you like?"),
        user("Museums."),
    ]


@server.completion("trip", "country")
def countries(value: str) -> list[str]:
    return [name for name in CITIES if name.startswith(value)]


@server.completion("trip", "city")
def cities(value: str, arguments: Mapping[str, str]) -> list[str]:
    """Suggest the cities of the country that is already chosen."""
    known = CITIES.get(arguments.get("country", ""), [])
    return [city for city in known if city.startswith(value)]


if __name__ == "__main__":
    server.run("stdio")
