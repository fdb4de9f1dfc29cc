"""Imports of what other tools measured: one module a format, and what is recorded of a file."""
