"""Clients of the storm: they write frames themselves, at each revision; and the official SDK's."""
