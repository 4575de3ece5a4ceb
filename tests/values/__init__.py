"""Tests of types and values of users."""
