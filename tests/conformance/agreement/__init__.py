"""Comparison of the official suite with the doctor: where both judge the same, they agree."""
