"""Attacks on authorization, each with a twin that differs only in being allowed."""
