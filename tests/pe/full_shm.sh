#!/bin/sh
# full_shm.sh COMMAND...: runs it where /dev/shm has no room left.
unshare --mount true 2>/dev/null || { echo "needs root for a /dev/shm of its own"; exit 77; }
exec unshare --mount sh -c \
    'mount -t tmpfs -o size=64k none /dev/shm && (cat /dev/zero >/dev/shm/full; true) 2>/dev/null; exec "$@"' sh "$@"
