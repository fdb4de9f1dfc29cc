"""Tests of the conclusions drawn from the knowledge."""
