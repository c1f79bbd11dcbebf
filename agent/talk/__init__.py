"""The conversation with the service: who this node is, what it sends, how answers are taken."""
