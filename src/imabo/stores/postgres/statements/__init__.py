"""What the store says to PostgreSQL, each statement built once.

A write of any size is a fixed number of statements: its rows travel as arrays. Where several
tables change, they change in one statement, which saves the way there and back.
"""
