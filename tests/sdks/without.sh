#!/bin/bash
# without.sh SOURCE SDK...: where the headers of these (ze, hip, cuda) are missing, all is configured, tests too, and
# the transports between GPUs that are left are built, with no library of a GPU among what they need. In a folder of its
# own, which is removed.
set -eu
source=$1
shift
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
declare -A variable=([ze]=ZE_INCLUDE_DIR [hip]=HIP_INCLUDE_DIR [cuda]=CUDA_DRIVER_INCLUDE_DIR)
declare -A transport=([ze]=xelink [hip]=xgmi [cuda]=none)
missing=() left=" nvlink xelink xgmi "
for sdk; do
    missing+=("-D${variable[$sdk]}=") # found, and empty: it is not searched
    left=${left/ ${transport[$sdk]} / }
done
cmake -S "$source" -B "$folder" -G Ninja -DBUILD_TESTING=ON "${missing[@]}" >"$folder/log" 2>&1 ||
    { tail -n 40 "$folder/log"; exit 1; }
targets=()
for name in $left; do
    # What this machine itself lacks is left out there as well.
    ninja -C "$folder" -t query "plugin_$name" >/dev/null 2>&1 && targets+=("plugin_$name")
done
[[ " ${targets[*]} " == *" plugin_nvlink "* ]] || { echo "nvlink needs no headers, and is not built"; exit 1; }
ninja -C "$folder" "${targets[@]}" >"$folder/log" 2>&1 || { tail -n 40 "$folder/log"; exit 1; }
for sdk; do
    ! ninja -C "$folder" -t query "plugin_${transport[$sdk]}" >/dev/null 2>&1 ||
        { echo "${transport[$sdk]} is built without $sdk"; exit 1; }
done
if objdump -p "$folder"/lib/isthmus/*.so | grep -E 'NEEDED.*(cuda|ze_loader|amdhip)'; then exit 1; fi
echo "built: ${targets[*]}"
