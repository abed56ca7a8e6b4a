# Target `tidy`: clang-tidy over the library's sources. Use it with the preset of the same name.

find_program(LAMELLA_RUN_CLANG_TIDY NAMES run-clang-tidy-19 run-clang-tidy DOC "clang-tidy over a compilation database")
if(LAMELLA_RUN_CLANG_TIDY)
  find_program(LAMELLA_CLANG_TIDY NAMES clang-tidy-19 clang-tidy)
  add_custom_target(
    tidy
    COMMAND ${LAMELLA_RUN_CLANG_TIDY} -quiet -p ${PROJECT_BINARY_DIR} -clang-tidy-binary ${LAMELLA_CLANG_TIDY}
            -extra-arg=-fbracket-depth=1024  # a fold over all operators
            "^${PROJECT_SOURCE_DIR}/(engine|ops)/"
    USES_TERMINAL VERBATIM)
endif()
