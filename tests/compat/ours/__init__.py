"""Our own servers and clients in the eyes of the doctor: nothing is found."""
