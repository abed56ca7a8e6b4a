#!/bin/sh
# Runs a compiler under ccache: ccache.sh CCACHE PROJECT COMPILER ARGUMENTS...
#
# Paths relative to the project let every clone share results. ccache caches precompiled headers only with this
# sloppiness. It tells what a compilation reads by preprocessing, in which a precompiled header that is there already
# stands for all that it was made of: one that is made anew is removed first, or ccache would return the old one.
set -e
ccache=$1
export CCACHE_BASEDIR="$2" CCACHE_NOHASHDIR=1
export CCACHE_SLOPPINESS=pch_defines,time_macros,include_file_mtime,include_file_ctime
shift 2
previous=
for argument; do
  case $previous/$argument in
    -o/*.gch | -o/*.pch) rm -f "$argument" ;;
  esac
  previous=$argument
done
exec "$ccache" "$@"
