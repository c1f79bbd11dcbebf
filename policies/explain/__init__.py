"""Why jobs wait: reasons, evidence and remedies."""
