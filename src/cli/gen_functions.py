#!/usr/bin/env python3
"""gen_functions.py OUTPUT DRIVER_API_DEF RUNTIME_API_DEF: the table of CUDA functions for bailey inspect, sorted by name.

A row: name, library, versions of the runtime that have it (bit 0: 11, 1: 12, 2: 13; 0 for the driver), works here.
"""
import re
import sys

VERSIONS = {"11": 1, "12": 2, "13": 4}


def rows(path):
    with open(path) as file:
        for match in re.findall(r"^API\((.*)\)$", file.read(), re.M):
            yield [field.strip() for field in match.split(",")]


def main():
    output, driver, runtime = sys.argv[1:4]
    table = []
    for row in rows(driver):
        table.append((row[0], "BL_CLI_DRIVER", 0, row[3] not in ("NONE", "REFUSED")))
    for row in rows(runtime):
        table.append((row[0], "BL_CLI_RUNTIME", sum(VERSIONS[v] for v in row[1].split()), row[2] not in ("NONE", "REFUSED")))
    with open(output, "w") as out:
        for name, library, versions, works in sorted(table):
            out.write(f'{{"{name}", {library}, {versions}, {"true" if works else "false"}}},\n')


if __name__ == "__main__":
    main()
