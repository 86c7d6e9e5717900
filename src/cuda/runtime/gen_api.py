#!/usr/bin/env python3
"""Makes the entry points of one libcudart from api.def.

gen_api.py API_DEF RUNTIME_API_H LEGACY_H KIND VERSION OUTPUT   with KIND: header (prototypes of the implementations), entries (C source
for the library of VERSION 11, 12 or 13), map (its export map), coverage (Markdown page), names (one exported name and status a line).
"""
import os
import re
import sys

FLAVOURS = ("_ptsz", "_ptds")
MISSING = ("NONE", "REFUSED")


def base_of(name):
    return name[:-5] if name.endswith(FLAVOURS) else name


def read_prototypes(paths):
    """Name -> (result type, [(type, name)])."""
    found = {}
    for path in paths:
        text = re.sub(r"/\*.*?\*/", "", open(path).read(), flags=re.S)
        text = re.sub(r"BL_DEFAULT\((?:[^()]|\([^()]*\))*\)", "", text)
        text = re.sub(r"\s+", " ", text)
        for result, name, args in re.findall(r"extern (?:__host__ )?([\w* ]+?) ?CUDARTAPI (\w+)\(([^;]*)\);", text):
            found.setdefault(name, (result, parse_args(args)))
    return found


def parse_args(text):
    if text.strip() in ("void", ""):
        return []
    parts, depth, start = [], 0, 0
    for i, c in enumerate(text + ","):
        depth += (c == "(") - (c == ")")
        if c == "," and depth == 0:
            parts.append(text[start:i].strip())
            start = i + 1
    return [(m.group(1).strip(), m.group(2)) for m in (re.match(r"^(.*?)(\w+)$", part) for part in parts)]


def declare(kind, name):
    return kind + ("" if kind.endswith("*") else " ") + name


class Table:
    def __init__(self, api, headers):
        self.rows = []
        for text in re.findall(r"^API\((.*)\)$", open(api).read(), re.M):
            name, versions, status, implementation = (field.strip() for field in text.split(","))
            self.rows.append((name, versions.split(), status, implementation))
        self.reasons = {key: (code, why) for key, code, why in
                        re.findall(r"^REFUSE\((\w+), (\w+), (.*)\)$", open(api).read(), re.M)}
        near = os.path.dirname(headers[0])
        others = [os.path.join(near, "cuda_profiler_api.h"), os.path.join(near, "crt/host_runtime.h")]
        self.prototypes = read_prototypes(list(headers) + others)
        self.exported = {row[0] for row in self.rows}

    def takes_default(self, implementation):
        """The default stream is the first parameter where the function has flavours but no stream."""
        has_stream = any(kind in ("cudaStream_t", "struct CUstream_st *") for kind, _ in self.prototypes[implementation][1])
        return not has_stream and any(implementation + flavour in self.exported for flavour in FLAVOURS)

    def implementations(self):
        return sorted({row[3] for row in self.rows if row[2] not in MISSING})


def write_header(table, version, out):
    out.write("/* Made by gen_api.py from api.def. The implementations behind the exported functions. */\n")
    for name in table.implementations():
        result, args = table.prototypes[name]
        args = [declare(*arg) for arg in args]
        if table.takes_default(name):
            args.insert(0, "CUstream default_stream")
        out.write(f"{declare(result, 'bl_rt_' + name)}({', '.join(args) or 'void'});\n")


def write_entry(table, row, out):
    name, _, status, implementation = row
    if status == "NONE":
        out.write(f'static cudaError_t entry_{name}(void)\n{{\n    static atomic_bool said;\n')
        out.write(f'    return bl_rt_record(bl_rt_missing("{name}", &said));\n}}\n')
    elif status == "REFUSED":
        code, why = table.reasons[implementation]
        out.write(f'static cudaError_t entry_{name}(void)\n{{\n    static atomic_bool said;\n')
        out.write(f'    return bl_rt_record(bl_rt_refused("{name}", {code}, "{why}", &said));\n}}\n')
    else:
        result, args = table.prototypes[implementation]
        per_thread = name.endswith(FLAVOURS)
        passed = [f"{arg} ? {arg} : cudaStreamPerThread" if kind == "cudaStream_t" and per_thread else arg for kind, arg in args]
        if table.takes_default(implementation):
            passed.insert(0, "CU_STREAM_PER_THREAD" if per_thread else "NULL")
        call = f"bl_rt_{implementation}({', '.join(passed)})"
        if status == "DONE":
            call = f"bl_rt_record({call})"
        out.write(f"static {declare(result, 'entry_' + name)}({', '.join(declare(*arg) for arg in args) or 'void'})\n{{\n")
        out.write(f"    {'' if result == 'void' else 'return '}{call};\n}}\n")
    out.write(f'__asm__(".globl {name}\\n.type {name}, @function\\n.set {name}, entry_{name}");\n')
    out.write(f"static __typeof__(entry_{name}) *const keep_{name} __attribute__((used)) = entry_{name};\n\n")


def write_entries(table, version, out):
    out.write(f"/* Made by gen_api.py from api.def: every exported function of libcudart {version}. The symbols are given by .set, since\n"
              " * a name may have another signature than in the headers of this version. */\n")
    out.write('#include "cuda/runtime/runtime.h"\n\n')
    out.write(f"const int bl_rt_version = {version}000;\n\n")
    for row in table.rows:
        if version in row[1]:
            write_entry(table, row, out)


def write_map(table, version, out):
    node = "libcudart.so.11.0" if version == "11" else f"libcudart.so.{version}"
    out.write(f"{node} {{\n  global:\n")
    for row in table.rows:
        if version in row[1]:
            out.write(f"    {row[0]};\n")
    out.write("  local: *;\n};\n")


def write_coverage(table, version, out):
    done = [row for row in table.rows if row[2] not in MISSING]
    refused = [row for row in table.rows if row[2] == "REFUSED"]
    out.write("# Runtime API coverage\n\nMade by src/cuda/runtime/gen_api.py from api.def; `ninja coverage-runtime` rewrites it.\n\n")
    out.write(f"{len(done)} of {len(table.rows)} exported functions of libcudart 11.0, 12 and 13 work. {len(refused)} are refused with an error, "
              "for the reason given in\nthe table. The others are exported, answer cudaErrorNotSupported and name themselves in the log "
              "once.\n\n| function | libraries | works |\n|---|---|---|\n")
    for name, versions, status, implementation in sorted(table.rows):
        answer = "no: " + table.reasons[implementation][1] if status == "REFUSED" else "no" if status == "NONE" else "yes"
        out.write(f"| {name} | {', '.join(versions)} | {answer} |\n")


def write_names(table, version, out):
    for row in table.rows:
        out.write(f"{row[0]} {'no' if row[2] in MISSING else 'yes'}\n")


def main():
    table = Table(sys.argv[1], sys.argv[2:4])
    writers = {"header": write_header, "entries": write_entries, "map": write_map, "coverage": write_coverage,
               "names": write_names}
    with open(sys.argv[6], "w") as out:
        writers[sys.argv[4]](table, sys.argv[5], out)


main()
