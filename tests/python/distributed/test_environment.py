"""The place of a process, from the variables of those who start it."""

from __future__ import annotations

import pytest

from lamella.distributed import _environment
from lamella.distributed._environment import Place


@pytest.mark.parametrize(
    ("environ", "expected"),
    [
        ({}, Place()),
        ({"RANK": "1"}, Place()),
        (
            {"RANK": "3", "WORLD_SIZE": "8", "LOCAL_RANK": "1", "LOCAL_WORLD_SIZE": "2"},
            Place(3, 8, 1, 2, "torchrun"),
        ),
        ({"RANK": "0", "WORLD_SIZE": "2"}, Place(0, 2, 0, None, "torchrun")),
        (
            {
                "OMPI_COMM_WORLD_RANK": "1",
                "OMPI_COMM_WORLD_SIZE": "2",
                "OMPI_COMM_WORLD_LOCAL_RANK": "1",
                "OMPI_COMM_WORLD_LOCAL_SIZE": "2",
            },
            Place(1, 2, 1, 2, "Open MPI"),
        ),
        ({"PMI_RANK": "2", "PMI_SIZE": "4", "MPI_LOCALRANKID": "0"}, Place(2, 4, 0, None, "PMI")),
        (
            {
                "SLURM_PROCID": "5",
                "SLURM_STEP_NUM_TASKS": "8",
                "SLURM_LOCALID": "1",
                "SLURM_STEP_TASKS_PER_NODE": "4(x2)",
            },
            Place(5, 8, 1, 4, "Slurm"),
        ),
        (
            {"SLURM_PROCID": "0", "SLURM_STEP_NUM_TASKS": "3", "SLURM_STEP_TASKS_PER_NODE": "2,1"},
            Place(0, 3, 0, None, "Slurm"),
        ),
        ({"SLURM_PROCID": "0", "SLURM_NTASKS": "8"}, Place()),
    ],
)
def test_place(environ: dict[str, str], expected: Place) -> None:
    assert _environment.place(environ) == expected


@pytest.mark.parametrize("environ", [{"RANK": "x", "WORLD_SIZE": "2"}, {"RANK": "2", "WORLD_SIZE": "2"}])
def test_a_place_that_makes_no_sense(environ: dict[str, str]) -> None:
    with pytest.raises(ValueError, match=r"\[init_process_group\] the environment has RANK="):
        _environment.place(environ)


def test_meeting_point(tmp_path) -> None:
    here, spread = Place(0, 2, 0, 2), Place(0, 4, 0, 2)
    session = {"PMIX_SERVER_TMPDIR": str(tmp_path)}
    named = {"MASTER_ADDR": "10.0.0.1", "MASTER_PORT": "2950"}
    assert _environment.meeting_point(here, {"LAMELLA_DISTRIBUTED_STORE": "file:///a", **named}) == "file:///a"
    assert _environment.meeting_point(here, {**session, **named}) == "http://10.0.0.1:2950"
    assert _environment.meeting_point(here, {**named, "MASTER_ADDR": "fd00::1"}) == "http://[fd00::1]:2950"
    assert _environment.meeting_point(here, session) == f"file://{tmp_path}/lamella"
    step = {"SLURM_JOB_ID": "7", "SLURM_STEP_ID": "2", "SLURM_STEP_NODELIST": "node[07-12,15]-a,other3"}
    slurm = Place(0, 4, 0, 2, "Slurm")
    assert _environment.meeting_point(Place(0, 2, 0, 2, "Slurm"), step) == "http://127.0.0.1:20219"
    assert _environment.meeting_point(slurm, step) == "http://node07-a:20219"
    assert _environment.meeting_point(slurm, {**step, "SLURM_STEP_NODELIST": "n1,n2"}) == "http://n1:20219"
    assert _environment.meeting_point(slurm, {**step, **named}) == "http://10.0.0.1:2950"
    with pytest.raises(RuntimeError, match="Slurm names no machines"):
        _environment.meeting_point(slurm, {**step, "SLURM_STEP_NODELIST": ""})
    # The port is that of torchrun itself: its folder for the attempt, or the next port.
    agent = {**named, "TORCHELASTIC_USE_AGENT_STORE": "True", "TORCHELASTIC_ERROR_FILE": f"{tmp_path}/0/error.json"}
    assert _environment.meeting_point(here, agent) == f"file://{tmp_path}/lamella"
    assert _environment.meeting_point(spread, agent) == "http://10.0.0.1:2951"
    assert _environment.meeting_point(here, {**agent, "TORCHELASTIC_ERROR_FILE": ""}) == "http://10.0.0.1:2951"
    assert _environment.meeting_point(here, {**agent, "TORCHELASTIC_USE_AGENT_STORE": ""}) == "http://10.0.0.1:2950"
    with pytest.raises(RuntimeError, match="4 processes have no place to meet"):
        _environment.meeting_point(spread, session)
