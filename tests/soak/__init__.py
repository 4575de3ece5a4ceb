"""Long runs of mixed traffic, which must leave nothing behind: `nox -s soak`."""
