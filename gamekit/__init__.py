"""gamekit: a knowledge base of measured findings, and the documents derived from it."""

__version__ = "0.1.0"
