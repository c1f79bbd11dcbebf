"""Pure models of what work costs: tariffs, carbon and money."""
