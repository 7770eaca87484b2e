"""Overhead of the gateway, against a bare pass-through, as ratios of one run."""
