"""A simulated accelerator: importing this brings the devices "npu:0" and "npu:1"."""

from pathlib import Path

import lamella as lm

lm.ops.load_library(str(Path(__file__).parent / "_C.so"))
lm.utils.generate_methods_for_privateuse1_backend()
npu = lm.utils.register_device_module("npu")
