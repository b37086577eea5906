"""Helpers of the package; no part of its interface."""
