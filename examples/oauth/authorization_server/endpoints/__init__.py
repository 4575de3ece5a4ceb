"""Endpoints of the example authorization server; each is a method that a subclass may replace."""
