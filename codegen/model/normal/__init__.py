"""Steps of normalising a schema: reading by the table of keywords, rows, folding, values, unions.

Imported by: model.
"""
