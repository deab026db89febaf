"""Compiled kernels: plain arrays in, plain arrays out. They assume valid input."""
