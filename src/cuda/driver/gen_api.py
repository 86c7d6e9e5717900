#!/usr/bin/env python3
"""Makes from api.def what would otherwise be written 700 times by hand.

gen_api.py API_DEF CUDA_H KIND OUTPUT   with KIND: entries (C source: entry points, stubs, cuGetProcAddress's table),
header (prototypes of the implementations), map (export map), coverage (Markdown page).
"""
import os
import re
import sys


def read_table(path):
    text = open(path).read()
    rows = [tuple(field.strip() for field in m.split(",")) for m in re.findall(r"^API\((.*)\)$", text, re.M)]
    reasons = {key: (code, why) for key, code, why in re.findall(r"^REFUSE\((\w+), (\w+), (.*)\)$", text, re.M)}
    return rows, re.findall(r"^DATA\((\w+)\)$", text, re.M), reasons


def read_prototypes(path):
    """Exported name -> [(type, name)]. In the header a plain name stands for the symbol that the macros give it."""
    text = open(os.path.join(os.path.dirname(path), "cudaProfiler.h")).read() + open(path).read()
    text = re.sub(r"/\*.*?\*/", "", text, flags=re.S)
    outer, inner = text.split("#undef", 1)
    names = dict(re.findall(r"^#define (cu\w+) (?:__CUDA_API_PT[DS][SZ]\()?(cu\w+)\)?$", outer, re.M))
    found = {}
    for part, mapped in ((inner, False), (outer, True)):
        for name, args in re.findall(r"CUresult CUDAAPI (cu\w+)\(([^;]*)\);", part):
            symbol = names.get(name, name) if mapped else name
            found.setdefault(symbol, parse_args(re.sub(r"\s+", " ", args)))
    return found


def parse_args(text):
    if text == "void":
        return []
    parts, depth, start = [], 0, 0
    for i, c in enumerate(text + ","):
        depth += (c == "(") - (c == ")")
        if c == "," and depth == 0:
            parts.append(text[start:i].strip())
            start = i + 1
    args = []
    for part in parts:
        m = re.match(r"^(.*?)(\w+)$", part)
        args.append((m.group(1).strip(), m.group(2)))
    return args


def flavour(name):
    return name[-4:] if name.endswith(("ptsz", "ptds")) else ""


def base_of(name):
    return name[:-5] if flavour(name) else name


# Parameters given by value that are no numbers: the trace shows nothing of them.
STRUCTS = ("CUipcMemHandle", "CUipcEventHandle", "CUmemLocation")


def trace_value(kind, name):
    if kind in STRUCTS:
        return "0"
    return f"(uint64_t)({name})" if kind in NUMBERS else f"(uint64_t)(uintptr_t)({name})"


NUMBERS = ("float", "double")


def declare(kind, name):
    return kind + ("" if kind.endswith("*") else " ") + name


class Table:
    def __init__(self, api, header):
        self.rows, self.data, self.reasons = read_table(api)
        self.prototypes = read_prototypes(header)
        self.exported = {row[0] for row in self.rows}

    def args(self, name):
        return self.prototypes.get(name, self.prototypes.get(base_of(name)))

    def takes_default(self, implementation):
        """Whether the implementation has the default stream as its first parameter."""
        twins = [implementation + "_ptsz", implementation + "_ptds"]
        has_stream = any(kind == "CUstream" for kind, _ in self.args(implementation))
        return any(twin in self.exported for twin in twins) and not has_stream


def write_header(table, out):
    out.write("/* Made by gen_api.py from api.def. The implementations behind the exported functions. */\n")
    done = set()
    for _, _, _, status, implementation in table.rows:
        if status in ("NONE", "REFUSED") or implementation in done:
            continue
        done.add(implementation)
        args = [declare(*arg) for arg in table.args(implementation)]
        if table.takes_default(implementation):
            args.insert(0, "CUstream default_stream")
        out.write(f"CUresult bl_{implementation}({', '.join(args) or 'void'});\n")


