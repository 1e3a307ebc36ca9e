"""Builds images from local files, where the official ones are not available."""
