"""Set-up of all tests."""

import pytest

pytest.register_assert_rewrite("holdfast.testing")