def write_entry(table, row, out):
    name, _, _, status, implementation = row
    args = table.args(name)
    if args is None:
        args = []
    out.write(f"CUresult {name}({', '.join(declare(*arg) for arg in args) or 'void'})\n{{\n")
    if status == "NONE":
        out.write("    static atomic_bool said;\n")
        out.write(f'    return bl_cu_missing("{name}", &said);\n}}\n')
        return
    if status == "REFUSED":
        code, why = table.reasons[implementation]
        out.write("    static atomic_bool said;\n")
        out.write(f'    return bl_cu_refused("{name}", {code}, "{why}", &said);\n}}\n')
        return
    stream = "CU_STREAM_PER_THREAD" if flavour(name) else "NULL"
    passed = [f"{arg} ? {arg} : CU_STREAM_PER_THREAD" if kind == "CUstream" and flavour(name) else arg for kind, arg in args]
    if table.takes_default(implementation):
        passed.insert(0, stream)
    call = f"bl_{implementation}({', '.join(passed)})"
    mask = "BL_CU_GATE_TRACE" if status == "EARLY" else "~0u"
    out.write(f"    if (__builtin_expect(!(bl_cu_gate & {mask}), 1))\n        return {call};\n")
    closed = "CUDA_SUCCESS" if status == "EARLY" else "bl_cu_gate_check()"
    out.write(f"    CUresult answer = {closed};\n    if (answer == CUDA_SUCCESS)\n        answer = {call};\n")
    values = ", ".join(trace_value(kind, arg) for kind, arg in args)
    names = " ".join(arg for _, arg in args)
    out.write(f'    bl_cu_trace("{name}", "{names}", (const uint64_t[]){{{values or 0}}}, answer);\n    return answer;\n}}\n')


def write_entries(table, out):
    out.write("/* Made by gen_api.py from api.def: every exported function of libcuda. */\n")
    out.write('#include "cuda/driver/driver.h"\n\n#pragma GCC visibility push(default)\n')
    for name in table.data:
        out.write(f"extern uint32_t {name};\nuint32_t {name};\n")
    for row in table.rows:
        if table.args(row[0]) is None:
            out.write(f"CUresult {row[0]}(void);\n")
        write_entry(table, row, out)
    out.write("#pragma GCC visibility pop\n\n")
    rows = sorted((r for r in table.rows if r[2] != "0"), key=lambda r: (r[1], bool(flavour(r[0])), int(r[2])))
    out.write("const struct bl_cu_proc bl_cu_procs[] = {\n")
    for name, base, version, _, _ in rows:
        out.write(f'    {{"{base}", {version}, {int(bool(flavour(name)))}, (void (*)(void)){name}}},\n')
    out.write(f"}};\nconst size_t bl_cu_proc_count = {len(rows)};\n")


def write_map(table, out):
    out.write("{\n  global:\n")
    for name in [row[0] for row in table.rows] + table.data:
        out.write(f"    {name};\n")
    out.write("  local: *;\n};\n")


def write_coverage(table, out):
    done = [r for r in table.rows if r[3] not in ("NONE", "REFUSED")]
    refused = [r for r in table.rows if r[3] == "REFUSED"]
    out.write("# Driver API coverage\n\nMade by src/cuda/driver/gen_api.py from api.def; `ninja coverage-driver` rewrites it.\n\n")
    out.write(f"{len(done)} of {len(table.rows)} functions of NVIDIA's libcuda (driver 580) work. {len(refused)} are refused with an error, "
              "for the reason given in the\ntable. The others are exported, answer CUDA_ERROR_NOT_SUPPORTED and name themselves in the "
              "log once.\n\n")
    out.write("| function | since | works | exported variants |\n|---|---|---|---|\n")
    groups = {}
    for row in table.rows:
        groups.setdefault(row[1], []).append(row)
    for base in sorted(groups):
        rows = groups[base]
        works = [r for r in rows if r[3] not in ("NONE", "REFUSED")]
        reasons = sorted({table.reasons[r[4]][1] for r in rows if r[3] == "REFUSED"})
        answer = "yes" if len(works) == len(rows) else "partly" if works else "no"
        answer += ": " + "; ".join(reasons) if reasons else ""
        since = min(int(r[2]) for r in rows)
        since = f"{since // 1000}.{since % 1000 // 10}" if since else "–"
        variants = ", ".join(r[0] if r in works else f"~~{r[0]}~~" for r in rows)
        out.write(f"| {base} | {since} | {answer} | {variants} |\n")


def main():
    table = Table(sys.argv[1], sys.argv[2])
    writers = {"entries": write_entries, "header": write_header, "map": write_map, "coverage": write_coverage}
    with open(sys.argv[4], "w") as out:
        writers[sys.argv[3]](table, out)


main()
