"""Parsers that call libraries written in C and C++; they run in a process of their own, ``python -m saltmine.parsers``.

A damaged file can make such a library crash, loop for ever or fill the memory. In a process of its own this becomes one
sentence of error. `saltmine.io.parser_process` starts the process and takes what it sends: plain numbers and text.

Modules here are imported by that process at every start, so they import little.
"""
