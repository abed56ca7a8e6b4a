#!/bin/sh
# Stands for a compiler where only the building around it is tested: an object is the text of its source, a library that
# of its objects. Lines 'include "name"' are dependencies, 'wrong' is an error, 'slow' takes a while.
if [ "$1" = --version ]; then echo "fake $FAKE_VERSION"; exit 0; fi
if [ "$2" = -E ]; then exit 0; fi  # asked whether it knows the standard
output= source= rule= inputs=
while [ $# -gt 0 ]; do
  case "$1" in
    -o) output=$2; shift ;;
    -c) source=$2; shift ;;
    -MF) rule=$2; shift ;;
    *.o) inputs="$inputs $1" ;;
  esac
  shift
done
if [ -z "$source" ]; then
  echo "link" >>"$FAKE_LOG"
  cat $inputs >"$output"
  exit 0
fi
echo "compile $(basename "$source")" >>"$FAKE_LOG"
if grep -q '^wrong' "$source"; then echo "$source:1:1: error: this is wrong" >&2; exit 1; fi
if grep -q '^slow' "$source"; then sleep 1; fi
headers=
for name in $(sed -n 's/^include "\(.*\)"$/\1/p' "$source"); do headers="$headers \\
  $(dirname "$source")/$name"; done
printf 'x.o: %s%s\n' "$source" "$headers" >"$rule"
cp "$source" "$output"
