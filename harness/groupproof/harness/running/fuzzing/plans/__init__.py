"""Random plans for a client, judged by what holds of any plan, and made small."""
