"""The choices of clients: the reference has the first of each."""

from __future__ import annotations

import re
import typing
from dataclasses import fields

from tests.project import ROOT

from groupproof.clients.member.epoch_policy import REFERENCE_EPOCHS, EpochPolicy


def test_the_reference_is_the_first_of_each_choice() -> None:
    hints = typing.get_type_hints(EpochPolicy)
    choices = {name: typing.get_args(hint) for name, hint in hints.items() if typing.get_args(hint)}
    assert len(choices) > 20
    assert {name: getattr(REFERENCE_EPOCHS, name) for name in choices} == {name: values[0] for name, values in choices.items()}


def test_every_choice_is_read_by_the_member() -> None:
    sources = "".join(
        file.read_text("utf-8") for room in ("member", "consumer", "shims") for file in (ROOT / "clients/groupproof/clients" / room).glob("**/*.py")
    )
    read = set(re.findall(r"\b(?:choices|epochs)\.(\w+)", sources))

    assert {choice.name for choice in fields(EpochPolicy)} - read == set()
