from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from groupproof.harness.judging.diagnosis.causes import Cause
from groupproof.harness.judging.diagnosis.reasons import reason_of

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = [pytest.mark.java, pytest.mark.slow]

ID = "m0-61a00cea-299b-43ac-a3d2-0522476960fa"
SAID = {
    f"Adding new member {ID} with group instance id None; client reason: not provided": (Cause.NEW_MEMBER, ID),
    f"removing member {ID} on LeaveGroup; client reason: the consumer is being closed": (Cause.CLOSED, ID),
    f"explicit `LeaveGroup` request for ({ID}) members.; client reason: consumer poll timeout has expired.": (Cause.POLL_INTERVAL, ID),
    f"removing member {ID} on heartbeat expiration": (Cause.HEARTBEAT_TIMEOUT, ID),
    f"removing [{ID}] on pending sync request expiration": (Cause.SYNC_TIMEOUT, ID),
    f"leader {ID} re-joining group; client reason: cached metadata has changed": (Cause.PARTITIONS, ID),
    f"Updating metadata for member {ID} during Stable; client reason: need to revoke partitions": (Cause.HANDOVER, ID),
    "freshly-loaded group is over capacity": (Cause.OVER_CAPACITY, None),
    "something that no release says": (Cause.UNREPORTED, None),
}


def test_reasons_mean_the_same_as_to_trace_explain(spark: SparkSession) -> None:
    from pyspark.sql import functions as f

    from groupproof.chaos.spark.analysis.cause_words import cause_of_reason, member_of_reason

    frame = spark.createDataFrame([(text,) for text in SAID], "said string")
    later = cause_of_reason(f.col("said"), is_initial=f.expr("false"))
    first = cause_of_reason(f.col("said"), is_initial=f.expr("true"))
    rows = frame.select("said", later.alias("cause"), first.alias("first"), member_of_reason(f.col("said")).alias("member")).collect()

    assert {row["said"]: (row["cause"], row["member"]) for row in rows} == {text: (cause.value, member) for text, (cause, member) in SAID.items()}
    assert {row["first"] for row in rows if row["cause"] in (Cause.NEW_MEMBER, Cause.UNREPORTED)} == {Cause.FIRST_MEMBER.value}
    for text, (_, member) in SAID.items():
        reason = reason_of(text)
        assert (None if reason is None else reason.member) in (member, None)
