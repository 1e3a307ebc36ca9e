"""The pytest plugin behind `groupproof_pytest`: cases as items, and fixtures for users' own tests."""
