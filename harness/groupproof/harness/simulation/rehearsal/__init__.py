"""Rehearsals: an application's settings run through exercises in virtual time, with their cost and cheaper settings."""
