# Target `tidy`: clang-tidy over the library's sources. Use it with the preset of the same name.

# PyPI's clang-tidy comes before the system's: newer versions skip system headers, which halves their time.
file(GLOB bundled ${PROJECT_SOURCE_DIR}/.venv/lib/python3*/site-packages/clang_tidy/data/bin)
find_program(LAMELLA_CLANG_TIDY NAMES clang-tidy HINTS ${bundled})
find_program(
  LAMELLA_RUN_CLANG_TIDY NAMES run-clang-tidy.py run-clang-tidy HINTS ${bundled} DOC "clang-tidy over a compilation database")
if(LAMELLA_RUN_CLANG_TIDY AND LAMELLA_CLANG_TIDY)
  add_custom_target(
    tidy
    COMMAND ${LAMELLA_RUN_CLANG_TIDY} -quiet -hide-progress -p ${PROJECT_BINARY_DIR} -clang-tidy-binary
            ${LAMELLA_CLANG_TIDY} "^${PROJECT_SOURCE_DIR}/(engine|ops)/"
    USES_TERMINAL VERBATIM)
endif()
