from __future__ import annotations

from groupproof.protocol.rules.setting_values import as_text, listed


def test_a_value_has_one_form_however_it_was_written() -> None:
    assert {as_text(item) for item in ("classic,consumer", "Classic, CONSUMER")} == {"classic,consumer"}
    assert [as_text(item) for item in (True, "true", 1, "1", False, "FALSE", 0)] == ["1", "1", "1", "1", "0", "0", "0"]


def test_a_list_has_the_items_between_its_commas_as_they_are_written() -> None:
    assert listed(" uniform, org.example.Mine ,") == ("uniform", "org.example.Mine")
    assert listed("") == ()
