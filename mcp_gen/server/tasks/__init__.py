"""Tools that run as tasks: calls whose results are fetched later."""
