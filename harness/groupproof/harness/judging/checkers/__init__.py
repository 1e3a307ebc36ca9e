"""The checkers: they process the observations of one case or one group in the order of `seq`, and can be stored between any two.

The state of a checker is bounded by members, partitions and open requests, never by rows. It is plain and can be pickled. The judges of every case,
of live groups, and of fleets on Spark all use these checkers.
"""
