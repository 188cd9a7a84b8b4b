"""Takes a cell, gives an ordinary cell whose functions are compiled, with a card under it (wiring only)."""
