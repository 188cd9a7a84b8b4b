"""``%%compile`` for NumPy cells: the same answer, faster, explained in the cell."""
