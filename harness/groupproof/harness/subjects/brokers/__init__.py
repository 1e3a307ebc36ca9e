"""Coordinators as subjects: Apache Kafka in its releases, other brokers, any address, and the kit's own cluster, behind one interface."""
