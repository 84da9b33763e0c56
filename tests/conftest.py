import os

import pytest
from hypothesis import settings

# Compiling is part of the first example, so a deadline would measure the compiler. The
# examples are the same in every run; `--hypothesis-seed` searches elsewhere.
settings.register_profile("parity", deadline=None, max_examples=60, derandomize=True)
settings.load_profile("parity")

os.environ.setdefault("JAX_PLATFORMS", "cpu")


@pytest.fixture(params=["eager", "compiled"])
def mode(request):
    """How a computation is run."""
    return request.param
