"""HTTP endpoint of the reference server: requests, streams, sessions, header checks."""
