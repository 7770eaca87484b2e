"""Tests of the read models and of the figures drawn from them."""
