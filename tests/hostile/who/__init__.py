"""Access and disclosure: addresses, secrets, environments, paths and error texts."""
