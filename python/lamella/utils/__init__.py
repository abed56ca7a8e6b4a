"""What helps around Lamella: building extensions (:mod:`lamella.utils.cpp_extension`)."""
