"""Kinds of types and values, in every place where a type or a value can stand."""
