"""A folder for PYTHONPATH: each process that a traced test starts records its lines."""
