"""Rows of the comparison, one module for each kind; each yields `Row`s."""
