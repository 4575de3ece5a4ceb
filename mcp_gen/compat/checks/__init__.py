"""Checks of the requirements: rules that read transcripts, and probes that ask."""
