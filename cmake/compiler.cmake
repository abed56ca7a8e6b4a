# Sets the flags that all of Lamella's targets share.

set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(LAMELLA_RPATH "$ORIGIN")

if(NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES)
  set(CMAKE_BUILD_TYPE Release CACHE STRING "Build type" FORCE)
endif()
# Debug information has line numbers, which are worth their compile time in backtraces, and no variables, which are not.
# (These are not cache variables, as project() has filled those already.)
set(CMAKE_CXX_FLAGS_RELWITHDEBINFO "-O2 -g1 -DNDEBUG")
set(CMAKE_CXX_FLAGS_RELEASE "-O2 -DNDEBUG")  # kernels add -O3

if(NOT DEFINED CACHE{LAMELLA_CCACHE})  # one that is installed later would have all that is built compiled again
  find_program(LAMELLA_CCACHE ccache DOC "Compiler cache; used when found")
endif()
if(LAMELLA_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  set(CMAKE_CXX_COMPILER_LAUNCHER ${PROJECT_SOURCE_DIR}/cmake/ccache.sh ${LAMELLA_CCACHE} ${PROJECT_SOURCE_DIR})
  set(CMAKE_CUDA_COMPILER_LAUNCHER ${CMAKE_CXX_COMPILER_LAUNCHER})
endif()

set(LAMELLA_STANDARD_HEADERS
    <algorithm> <array> <atomic> <bit> <cmath> <complex> <concepts> <cstddef> <cstdint> <cstring> <functional> <limits>
    <map> <memory> <mutex> <numeric> <optional> <span> <sstream> <stdexcept> <string> <string_view> <tuple> <type_traits>
    <unordered_map> <utility> <variant> <vector>)

string(REPLACE "," ";" sanitizers "${LAMELLA_SANITIZE}")
foreach(sanitizer IN LISTS sanitizers)
  add_compile_options($<$<COMPILE_LANGUAGE:CXX>:-fsanitize=${sanitizer}>)
  add_link_options(-fsanitize=${sanitizer})
endforeach()
if(sanitizers)
  add_compile_options($<$<COMPILE_LANGUAGE:CXX>:-fno-sanitize-recover=all> $<$<COMPILE_LANGUAGE:CXX>:-fno-omit-frame-pointer>)
  # g++ warns of uses that are its own inserted checks.
  add_compile_options($<$<COMPILE_LANG_AND_ID:CXX,GNU>:-Wno-maybe-uninitialized>)
endif()
if("undefined" IN_LIST sanitizers)
  # These checks take half of the code and compile time, and most of what they find AddressSanitizer finds, too.
  add_compile_options($<$<COMPILE_LANGUAGE:CXX>:-fno-sanitize=null,object-size,pointer-overflow,vptr>)
endif()
if("address" IN_LIST sanitizers)
  # Checks that are calls, not inlined, compile in two thirds of the time.
  add_compile_options($<$<COMPILE_LANG_AND_ID:CXX,GNU>:--param=asan-instrumentation-with-call-threshold=0>)
endif()

# g++ collects garbage whenever its heap has grown by a third, from 128 MB on: that takes a tenth of its time. A compiler
# takes up to a gigabyte, of which ./dev's number of jobs allows for two.
if(LAMELLA_COMPILER_FLAGS)
  add_compile_options($<$<COMPILE_LANG_AND_ID:CXX,GNU>:--param=ggc-min-heapsize=524288>)
endif()

# Sets the warnings and link options of one of Lamella's targets.
function(lamella_warnings target)
  target_compile_options(
    ${target} PRIVATE "$<$<COMPILE_LANGUAGE:CXX>:-Wall;-Wextra;$<$<BOOL:${LAMELLA_WERROR}>:-Werror>>")
  if(CMAKE_SYSTEM_PROCESSOR MATCHES "aarch64|arm64")
    # Silences notes on how g++ before version 10 passed arguments on this processor.
    target_compile_options(${target} PRIVATE $<$<COMPILE_LANG_AND_ID:CXX,GNU>:-Wno-psabi>)
  endif()
  target_link_options(${target} PRIVATE LINKER:--as-needed)
endfunction()

# Precompiles headers for a target, or takes those of another: lamella_pch(target REUSE_FROM other). Precompiling takes as
# long as including the headers in three files does, so that a target of fewer goes without.
function(lamella_pch target)
  get_target_property(files ${target} SOURCES)
  list(LENGTH files count)
  if(ARGV1 STREQUAL "REUSE_FROM" AND LAMELLA_PCH)
    target_precompile_headers(${target} REUSE_FROM ${ARGV2})
    target_compile_options(${target} PRIVATE $<$<COMPILE_LANG_AND_ID:CXX,GNU>:-fpch-preprocess>)
  elseif(LAMELLA_PCH AND count GREATER 3)
    list(TRANSFORM ARGN REPLACE ".+" "$<$<COMPILE_LANGUAGE:CXX>:\\0>" OUTPUT_VARIABLE headers)
    target_precompile_headers(${target} PRIVATE ${headers})
    # Lets ccache cache files that use a precompiled header.
    target_compile_options(${target} PRIVATE $<$<COMPILE_LANG_AND_ID:CXX,GNU>:-fpch-preprocess>)
  endif()
endfunction()

# Compiles the files of a target in groups: cmake/unity.py says why, and how they are chosen. lamella_unity_groups(RESULT
# LIMIT FILE...) returns its lines.
if(LAMELLA_UNITY)
  find_package(Python QUIET COMPONENTS Interpreter)
  set_property(DIRECTORY ${PROJECT_SOURCE_DIR} APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS cmake/unity.py)
endif()
function(lamella_unity_groups result limit)
  execute_process(
    COMMAND ${Python_EXECUTABLE} ${PROJECT_SOURCE_DIR}/cmake/unity.py ${limit} ${ARGN}
    WORKING_DIRECTORY ${CMAKE_CURRENT_SOURCE_DIR}  # sources may be relative to it
    OUTPUT_VARIABLE lines OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
  string(REPLACE "\n" ";" lines "${lines}")
  set(${result} ${lines} PARENT_SCOPE)
endfunction()
function(lamella_unity target)
  if(NOT LAMELLA_UNITY OR NOT Python_EXECUTABLE)
    return()
  endif()
  get_target_property(sources ${target} SOURCES)
  list(FILTER sources INCLUDE REGEX "[.]cc$")
  lamella_unity_groups(lines 3000 ${sources})
  foreach(line IN LISTS lines)
    string(REGEX MATCH "^([^ ]+) (.+)$" line "${line}")
    set_source_files_properties(${CMAKE_MATCH_2} PROPERTIES UNITY_GROUP ${CMAKE_MATCH_1})
  endforeach()
  set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_MODE GROUP)
  # g++ treats an included file as a header whose definitions others might include, too.
  if(LAMELLA_COMPILER_FLAGS)
    target_compile_options(${target} PRIVATE $<$<COMPILE_LANG_AND_ID:CXX,GNU>:-Wno-subobject-linkage>)
  endif()
endfunction()

# Compiles a target with those optimizations of -O2 that calls gain from. The passes left out work on loops, of which
# kernels have theirs, and take a quarter of the compile time. Calls run up to 4 % more instructions without them, so that
# the code that the shortest operators run has all of -O2 (LAMELLA_INNER).
function(lamella_calls target)
  if(CMAKE_BUILD_TYPE STREQUAL "Release" AND LAMELLA_COMPILER_FLAGS AND NOT LAMELLA_SANITIZE)
    set(flags
        -O1
        -fcaller-saves
        -fdelete-null-pointer-checks
        -fdevirtualize
        -fexpensive-optimizations
        -findirect-inlining
        -finline-functions
        -finline-small-functions
        -fipa-cp
        -fipa-ra
        -fipa-sra
        -foptimize-sibling-calls
        -fpartial-inlining
        -fpeephole2
        -freorder-blocks-and-partition
        -fstore-merging
        -fstrict-aliasing
        -fthread-jumps
        -ftree-slp-vectorize
        -fvect-cost-model=very-cheap)
    target_compile_options(${target} PRIVATE "$<$<COMPILE_LANG_AND_ID:CXX,GNU>:${flags}>")
  endif()
endfunction()

# Sets everything that a C++ target of the library needs; further arguments are headers worth precompiling, or those of
# lamella_pch().
function(lamella_target target)
  lamella_warnings(${target})
  target_compile_options(${target} PRIVATE $<$<COMPILE_LANGUAGE:CXX>:-fno-semantic-interposition>)
  # The thread_local objects of a library that is loaded late otherwise get their memory when a thread first asks for
  # one of them, and where there is none the C library ends the process. cmake/check_symbols.py holds this.
  target_compile_options(${target} PRIVATE $<$<COMPILE_LANGUAGE:CXX>:-ftls-model=initial-exec>)
  # Turned off as in the kernels: on a processor that always has fused multiply-add (aarch64), compilers contract
  # products and sums by default.
  target_compile_options(${target} PRIVATE $<$<COMPILE_LANGUAGE:CXX>:-ffp-contract=off>)
  # g++ turns loops over a shape's two or three numbers into calls of memmove and memset, which take longer than the
  # loops: the call's wide loads wait for the narrow stores before them.
  if(LAMELLA_COMPILER_FLAGS)
    target_compile_options(${target} PRIVATE $<$<COMPILE_LANG_AND_ID:CXX,GNU>:-fno-tree-loop-distribute-patterns>)
  endif()
  # Beyond 10,000 instructions in a unit, g++ inlines at most as much as makes it larger by 40 %: files compiled
  # together would share the budget that each has alone.
  if(LAMELLA_UNITY AND LAMELLA_COMPILER_FLAGS AND NOT LAMELLA_SANITIZE)
    target_compile_options(${target} PRIVATE $<$<COMPILE_LANG_AND_ID:CXX,GNU>:--param=large-unit-insns=200000>)
  endif()
  if(ARGV1 STREQUAL "REUSE_FROM")
    lamella_pch(${target} ${ARGN})
  else()
    lamella_pch(${target} ${LAMELLA_STANDARD_HEADERS} ${ARGN})
  endif()
  lamella_unity(${target})
endfunction()

# Puts a shared library or module beside the others, and lets it find them there, in the build tree as when installed.
function(lamella_output target)
  set_target_properties(
    ${target} PROPERTIES LIBRARY_OUTPUT_DIRECTORY "${LAMELLA_OUTPUT_DIR}" BUILD_WITH_INSTALL_RPATH ON
                         INSTALL_RPATH "${LAMELLA_RPATH}")
endfunction()
