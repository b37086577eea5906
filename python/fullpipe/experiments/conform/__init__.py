"""Conformance of controllers with RFCs and drafts, rule by rule."""

from fullpipe.experiments.conform.judging import RULES, Conformance, conform

__all__ = ["RULES", "Conformance", "conform"]
