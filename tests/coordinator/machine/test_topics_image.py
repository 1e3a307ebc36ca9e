from __future__ import annotations

from groupproof.coordinator.machine.topics_image import NO_TOPICS, TopicImage


def test_each_change_is_a_version_and_a_new_topic_one_of_the_names() -> None:
    first = NO_TOPICS.changed_to({"t": TopicImage("1", 2)})
    grown = first.changed_to({"t": TopicImage("1", 3)})
    remade = grown.changed_to({"t": TopicImage("2", 3)})

    assert [(image.version, image.names_version) for image in (first, grown, remade)] == [(1, 1), (2, 1), (3, 3)]


def test_what_changed_are_the_topics_that_came_went_or_grew() -> None:
    before = NO_TOPICS.changed_to({"t": TopicImage("1", 2), "u": TopicImage("2", 1), "same": TopicImage("3", 1)})
    after = before.changed_to({"t": TopicImage("1", 3), "new": TopicImage("4", 1), "same": TopicImage("3", 1)})

    assert after.changed_names(before) == {"t", "u", "new"}
