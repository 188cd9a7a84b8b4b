"""Whole programs, written and random ones, run compiled and plain."""
