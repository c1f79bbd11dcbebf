"""What a site's last month would have cost under other policies, from its own accounting."""
