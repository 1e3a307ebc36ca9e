"""The functions of the `consumer` dialect (KIP-848): its group and members, reconciliation, guards, effects and answers."""
