"""Long runs of mixed traffic, which nothing may be left of: `nox -s soak`."""
