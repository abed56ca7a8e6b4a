"""The oneflow front: placements, signatures and global tensors."""

from .test_oneflow import run


def test_placements_signatures_and_global_tensors():
    found = run("""
        print(flow.placement("cpu", [0]), flow.placement(type="cpu", ranks=[[0]]).shape)
        print(flow.sbp.split(0), flow.sbp.split(dim=1), flow.sbp.split(axis=1) is flow.sbp.split(1))
        print(flow.sbp.broadcast, flow.sbp.broadcast() is flow.sbp.broadcast, flow.sbp.partial_sum)
        print(isinstance(flow.sbp.split(0), flow.sbp.sbp))
        import lamella as lm
        lm.distributed.init_process_group()
        x = lm.asarray(np.arange(6.0).reshape(2, 3))
        y = x.to_global(placement=flow.placement("cpu", [0]), sbp=flow.sbp.split(0))
        whole = y.to_global(sbp=flow.sbp.broadcast)
        print(y.is_global, y.shape, y.sbp, (y * 2).sum().item(), whole.to_local().tolist())
        for wrong in (lambda: flow.sbp.split(), lambda: flow.sbp.split(0, axis=1), lambda: flow.sbp.nothing):
            try:
                wrong()
            except (TypeError, AttributeError) as error:
                print(type(error).__name__, error)
    """)
    assert found.splitlines() == [
        "lamella.placement(type='cpu', ranks=[0]) (1, 1)",
        "lamella.sbp.split(axis=0) lamella.sbp.split(axis=1) True",
        "lamella.sbp.broadcast True lamella.sbp.partial_sum",
        "True",
        "True (2, 3) (lamella.sbp.split(axis=0),) 30.0 [[0.0, 1.0, 2.0], [3.0, 4.0, 5.0]]",
        "TypeError [sbp.split] takes one axis: split(0)",
        "TypeError [sbp.split] takes one axis: split(0)",
        "AttributeError Lamella's oneflow front does not have 'oneflow.sbp.nothing'",
    ]
