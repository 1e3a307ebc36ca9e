"""The offsets topic at any size: by Spark's own Kafka source to Parquet, to facts about groups, and to one page."""
