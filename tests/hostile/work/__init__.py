"""Work and memory that a peer can cause: each limit at its value, above it and far above it."""
