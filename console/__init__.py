"""Pages for operators and tenants, over what the other rooms read and write."""
