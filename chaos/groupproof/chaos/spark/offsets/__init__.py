"""The offsets topic at any size: from a cluster into files, by Spark to facts about groups, and to one page."""
