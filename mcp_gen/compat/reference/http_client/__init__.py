"""HTTP side of the reference client: headers of its messages, resumption of streams."""
