"""The machinery of :mod:`lamella.utils.cpp_extension`: compilers, what is built already, locks and jobs."""
