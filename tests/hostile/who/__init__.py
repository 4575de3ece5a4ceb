"""Who may: addresses, secrets, environments, paths and error texts."""
