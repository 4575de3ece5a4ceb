"""CodegenError, the error type of the generator, and the collected stops of a run."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from codegen.printable import printable


class CodegenError(Exception):
    """The generator cannot continue; the message names the place and the remedy."""


@dataclass(frozen=True)
class Stop:
    """One construct that the generator does not turn into types."""

    where: str
    """The revision, or the extension."""
    pointer: str
    """JSON pointer into the published schema, as `#/$defs/Tool/properties/name`."""
    construct: str
    """The construct that stands there."""
    advice: str
    """The remedy."""
    row: str = ""
    """Row of the overlay to paste, in TOML; empty where no row helps."""

    def __str__(self) -> str:
        if not self.pointer:  # of an error that is told together with stops
            return printable(self.where)
        return printable(f"{self.where}: {self.pointer}: {self.construct}; {self.advice}")


class Stopped(CodegenError):
    """One or more stops; the message has a line for each."""

    def __init__(self, *stops: Stop) -> None:
        super().__init__("\n".join(map(str, stops)))
        self.stops = stops


class Stops:
    """Collector of stops, so that one run reports all of them."""

    def __init__(self) -> None:
        self._found: dict[Stop, None] = {}

    def __iter__(self) -> Iterator[Stop]:
        return iter(self._found)

    def add(self, stops: Iterable[Stop]) -> None:
        """Add stops; each is kept once."""
        self._found.update(dict.fromkeys(stops))

    def collected(self) -> "_Collecting":
        """Return a context that collects the errors its block raises, and continues after it."""
        return _Collecting(self)

    def check(self) -> None:
        """Raise all stops that were collected.

        Raises:
            Stopped: there is at least one.
        """
        if self._found:
            raise Stopped(*self._found)


class _Collecting:
    def __init__(self, stops: Stops) -> None:
        self._stops = stops

    def __enter__(self) -> None:
        pass

    def __exit__(self, _kind: object, raised: BaseException | None, _trace: object) -> bool:
        if isinstance(raised, Stopped):
            self._stops.add(raised.stops)
        elif isinstance(raised, CodegenError):
            self._stops.add([Stop(str(raised), "", "", "")])
        else:
            return False
        return True
