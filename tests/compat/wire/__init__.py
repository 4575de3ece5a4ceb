"""Tests of wires, transcripts and endpoints of the doctor."""
