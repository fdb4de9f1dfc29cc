"""Tests of the documents: templates, plan and pages."""
