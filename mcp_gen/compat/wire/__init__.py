"""The client's end of a connection, on which anything can be sent: lines, memory, HTTP."""
