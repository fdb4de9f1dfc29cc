"""Tests of the strict YAML reader and writer."""
