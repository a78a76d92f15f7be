"""Figures that read in light and dark, move without a server, and say what they show."""
