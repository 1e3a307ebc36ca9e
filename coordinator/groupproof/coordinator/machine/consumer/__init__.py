"""The functions of the `consumer` dialect (KIP-848): its group and members, its steps towards the target, its guards, effects and answers."""
