"""Takes NumPy code, gives its derivatives, without the compiler."""
