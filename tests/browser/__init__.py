"""Tests of pages in a browser: `nox -s browser`."""
