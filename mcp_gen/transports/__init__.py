"""Transports: how whole messages move. Each is a duplex or an exchange of `core.transport`."""
