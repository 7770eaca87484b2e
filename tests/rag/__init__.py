"""Tests of the example in examples/rag."""
