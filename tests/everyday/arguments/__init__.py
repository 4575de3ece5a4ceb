"""Arguments that a tool or a prompt does not have."""
