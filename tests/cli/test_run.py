#!/usr/bin/env python3
"""bailey run, help, version, nvcc: test_run.py BAILEY AUDIT COMPILER SOURCE_ROOT"""
import os
import re
import signal
import struct
import subprocess
import time
import unittest

import tree

COMMANDS = ("run", "inspect", "doctor", "nvcc", "cc", "help", "version")


class Words(tree.Tree):
    def test_help(self):
        for args in (["help"], ["--help"], ["-h"]):
            got = self.run_bailey(*args)
            self.assertEqual(got.returncode, 0)
            for command in COMMANDS:
                self.assertRegex(got.stdout, rf"(?m)^  {command} ")

    def test_no_command(self):
        self.assertEqual(self.run_bailey().returncode, 2)

    def test_help_of_each_command(self):
        for command in COMMANDS:
            got = self.run_bailey("help", command)
            self.assertEqual(got.returncode, 0)
            self.assertTrue(got.stdout.startswith(f"Usage: bailey {command}"), got.stdout)

    def test_version(self):
        for word in ("version", "--version", "-V"):
            got = self.run_bailey(word)
            self.assertEqual(got.returncode, 0)
            self.assertRegex(got.stdout, r"^bailey \d+\.\d+\.\d+\n$")
        self.assertEqual(self.run_bailey("version", "now").returncode, 2)

    def test_unknown_words(self):
        for args, says in ((["rum"], "did you mean run?"), (["docter"], "did you mean doctor?"), (["help", "inpsect"], "inspect?"),
                           (["frobnicate"], "no command frobnicate"), (["--frob"], "unknown option --frob"),
                           (["/bin/true"], "bailey run /bin/true"), (["run"], "no program"), (["run", "--frob", "x"], "--frob"),
                           (["run", "--device", "tpu", "true"], "tpu"), (["run", "--device"], "device"),
                           (["run", "--log=loud", "true"], "loud"), (["help", "a", "b"], "one word")):
            got = self.run_bailey(*args)
            self.assertEqual(got.returncode, 2, args)
            self.assertIn(says, got.stderr)
            self.assertEqual(got.stdout, "")

    def test_environment_lists_what_the_sources_read(self):
        names = set()
        for folder, _, files in os.walk(os.path.join(tree.SOURCE, "src")):
            for name in files:
                if name.endswith((".c", ".h")):
                    with open(os.path.join(folder, name)) as file:
                        names.update(re.findall(r'getenv\("(BAILEY_\w+)"\)', file.read()))
        self.assertIn("BAILEY_DEVICE", names)
        listed = set(re.findall(r"(?m)^  (BAILEY_\w+)=", self.run_bailey("help", "environment").stdout))
        self.assertEqual(names - listed, set(), "read by the sources, missing in help.c")
        self.assertEqual(listed - names, set(), "in help.c, read by no source")

    def test_full_output(self):
        with open("/dev/full", "w") as full:
            got = subprocess.run([self.bailey, "help", "environment"], stdout=full, stderr=subprocess.PIPE, text=True)
        self.assertEqual(got.returncode, 1)
        self.assertIn("standard output", got.stderr)

    def test_nvcc(self):
        got = self.run_bailey("nvcc", "x.cu")
        self.assertEqual(got.returncode, 127)
        self.assertIn("libexec/bailey/nvcc", got.stderr)
        self.write("moved tree/libexec/bailey/nvcc", "#!/bin/sh\nprintf '%s,' \"$@\"\nexit 3\n", 0o755)
        got = self.run_bailey("nvcc", "a b", "", "-c")
        self.assertEqual((got.returncode, got.stdout), (3, "a b,,-c,"))


