#!/usr/bin/env python3
"""bailey inspect: test_inspect.py BAILEY AUDIT COMPILER SOURCE_ROOT [NAME=FILE…], the files of tests/image."""
import json
import os
import subprocess
import unittest

import tree

FILES = dict(word.split("=", 1) for word in tree.REST)
PTX = """.version 8.0
.target sm_80
.address_size 64
.visible .entry good(.param .u64 a, .param .u32 n)
.maxntid 128, 2, 1
.maxnreg 40
{
    .shared .align 8 .b8 buffer[24];
    .reg .u32 %r<3>;
    ld.param.u32 %r1, [n];
    st.shared.u32 [buffer], %r1;
    ret;
}
"""
BAD_KERNEL = """.visible .entry bad(.param .u64 a)
{
    .reg .u32 %r<3>;
    frobnicate.u32 %r1, %r2;
    ret;
}
"""


class Inspect(tree.Tree):
    def inspect(self, *paths, status=0):
        got = self.run_bailey("inspect", "--json", *paths)
        self.assertEqual(got.returncode, status, got.stderr)
        text = self.run_bailey("inspect", *paths)
        self.assertEqual(text.returncode, status)
        files = json.loads(got.stdout)["files"]
        self.assertEqual(text.stdout.count("\n  verdict: "), len(files))
        return files

    def one(self, path, status=0):
        files = self.inspect(path, status=status)
        self.assertEqual(len(files), 1)
        return files[0]

    def test_usage(self):
        self.assertEqual(self.run_bailey("inspect").returncode, 2)
        self.assertEqual(self.run_bailey("inspect", "--frob", "x").returncode, 2)

    def test_ptx(self):
        found = self.one(self.write("one.ptx", PTX))
        self.assertEqual(found["kind"], "PTX")
        self.assertEqual(found["images"][0]["architecture"], "compute_80")
        self.assertEqual(found["images"][0]["isa"], "8.0")
        self.assertEqual(found["images"][0]["bytes"], len(PTX))
        kernel = found["kernels"][0]
        self.assertEqual({k: kernel[k] for k in kernel if k != "demangled"},
                         {"name": "good", "image": 1, "parameters": 2, "parameter_bytes": 12, "shared_bytes": 24, "max_registers": 40,
                          "max_threads": 256, "runs": True})
        self.assertEqual(found["verdict_text"], "runs")

    def test_one_bad_kernel(self):
        found = self.one(self.write("mixed.ptx", PTX + BAD_KERNEL))
        kernels = {kernel["name"]: kernel for kernel in found["kernels"]}
        self.assertTrue(kernels["good"]["runs"])
        self.assertFalse(kernels["bad"]["runs"])
        self.assertIn("frobnicate", kernels["bad"]["fault"])
        self.assertEqual(found["verdict_text"], "runs unless kernel bad is launched")
        header = PTX[:PTX.index(".visible")]
        found = self.one(self.write("bad.ptx", header + BAD_KERNEL))
        self.assertEqual(found["verdict"], "cannot run")
        self.assertIn("none of its kernels can: bad", found["verdict_text"])

    def test_broken_ptx(self):
        found = self.one(self.write("broken.ptx", ".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry k( {\n"))
        self.assertEqual(found["verdict"], "cannot run")
        self.assertIn("PTX", found["verdict_text"])

    def test_what_is_no_code(self):
        found = self.one("/bin/sh")
        self.assertEqual((found["images"], found["kernels"], found["functions"]), ([], [], []))
        self.assertEqual(found["verdict_text"], "runs (it holds no GPU code and calls no CUDA function)")
        found = self.one(self.write("text", "hello\n"), status=1)
        self.assertIn("no fatbin", found["fault"])
        self.assertEqual(found["verdict"], "cannot run")

    def test_missing_files(self):
        ptx = self.write("one.ptx", PTX)
        got = self.run_bailey("inspect", "--json", self.path("absent"), ptx, self.folder, self.write("empty", ""))
        self.assertEqual(got.returncode, 1)
        self.assertEqual([found["file"] for found in json.loads(got.stdout)["files"]], [ptx])
        for says in ("absent: No such file", "is a folder", "is empty"):
            self.assertIn(says, got.stderr)

    def test_out_of_memory(self):
        path = self.write("mixed.ptx", PTX + BAD_KERNEL)
        whole = self.run_bailey("inspect", path).stdout
        for nth in range(1, 1000):
            got = self.run_bailey("inspect", path, env={"BAILEY_TEST_FAULT": f"alloc:{nth}"})
            self.assertIn(got.returncode, (0, 1), nth)
            if got.stdout == whole:
                break
            self.assertIn("memory", got.stdout + got.stderr)
        self.assertEqual(got.stdout, whole)
        self.assertGreater(nth, 3)

    def test_hostile_names(self):
        """Names from a file can neither steer the terminal nor break the JSON."""
        name = b"two\x1b]0;\xff\"\\.cu\x00"
        payload = PTX.encode()
        payload += b"\0" * (-len(payload) % 8)
        entry = (1).to_bytes(2, "little") + (0x101).to_bytes(2, "little") + (80).to_bytes(4, "little")
        entry += len(payload).to_bytes(8, "little") + bytes(8) + (8 << 16).to_bytes(4, "little") + (80).to_bytes(4, "little")
        entry += (64).to_bytes(4, "little") + len(name).to_bytes(4, "little") + (0x11).to_bytes(8, "little") + bytes(16)
        entry += name.ljust(16, b"\0") + payload
        path = self.write("hostile.fatbin", bytes.fromhex("50ed55ba01001000") + len(entry).to_bytes(8, "little") + entry)
        self.assertEqual(self.one(path)["images"][0]["source"], "two\x1b]0;\ufffd\"\\.cu")
        self.assertNotIn("\x1b", self.run_bailey("inspect", path).stdout)

    def test_functions(self):
        code = "int cuInit(int), cuFrobnicate(void), cudaGraphExecGetFlags(void), cublasCreate_v2(void), current(void);\n" \
               "int f(void) { return cuInit(0) + cuFrobnicate() + cublasCreate_v2() + current(); }\n"
        path = self.compile("object.o", code, "-c")
        found = self.one(path)
        self.assertEqual(found["kind"], "object file")
        self.assertEqual({(use["name"], use["library"], use["how"], use["status"]) for use in found["functions"]},
                         {("cuInit", "driver", "imported", "works"), ("cuFrobnicate", "other", "imported", "unknown"),
                          ("cublasCreate_v2", "other", "imported", "not yet")})
        self.assertEqual(found["verdict_text"], "runs unless cublasCreate_v2 is called")

    def test_libraries(self):
        names = ("libcublas.so.12", "libcuda.so.1")
        for name in names:
            self.compile(name, "int cuInit(void); int cuInit(void) { return 0; }", "-shared", "-fPIC", f"-Wl,-soname,{name}")
        self.write("moved tree/lib/bailey/libcuda.so.1", "")
        program = self.compile("program", "int cuInit(void); int main(void) { return cuInit(); }", "-Wl,--no-as-needed",
                               *(self.path(name) for name in names))
        found = self.one(program)
        self.assertEqual(found["kind"], "executable")
        self.assertEqual(found["libraries"], [{"name": "libcublas.so.12", "here": False}, {"name": "libcuda.so.1", "here": True}])
        self.assertEqual(found["verdict_text"], "cannot run because it needs libcublas.so.12, which Bailey does not have yet")
        self.assertEqual(self.one(self.path("libcuda.so.1"))["kind"], "shared library")

    def test_names_looked_up(self):
        path = self.compile("loader.o", 'const char *names[] = {"cuMemAlloc_v2", "cuTexObjectCreate", "cudaNothingOfThatName"};', "-c")
        uses = {use["name"]: (use["how"], use["library"]) for use in self.one(path)["functions"]}
        self.assertEqual(uses, {"cuMemAlloc_v2": ("looked up", "driver"), "cuTexObjectCreate": ("looked up", "driver")})


