"""The stand-in engine behind ``gamekit simulate``: real routes, exact and known timing."""
