"""What is correct, as data: the requirement catalogue and the tables of states, inputs and answers."""

__all__: list[str] = []
