"""Self-test of what was generated: instances of a schema, judged by it and by both surfaces.

`python -m codegen --verify` runs it; the tests of the wire types use its parts.
"""
