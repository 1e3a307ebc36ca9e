"""The one thing that is done outside the toy's folder: it is registered, for as long as a test takes."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from tests.harness.toy_dialect.lease_functions import LEASE_FUNCTIONS
from tests.harness.toy_dialect.lease_histories import LEASE_HISTORIES
from tests.harness.toy_dialect.lease_judging import LEASE_CHECKERS, LEASE_READER
from tests.harness.toy_dialect.lease_simulation import LEASE_SIMULATION

from groupproof.harness.model.dialect_parts import registered


@pytest.fixture(autouse=True)
def lease() -> Iterator[None]:
    with registered(LEASE_FUNCTIONS, LEASE_READER, LEASE_CHECKERS, LEASE_SIMULATION, LEASE_HISTORIES):
        yield