class Programs(tree.Tree):
    def test_exit_status_and_arguments(self):
        self.assertEqual(self.run_bailey("run", "true").returncode, 0)
        self.assertEqual(self.run_bailey("run", "sh", "-c", "exit 7").returncode, 7)
        got = self.run_bailey("run", "--", "printf", "%s|", "a b", "", "--log", "*")
        self.assertEqual(got.stdout, "a b||--log|*|")

    def test_signals(self):
        self.assertEqual(self.run_bailey("run", "sh", "-c", "kill -TERM $$").returncode, -signal.SIGTERM)
        child = subprocess.Popen([self.bailey, "run", "sh", "-c", "trap 'exit 9' INT; echo ready; while :; do sleep 0.1; done"],
                                 stdout=subprocess.PIPE, text=True)
        self.assertEqual(child.stdout.readline(), "ready\n")
        child.send_signal(signal.SIGINT)
        self.assertEqual(child.wait(timeout=20), 9)
        child.stdout.close()

    def test_input_passes(self):
        got = self.run_bailey("run", "cat", input="through\n")
        self.assertEqual(got.stdout, "through\n")

    def test_not_found(self):
        got = self.run_bailey("run", "no-such-program-here")
        self.assertEqual(got.returncode, 127)
        self.assertIn("no-such-program-here: not found", got.stderr)
        self.assertEqual(self.run_bailey("run", self.path("absent")).returncode, 127)
        self.assertEqual(self.run_bailey("run", "").returncode, 127)

    def test_not_executable(self):
        plain = self.write("bin/plain", "#!/bin/sh\n")
        self.assertEqual(self.run_bailey("run", plain).returncode, 126)
        got = self.run_bailey("run", "plain", env={"PATH": self.path("bin")})
        self.assertEqual(got.returncode, 126)
        self.assertEqual(self.run_bailey("run", self.folder).returncode, 126)
        script = self.write("script", "#!/no/such/interpreter\n", 0o755)
        got = self.run_bailey("run", script)
        self.assertEqual(got.returncode, 126)
        self.assertIn("interpreter", got.stderr)

    def test_path_search(self):
        self.write("one/prog", "#!/bin/sh\necho one\n")  # not executable: passed over
        self.write("two/prog", "#!/bin/sh\necho two\n", 0o755)
        paths = f"/nowhere:{self.path('one')}:{self.path('two')}:/bin"
        self.assertEqual(self.run_bailey("run", "prog", env={"PATH": paths}).stdout, "two\n")
        got = self.run_bailey("run", "prog", env={"PATH": ":/bin"}, cwd=self.path("two"))
        self.assertEqual(got.stdout, "two\n")

    def test_script_without_first_line(self):
        script = self.write("script", "echo plain $1\n", 0o755)
        self.assertEqual(self.run_bailey("run", script, "x").stdout, "plain x\n")

    def elf(self, elf_class, machine, kind=2):
        header = b"\x7fELF" + bytes([elf_class, 1, 1]) + bytes(9) + struct.pack("<HH", kind, machine)
        return self.write(f"elf-{elf_class}-{machine}", header + bytes(100), 0o755)

    def test_other_processors(self):
        for elf_class, machine, says in ((1, 3, "32-bit"), (2, 21, "PowerPC"), (2, 243, "RISC-V"), (1, 62, "32-bit"), (2, 999, "999")):
            got = self.run_bailey("run", self.elf(elf_class, machine))
            self.assertEqual(got.returncode, 126)
            self.assertIn("another processor", got.stderr)
            self.assertIn(says, got.stderr)

    def test_static_program(self):
        program = self.compile("static", '#include <stdio.h>\nint main(void) { puts("ran"); return 5; }', "-static")
        got = self.run_bailey("run", program)
        self.assertEqual((got.returncode, got.stdout), (5, "ran\n"))
        self.assertIn("linked statically", got.stderr)

    def test_static_pie(self):
        try:
            program = self.compile("static-pie", "int main(void) { return 6; }", "-static-pie", "-fPIE")
        except subprocess.CalledProcessError:
            self.skipTest("this compiler can't link static-pie")
        got = self.run_bailey("run", program)
        self.assertEqual(got.returncode, 6)
        self.assertIn("linked statically", got.stderr)

    def test_environment(self):
        show = ["sh", "-c", "echo $LD_LIBRARY_PATH; echo $LD_AUDIT; echo $BAILEY_DEVICE,$BAILEY_LOG,$BAILEY_TRACE"]
        audit = os.path.join(self.libraries, "bailey-audit.so")
        got = self.run_bailey("run", "--device", "cpu", "--log=info", "--trace", *show, env={"LD_LIBRARY_PATH": "/x:/y"})
        self.assertEqual(got.stdout.splitlines(), [f"{self.libraries}:/x:/y", audit, "cpu,info,1"])
        got = self.run_bailey("run", *show)
        self.assertEqual(got.stdout.splitlines(), [self.libraries, audit, ",,"])
        got = self.run_bailey("run", self.bailey, "run", *show)
        self.assertEqual(got.stdout.splitlines(), [self.libraries, audit, ",,"])

    def test_apart(self):
        os.remove(os.path.join(self.libraries, "bailey-audit.so"))
        got = self.run_bailey("run", "true")
        self.assertEqual(got.returncode, 1)
        self.assertIn("bailey-audit.so", got.stderr)

    def test_colon_in_the_path(self):
        moved = self.path("a:b")
        os.rename(self.root, moved)
        self.bailey = os.path.join(moved, "bin/bailey")
        got = self.run_bailey("run", "true")
        self.assertEqual(got.returncode, 1)
        self.assertIn("':'", got.stderr)


WHO = "int who(void); int who(void) { return %d; }"
OURS, THEIRS = 42, 17


