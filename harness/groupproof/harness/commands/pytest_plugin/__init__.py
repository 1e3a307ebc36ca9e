"""The pytest plugin behind its front (`groupproof_pytest`): the cases as items, and fixtures for tests of one's own."""
