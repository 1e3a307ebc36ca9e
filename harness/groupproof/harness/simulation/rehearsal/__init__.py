"""Rehearsals: the settings of an application through exercises in virtual time, with what they cost and which setting costs less."""
