"""What policies are made with: the round's scratch ledger, placement, power, reach."""
