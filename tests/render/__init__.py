"""Tests of the rendered documents."""
