"""The devices that the tests use, built once."""

import pytest

from support import devices


@pytest.fixture(scope="session")
def npu(tmp_path_factory):
    """The folder in which sim_npu, the simulated accelerator of tutorial 07, is found."""
    return devices.build_tutorial(tmp_path_factory.mktemp("npu"))
