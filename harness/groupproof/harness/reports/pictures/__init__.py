"""Traces and figures as SVG."""
