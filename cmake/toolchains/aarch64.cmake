# Toolchain for Linux on aarch64, with Debian's cross compiler (g++-aarch64-linux-gnu). The programs run in qemu
# (qemu-user) as on the oldest processor of the architecture: an instruction that came later ends the program.

set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_C_COMPILER aarch64-linux-gnu-gcc)
set(CMAKE_CXX_COMPILER aarch64-linux-gnu-g++)
set(CMAKE_CROSSCOMPILING_EMULATOR qemu-aarch64;-cpu;cortex-a53;-L;/usr/aarch64-linux-gnu)

# Libraries are found for aarch64 only; programs, and header-only packages, are the host's.
set(CMAKE_FIND_ROOT_PATH /usr/aarch64-linux-gnu)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
