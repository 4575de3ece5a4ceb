"""Tasks of real servers, over the transports, with every frame checked."""

from __future__ import annotations
