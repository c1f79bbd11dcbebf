"""How many agents one service bears, and how soon a submitted job starts."""