@unittest.skipUnless(FILES, "no nvcc here")
class Nvcc(tree.Tree):
    def inspect(self, name):
        got = self.run_bailey("inspect", "--json", FILES[name])
        self.assertEqual(got.returncode, 0, got.stderr)
        return json.loads(got.stdout)["files"][0]

    def setUp(self):
        super().setUp()
        self.write("moved tree/lib/bailey/libcudart.so.13", "")

    def test_every_form_runs(self):
        for name in FILES:
            if name in ("nocode", "cubin"):
                continue
            found = self.inspect(name)
            self.assertEqual(found["verdict_text"], "runs", name)
            ptx = [image["number"] for image in found["images"] if image["kind"] == "PTX"]
            kernels = {kernel["demangled"]: kernel for kernel in found["kernels"] if kernel["image"] in ptx}
            self.assertEqual(set(kernels), {"add(float*, float const*, int)", "scale(float*, float)"}, name)
            add = kernels["add(float*, float const*, int)"]
            self.assertEqual((add["parameters"], add["parameter_bytes"], add["shared_bytes"], add["runs"]), (3, 20, 256, True))
            self.assertEqual(kernels["scale(float*, float)"]["max_threads"], 128)

    def test_compression(self):
        for name, wanted in (("none", "plain"), ("speed", "lz4"), ("balance", "zstd"), ("size", "zstd"), ("default", "zstd")):
            images = [image for image in self.inspect(name)["images"] if image["kind"] == "PTX"]
            self.assertEqual([image["compression"] for image in images], [wanted], name)
            with open(FILES[name], "rb") as file:
                file.seek(images[0]["offset"])
                stored = file.read(images[0]["stored_bytes"])
            self.assertEqual(len(stored), images[0]["stored_bytes"])
            if wanted == "plain":
                self.assertIn(b".version", stored)
                self.assertEqual(images[0]["bytes"], images[0]["stored_bytes"])
            else:
                self.assertGreater(images[0]["bytes"], images[0]["stored_bytes"])

    def test_machine_code_only(self):
        for name in ("nocode", "cubin"):
            found = self.inspect(name)
            self.assertEqual(found["verdict"], "cannot run")
            self.assertIn("machine code only", found["verdict_text"])
            self.assertTrue(all(not kernel["runs"] and kernel["registers"] for kernel in found["kernels"]))

    def test_architectures(self):
        found = {image["architecture"] for image in self.inspect("several")["images"]}
        self.assertEqual(found, {"sm_80", "sm_90a", "compute_90", "compute_100f"})

    def test_functions(self):
        static = {use["name"]: (use["how"], use["status"]) for use in self.inspect("default")["functions"]}
        self.assertEqual(static["cudaMalloc"], ("called", "works"))
        self.assertEqual(static["cudaGetErrorName"], ("called", "works"))
        self.assertEqual(static["cuMemAlloc"][0], "looked up")
        self.assertNotIn("cudaGraphLaunch", static)
        shared = self.inspect("shared")
        self.assertEqual(shared["libraries"], [{"name": "libcudart.so.13", "here": True}])
        self.assertIn({"name": "cudaMalloc", "library": "runtime", "how": "imported", "status": "works"}, shared["functions"])

    def test_stripped(self):
        path = self.path("stripped")
        subprocess.run(["strip", "-o", path, FILES["default"]], check=True)
        found = json.loads(self.run_bailey("inspect", "--json", path).stdout)["files"][0]
        self.assertIn("as far as can be told", found["verdict_text"])
        self.assertEqual(len(found["kernels"]), 4)

    def test_damaged(self):
        with open(FILES["fatbin"], "rb") as file:
            whole = file.read()
        for size in range(16, len(whole), 97):
            path = self.write("cut", whole[:size])
            self.assertEqual(self.run_bailey("inspect", path).returncode, 1, size)


if __name__ == "__main__":
    tree.main()
