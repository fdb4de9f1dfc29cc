"""Tests of the findings that this repository holds.

Facts, figures and verdicts are typed in here from the texts, not read from the findings.
"""
