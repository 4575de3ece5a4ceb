"""Steps of a call: the microseconds that each module takes, from bytes in to bytes out."""
