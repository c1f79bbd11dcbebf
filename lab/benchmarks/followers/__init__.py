"""Thousands who follow all jobs of a tenant."""
