#!/usr/bin/env bash
# privileged.sh PROGRAM: a setuid copy of the program, started by another user, follows no path that this user has set:
# not of plugins, settings or a log, not of what the libraries below load, and not through argv[0]. Without the bit it
# follows them all.
set -euo pipefail
program=$1
((EUID == 0)) || { echo "skipped: only root can make a program of root's"; exit 77; }
command -v setpriv >/dev/null || { echo "skipped: there is no setpriv"; exit 77; }
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
chmod 755 "$folder"
mkdir -p "$folder/bin" "$folder/evil/bin" "$folder/evil/lib/isthmus"
cp "$program" "$folder/bin/program"
cp "$program" "$folder/evil/bin/program"
echo 'ISTHMUS_STACK_FRAMES = 7' >"$folder/evil/isthmus.conf"

# start: as user 65534, with all that an attacker would set.
start() {
  (
    export ISTHMUS_PLUGIN_PATH=$folder/evil/lib/isthmus ISTHMUS_LOG_FILE=$folder/evil/log ISTHMUS_LOOPBACK_TIMEOUT=7
    export UCX_MODULE_DIR=/evil HWLOC_PLUGINS_PATH=/evil PMIX_MCA_mca_base_component_path=/evil PMIX_RANK=3
    export XDG_CONFIG_HOME=$folder/evil ISTHMUS_JOB_SECRET=00112233445566778899aabbccddeeff
    exec -a "$folder/evil/bin/program" setpriv --reuid=65534 --regid=65534 --clear-groups \
      bash -c 'exec -a "$1" "$2"' bash "$folder/evil/bin/program" "$folder/bin/program"
  )
}

expect() {
  if ! grep -qxF -- "$1" <<<"$seen"; then
    printf 'expected the line "%s" in what %s saw:\n%s\n' "$1" "$2" "$seen"
    exit 1
  fi
}

seen=$(start)
grep -qF "searched=$folder/evil/lib/isthmus" <<<"$seen" ||
    { echo "an ordinary program does not search: $seen"; exit 1; }
for line in "log_file=$folder/evil/log" frames=7 timeout=7 secret=00112233445566778899aabbccddeeff \
  UCX_MODULE_DIR=/evil HWLOC_PLUGINS_PATH=/evil PMIX_MCA_mca_base_component_path=/evil PMIX_RANK=3; do
  expect "$line" "the ordinary program"
done

chown root:root "$folder/bin/program"
chmod 4755 "$folder/bin/program"
seen=$(start)
if grep -q "^timeout=7" <<<"$seen"; then echo "skipped: this file system ignores the setuid bit"; exit 77; fi
for line in searched= log_file= frames=32 timeout= secret= UCX_MODULE_DIR= HWLOC_PLUGINS_PATH= \
  PMIX_MCA_mca_base_component_path= PMIX_RANK=3; do
  expect "$line" "the setuid program"
done
