"""The checkers as folds: they take the observations of one case, or of one group, one by one in the order of `seq`, and can be put away between any two.

What a fold knows is bounded by members, partitions and requests under way, never by rows; its state is plain and pickles. The judges of every case,
of what is seen live, and of fleets on Spark stand on the same folds.
"""