class Loader(tree.Tree):
    """A library `who` of the names that NVIDIA's have: ours in lib/bailey, another beside the program."""

    def setUp(self):
        super().setUp()
        self.ours("libcuda.so.1")
        for name in ("libcuda.so.1", "libcublas.so.12"):
            self.theirs(name)

    def ours(self, name, number=OURS):
        return self.compile(f"moved tree/lib/bailey/{name}", WHO % number, "-shared", "-fPIC", f"-Wl,-soname,{name}")

    def theirs(self, name):
        return self.compile(f"theirs/{name}", WHO % THEIRS, "-shared", "-fPIC", f"-Wl,-soname,{name}")

    def linked(self, name, library, *options):
        return self.compile(name, "int who(void); int main(void) { return who(); }", self.path(f"theirs/{library}"), *options)

    def opened(self, name):
        code = """#include <dlfcn.h>
#include <stdio.h>
int main(int argc, char **argv)
{
    void *library = dlopen(argv[1], RTLD_NOW);
    if (!library)
        return puts(dlerror()), 99;
    return ((int (*)(void))dlsym(library, "who"))();
}"""
        program = self.compile("opener", code, "-ldl", f"-Wl,-rpath,{self.path('theirs')}", "-Wl,--disable-new-dtags")
        alone = subprocess.run([program, name], capture_output=True).returncode
        return alone, self.run_bailey("run", program, name).returncode

    def test_rpath_and_runpath(self):
        for name, tags in (("rpath", "-Wl,--disable-new-dtags"), ("runpath", "-Wl,--enable-new-dtags")):
            program = self.linked(name, "libcuda.so.1", f"-Wl,-rpath,{self.path('theirs')}", tags)
            self.assertEqual(subprocess.run([program]).returncode, THEIRS)
            self.assertEqual(self.run_bailey("run", program).returncode, OURS, name)
            script = self.write("script.sh", f"#!/bin/sh\n'{program}'; echo $?\nsh -c \"'{program}'; echo \\$?\"\n", 0o755)
            self.assertEqual(self.run_bailey("run", script).stdout, f"{OURS}\n{OURS}\n", name)

    def test_needed_by_path(self):
        os.remove(self.path("theirs/libcuda.so.1"))
        self.compile("theirs/libcuda.so.1", WHO % THEIRS, "-shared", "-fPIC")  # no soname: the program notes the path
        program = self.linked("bypath", "libcuda.so.1")
        self.assertEqual(subprocess.run([program]).returncode, THEIRS)
        self.assertEqual(self.run_bailey("run", program).returncode, OURS)

    def test_opened(self):
        self.assertEqual(self.opened("libcuda.so.1"), (THEIRS, OURS))
        self.assertEqual(self.opened(self.path("theirs/libcuda.so.1")), (THEIRS, OURS))
        self.assertEqual(self.opened("libcuda.so"), (99, OURS))
        self.assertEqual(self.opened("libcuda.so.580.65.06"), (99, OURS))

    def test_versions_and_hashes(self):
        self.ours("libcudart.so.12", 12)
        self.ours("libcudart.so.11.0", 11)
        self.ours("libcudart.so", 13)
        for name, answer in (("libcudart.so.12", 12), ("libcudart.so.12.4.127", 12), ("libcudart-0a1b2c3d.so.12", 12),
                             ("libcudart-d0da41ae.so.11.0", 11), ("libcudart.so.11.0", 11), ("libcudart.so", 13),
                             ("libcudart.so.10.2", 99), ("libcudart.so.11", 99), ("libcudart-xyz.so.12", 99)):
            self.assertEqual(self.opened(name)[1], answer, name)

    def test_only_what_we_have(self):
        self.assertEqual(self.opened("libcublas.so.12"), (THEIRS, THEIRS))
        self.assertEqual(self.opened("libcunothing.so"), (99, 99))
        self.compile("theirs/libother.so", WHO % THEIRS, "-shared", "-fPIC")
        self.ours("libother.so")
        self.assertEqual(self.opened(self.path("theirs/libother.so")), (THEIRS, THEIRS))

    def test_hashed_name_that_a_program_needs(self):
        """As in Python wheels: the program needs a symbol version of a library by its hashed name."""
        map_file = self.write("map", "libcudart.so.12 { global: who; };\n")
        os.makedirs(self.path("theirs"), exist_ok=True)
        for folder, name, number in (("theirs", "libcudart-0a1b2c3d.so.12", THEIRS), ("moved tree/lib/bailey", "libcudart.so.12", OURS)):
            self.compile(f"{folder}/{name}", WHO % number, "-shared", "-fPIC", f"-Wl,-soname,{name}",
                         f"-Wl,--version-script={map_file}")
        program = self.linked("wheel", "libcudart-0a1b2c3d.so.12", f"-Wl,-rpath,{self.path('theirs')}")
        self.assertEqual(subprocess.run([program]).returncode, THEIRS)
        got = self.run_bailey("run", program)
        self.assertEqual((got.returncode, got.stderr), (OURS, ""))

    def test_cost(self):
        """The audit library must cost next to nothing: it loads no C library of its own."""
        needed = subprocess.run(["readelf", "-d", tree.AUDIT], capture_output=True, text=True, check=True).stdout
        self.assertNotIn("NEEDED", needed)

        def best(command, env=None):
            times = []
            for _ in range(15):
                start = time.monotonic()
                subprocess.run(command, env=env)
                times.append(time.monotonic() - start)
            return min(times)

        plain = best(["/bin/true"])
        audited = best(["/bin/true"], {"LD_AUDIT": os.path.join(self.libraries, "bailey-audit.so")})
        self.assertLess(audited - plain, 0.005)


if __name__ == "__main__":
    tree.main()
