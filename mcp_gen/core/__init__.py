"""The protocol without I/O: frames, a connection's state, errors, projection."""
