"""Tests of the command line and of what surrounds the package."""
