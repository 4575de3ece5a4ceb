"""The examination of a peer: connects, asks, checks, and reports."""
