"""Report on a peer: the data, and its forms for people and programs."""
