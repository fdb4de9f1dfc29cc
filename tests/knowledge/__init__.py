"""Tests of what is derived from the findings, with the small bases they are made from."""
