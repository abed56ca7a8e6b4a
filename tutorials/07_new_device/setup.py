from setuptools import setup

from lamella.utils.cpp_extension import BuildExtension, CppExtension

setup(
    ext_modules=[
        CppExtension(
            "sim_npu._C",
            ["csrc/simulator.cpp", "csrc/device.cpp", "csrc/kernels.cpp", "csrc/my_op.cpp"],
        )
    ],
    cmdclass={"build_ext": BuildExtension.with_options(no_python_abi_suffix=True)},
)
