#!/usr/bin/env python3
"""tables.py DDI_HEADER... : C code of the tables that Level Zero's loader requests from every driver.

A driver that lacks one of them is refused, whatever the table is for. Those that the double fills call its own function
fill_NAME(table); the others are empty. The headers of the installed loader decide which there are."""
import re
import sys
from pathlib import Path

FILLED = {"zeGetGlobalProcAddrTable": "global", "zeGetDriverProcAddrTable": "driver",
          "zeGetDeviceProcAddrTable": "device", "zeGetContextProcAddrTable": "context",
          "zeGetCommandListProcAddrTable": "command_list", "zeGetEventPoolProcAddrTable": "event_pool",
          "zeGetEventProcAddrTable": "event", "zeGetMemProcAddrTable": "mem", "zeGetModuleProcAddrTable": "module",
          "zeGetKernelProcAddrTable": "kernel", "zeGetVirtualMemProcAddrTable": "virtual_mem",
          "zeGetPhysicalMemProcAddrTable": "physical_mem"}


def main():
    for path in sys.argv[1:]:
        text = re.sub(r"///.*", "", Path(path).read_text())
        for name, table in re.findall(r"^(zes?t?Get\w+ProcAddrTable)\(\s*ze_api_version_t version,\s*(\w+)\s*\*", text,
                                      re.M):
            fill = f"fill_{FILLED[name]}(table);" if name in FILLED else ""
            print(f"ze_result_t {name}(ze_api_version_t version, {table} *table)\n{{\n    (void)version;\n"
                  f"    memset(table, 0, sizeof *table);\n    {fill}\n    return ZE_RESULT_SUCCESS;\n}}\n")


if __name__ == "__main__":
    main()
