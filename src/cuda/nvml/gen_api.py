#!/usr/bin/env python3
"""Makes from api.def what libnvidia-ml exports.

gen_api.py API_DEF SOURCE KIND OUTPUT   with KIND: header (prototypes of what SOURCE defines), stubs (C source of the others), map
(export map), coverage (Markdown page).
"""
import re
import sys


def main():
    api, source, kind, output = sys.argv[1:]
    rows = re.findall(r"^API\((\w+), (DONE|NONE)\)$", open(api).read(), re.M)
    defined = re.findall(r"^((?:int|const char \*)\s?(nvml\w+)\([^)]*\))\n\{", open(source).read(), re.M)
    done = {name for name, status in rows if status == "DONE"}
    if {name for _, name in defined} != done:
        sys.exit(f"{api} and {source} differ: {sorted(done ^ {name for _, name in defined})}")
    with open(output, "w") as out:
        if kind == "header":
            out.write("/* Made by gen_api.py. */\n#pragma GCC visibility push(default)\n")
            out.writelines(f"{prototype};\n" for prototype, _ in defined)
            out.write("#pragma GCC visibility pop\n")
        elif kind == "stubs":
            out.write('/* Made by gen_api.py. */\n#include "cuda/nvml/nvml.h"\n\n#pragma GCC visibility push(default)\n')
            for name, status in rows:
                if status == "NONE":
                    out.write(f"int {name}(void);\nint {name}(void)\n{{\n    int result = bl_nvml_ready();\n"
                              f"    return result ? result : NVML_ERROR_NOT_SUPPORTED;\n}}\n")
            out.write("#pragma GCC visibility pop\n")
        elif kind == "map":
            out.write("{\n  global:\n" + "".join(f"    {name};\n" for name, _ in rows) + "  local: *;\n};\n")
        else:
            out.write("# NVML coverage\n\nMade by src/cuda/nvml/gen_api.py from api.def; `ninja coverage-nvml` rewrites it.\n\n")
            out.write(f"{len(done)} of {len(rows)} functions of NVIDIA's libnvidia-ml (driver 580) answer with facts of Bailey's devices. "
                      "The others are\nexported and answer NVML_ERROR_NOT_SUPPORTED, as a device does that has no such thing.\n\n")
            out.writelines(f"* {name}\n" for name, status in rows if status == "DONE")


main()
