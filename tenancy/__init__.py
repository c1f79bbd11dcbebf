"""Who may do what: tenants, memberships, tokens, rights, row-level security and the audit."""
