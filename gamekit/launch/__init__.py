"""Engines that gamekit starts itself: their command, their life, and what their log says."""
