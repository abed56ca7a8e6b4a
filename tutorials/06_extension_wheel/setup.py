from setuptools import find_packages, setup

from lamella.utils.cpp_extension import BuildExtension, CppExtension

setup(
    name="custom_ops",
    version="1.0",
    packages=find_packages(include=["custom_ops"]),
    install_requires=["lamella"],
    ext_modules=[CppExtension("custom_ops._C", ["csrc/hypot.cpp", "csrc/register.cpp"])],
    cmdclass={"build_ext": BuildExtension},
)
