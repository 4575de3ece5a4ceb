"""Subsumption of JSON Schemas: proves that each value of one schema is a value of another.

Imported by: contracts.
"""
