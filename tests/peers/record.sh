#!/bin/sh
# Stands between a client and a server and writes down all bytes that pass, knowing nothing of what they mean:
# sh record.sh FOLDER COMMAND ARGUMENTS…
#
# The command takes this process's place, so that signals and its exit status are as they would be without this script.
set -eu
folder=$1
shift
mkfifo "$folder/in" "$folder/out"
exec 3<&0
tee "$folder/to-server" <&3 3<&- >"$folder/in" 2>/dev/null &
tee "$folder/to-client" <"$folder/out" 3<&- 2>/dev/null &
exec "$@" <"$folder/in" >"$folder/out" 3<&-
