"""The native entry: takes the entries of a frame, gives a builtin that checks their guards in compiled code.

One piece of compiled code serves every frame: what it checks stands in a table of words, so a new entry costs no
compiler run. Whatever the table cannot express is left to the generated Python of ``runtime.dispatch``.
"""
