#!/usr/bin/env python3
"""bailey doctor over folders that stand for other machines: test_doctor.py BAILEY AUDIT COMPILER SOURCE_ROOT"""
import json
import os
import unittest

import tree

DEBIAN = 'PRETTY_NAME="Debian GNU/Linux 12 (bookworm)"\nID=debian\n'
UBUNTU = 'PRETTY_NAME="Ubuntu 24.04"\nID=ubuntu\nID_LIKE=debian\n'
FEDORA = 'PRETTY_NAME="Fedora Linux 41"\nID=fedora\n'
OTHER = 'PRETTY_NAME="Another"\nID=another\n'
CPUINFO = "processor\t: 0\nmodel name\t: Test CPU 9000\nflags\t\t: fpu sse2 avx avx2\n\nprocessor\t: 1\nmodel name\t: Test CPU 9000\n"


class Doctor(tree.Tree):
    def setUp(self):
        super().setUp()
        os.chmod(self.folder, 0o755)
        self.write("moved tree/lib/bailey/libcuda.so.1", "")
        self.write("moved tree/libexec/bailey/bailey-cc", "", 0o755)
        self.machine("etc/os-release", DEBIAN)
        self.machine("etc/group", "root:x:0:\nrender:x:3333:\nvideo:x:3334:other,nobody\n")
        self.machine("proc/cpuinfo", CPUINFO)
        self.machine("proc/meminfo", "MemTotal:        8388608 kB\nMemFree: 1 kB\nMemAvailable:    4194304 kB\n")

    def machine(self, name, text, mode=0o644):
        return self.write("machine/" + name, text, mode)

    def gpu(self, address, vendor, device, pci_class="0x030000", driver=None, render=None):
        folder = f"sys/bus/pci/devices/{address}"
        self.machine(f"{folder}/vendor", vendor + "\n")
        self.machine(f"{folder}/device", device + "\n")
        self.machine(f"{folder}/class", pci_class + "\n")
        if driver:
            os.symlink(f"../../../../bus/pci/drivers/{driver}", self.path(f"machine/{folder}/driver"))
        if render:
            self.machine(f"{folder}/drm/{render}/dev", "")
            self.machine(f"dev/dri/{render}", "", 0o660)

    def kfd(self, node, version, location):
        self.machine(f"sys/class/kfd/kfd/topology/nodes/{node}/properties",
                     f"cpu_cores_count 0\nsimd_count 96\ngfx_target_version {version}\nlocation_id {location}\ndomain 0\n")

    def radeon(self):
        """A whole RX 7900 with its software."""
        self.gpu("0000:03:00.0", "0x1002", "0x744c", driver="amdgpu", render="renderD128")
        self.kfd(0, 0, 0)
        self.kfd(1, 110000, 3 << 8)
        self.machine("dev/kfd", "", 0o660)
        self.machine("usr/lib/x86_64-linux-gnu/libamdhip64.so.5.2.50203", "")
        os.symlink("libamdhip64.so.5.2.50203", self.path("machine/usr/lib/x86_64-linux-gnu/libamdhip64.so.5"))
        self.machine("usr/lib/x86_64-linux-gnu/libvulkan.so.1", "")
        self.machine("usr/share/vulkan/icd.d/radeon_icd.x86_64.json", "{}")

    def doctor(self, status=0, user=None, env=None):
        """The answer as JSON; user: the number of another user to be."""
        def become():
            if user is not None:
                os.setgroups([])
                os.setgid(user)
                os.setuid(user)
        more = {"env": {"HOME": self.folder, **(env or {})}, "preexec_fn": become}
        args = ["doctor", "--root", self.path("machine")]
        text = self.run_bailey(*args, **more)
        got = self.run_bailey(*args, "--json", **more)
        self.assertEqual((got.returncode, text.returncode), (status, status), got.stderr)
        found = json.loads(got.stdout)
        for missing in found["missing"]:
            self.assertIn(missing["text"], text.stdout)
            self.assertIn(missing.get("command", ""), text.stdout)
        return found

    def missing(self, found, about):
        return [(m["text"], m.get("command")) for m in found["missing"] if m["about"] == about]

    def assert_missing(self, found, about, text, command):
        self.assertTrue(any(text in t and command == c for t, c in self.missing(found, about)), found["missing"])

    def test_usage(self):
        self.assertEqual(self.run_bailey("doctor", "--frob").returncode, 2)
        self.assertEqual(self.run_bailey("doctor", "--root", "/no/such/folder").returncode, 2)
        self.assertEqual(self.run_bailey("doctor", "x").returncode, 2)

    def test_this_machine(self):
        got = self.run_bailey("doctor", "--json")
        self.assertEqual(got.returncode, 0, got.stderr)
        cpu = json.loads(got.stdout)["devices"][0]
        self.assertEqual(cpu["threads"], len(os.sched_getaffinity(0)))
        self.assertGreater(cpu["memory_bytes"], 1 << 28)

    def test_no_gpu(self):
        self.gpu("0000:00:1f.3", "0x8086", "0x1234", pci_class="0x040300")  # a sound card
        self.gpu("0000:00:02.0", "0x1234", "0x1111")  # an emulated display
        found = self.doctor()
        self.assertEqual(found["missing"], [])
        self.assertEqual(len(found["devices"]), 1)
        cpu = found["devices"][0]
        self.assertEqual((cpu["kind"], cpu["usable"], cpu["model"], cpu["threads"], cpu["simd"]), ("cpu", True, "Test CPU 9000", 2, "AVX2"))
        self.assertEqual((cpu["memory_bytes"], cpu["memory_free_bytes"]), (8 << 30, 4 << 30))
        self.assertEqual(found["system"], "Debian GNU/Linux 12 (bookworm)")

    def test_cache(self):
        where = {"XDG_CACHE_HOME": self.path("cache")}
        self.assertEqual(self.doctor(env=where)["devices"][0]["cache_state"], "made when needed")
        os.makedirs(self.path("cache/bailey"))
        cpu = self.doctor(env=where)["devices"][0]
        self.assertEqual((cpu["cache"], cpu["cache_state"]), (self.path("cache/bailey"), "ready"))
        self.assertEqual(self.doctor(env={"BAILEY_CACHE": "0"})["devices"][0]["cache_state"], "off")
        self.assertEqual(self.doctor(env={"BAILEY_CACHE_DIR": self.path("own")})["devices"][0]["cache"], self.path("own"))

    def test_own_files(self):
        os.remove(self.path("moved tree/libexec/bailey/bailey-cc"))
        found = self.doctor(status=1)
        self.assertFalse(found["devices"][0]["usable"])
        self.assertIn("bailey-cc is missing", self.missing(found, "cpu")[0][0])
        found = self.doctor(env={"BAILEY_CC": "/bin/true"})
        self.assertTrue(found["devices"][0]["helper_found"])
        os.remove(self.path("moved tree/lib/bailey/libcuda.so.1"))
        self.assertIn("libcuda.so.1 is missing", self.missing(self.doctor(status=1), "cpu")[0][0])

    def test_whole_radeon(self):
        self.radeon()
        found = self.doctor()
        gpu = found["devices"][1]
        self.assertEqual((gpu["kind"], gpu["address"], gpu["pci_id"], gpu["architecture"], gpu["driver"], gpu["render_node"]),
                         ("amd", "0000:03:00.0", "1002:744c", "gfx1100", "amdgpu", "/dev/dri/renderD128"))
        self.assertFalse(gpu["usable"])
        self.assertEqual(found["rocm"]["libamdhip64"], "/usr/lib/x86_64-linux-gnu/libamdhip64.so.5")
        self.assertEqual(found["rocm"]["version"], "5.2.50203")
        self.assertEqual(found["vulkan"], {"loader": "/usr/lib/x86_64-linux-gnu/libvulkan.so.1",
                                           "drivers": ["/usr/share/vulkan/icd.d/radeon_icd.x86_64.json"]})
        if os.geteuid() == 0:
            self.assertEqual(found["missing"], [])

    def test_architectures(self):
        for bus, version, name in ((1, 90010, "gfx90a"), (2, 90402, "gfx942"), (3, 100300, "gfx1030"), (4, 110501, "gfx1151"),
                                   (5, 120001, "gfx1201"), (6, 90000, "gfx900"), (7, 80003, "gfx803")):
            self.gpu(f"0000:{bus:02x}:00.0", "0x1002", "0x1", driver="amdgpu")
            self.kfd(bus, version, bus << 8)
            found = {gpu["address"]: gpu.get("architecture") for gpu in self.doctor()["devices"][1:]}
            self.assertEqual(found[f"0000:{bus:02x}:00.0"], name)

    def test_rocm_of_amd(self):
        self.radeon()
        self.machine("opt/rocm/.info/version", "6.3.1-48\n")
        self.assertEqual(self.doctor()["rocm"]["version"], "6.3.1-48")

    def test_bare_radeon(self):
        for release, hip, vulkan, firmware in (
                (DEBIAN, "apt-get install libamdhip64-5", "apt-get install mesa-vulkan-drivers", "apt-get install firmware-amd-graphics"),
                (UBUNTU, "apt-get install libamdhip64-5", "apt-get install mesa-vulkan-drivers", "apt-get install firmware-amd-graphics"),
                (FEDORA, "dnf install rocm-hip", "dnf install mesa-vulkan-drivers", "dnf install amd-gpu-firmware"),
                (OTHER, None, None, None)):
            self.machine("etc/os-release", release)
            if release == DEBIAN:
                self.gpu("0000:03:00.0", "0x1002", "0x744c", pci_class="0x038000")
            found = self.doctor()
            sudo = "sudo {}".format
            self.assert_missing(found, "0000:03:00.0", "amdgpu is not bound", "sudo modprobe amdgpu")
            self.assert_missing(found, "0000:03:00.0", "firmware", firmware and sudo(firmware))
            self.assert_missing(found, "rocm", "libamdhip64", hip and sudo(hip))
            self.assert_missing(found, "vulkan", "no Vulkan driver for the AMD GPU", vulkan and sudo(vulkan))
            self.assertIn("libvulkan.so.1", str(self.missing(found, "vulkan")))

    def test_container_without_devices(self):
        self.radeon()
        os.remove(self.path("machine/dev/kfd"))
        os.remove(self.path("machine/dev/dri/renderD128"))
        found = self.doctor()
        self.assert_missing(found, "rocm", "--device=/dev/kfd", None)
        self.assert_missing(found, "0000:03:00.0", "--device=/dev/dri", None)

    @unittest.skipUnless(os.geteuid() == 0, "needs root, to be other users")
    def test_permissions(self):
        self.radeon()
        for node in ("kfd", "dri/renderD128"):
            os.chown(self.path(f"machine/dev/{node}"), 0, 3333)
        found = self.doctor(user=65534)
        self.assertEqual(found["groups"], {"render": "not a member", "video": "member from the next login on"})
        self.assertEqual(found["rocm"]["kfd"], "no permission")
        self.assert_missing(found, "rocm", "/dev/kfd: no permission", "sudo usermod -aG render nobody")
        self.assert_missing(found, "0000:03:00.0", "renderD128: no permission", "sudo usermod -aG render nobody")
        self.machine("etc/group", "root:x:0:\nrender:x:3333:nobody\nvideo:x:3334:\n")
        found = self.doctor(user=65534)
        self.assertIn("log in again", self.missing(found, "rocm")[0][0])
        found = self.doctor(user=3333, env={"BAILEY_CACHE": "0"})  # whose group of that number is render
        self.assertEqual(found["groups"]["render"], "member")
        self.assertEqual(found["missing"], [])

    def test_intel(self):
        self.gpu("0000:00:02.0", "0x8086", "0x56a0", driver="xe", render="renderD129")
        found = self.doctor()
        gpu = found["devices"][1]
        self.assertEqual((gpu["kind"], gpu["driver"]), ("intel", "xe"))
        self.assertEqual(self.missing(found, "0000:00:02.0"), [])
        self.assertEqual(self.missing(found, "rocm"), [])
        self.assert_missing(found, "vulkan", "Intel", "sudo apt-get install mesa-vulkan-drivers")

    def test_wrong_driver(self):
        self.gpu("0000:03:00.0", "0x1002", "0x6798", driver="radeon")
        found = self.doctor()
        self.assert_missing(found, "0000:03:00.0", "bound: radeon", "sudo modprobe amdgpu")

    def test_out_of_memory(self):
        self.radeon()
        args = ["doctor", "--root", self.path("machine")]
        whole = self.run_bailey(*args).stdout
        for nth in range(1, 300):
            got = self.run_bailey(*args, env={"BAILEY_TEST_FAULT": f"alloc:{nth}"})
            self.assertIn(got.returncode, (0, 1), nth)
        self.assertEqual(got.stdout, whole)

    def test_damaged_files(self):
        """Whatever the system says: no crash."""
        self.gpu("0000:03:00.0", "zzz", "", pci_class="")
        self.gpu("nonsense", "0x1002", "0x1", driver="amdgpu")
        self.gpu("0000:04:00.0", "0x1002", "0x1", driver="amdgpu")
        self.machine("sys/class/kfd/kfd/topology/nodes/0/properties", "gfx_target_version\nlocation_id -\n\0\0")
        self.machine("sys/class/kfd/kfd/topology/nodes/1/properties", b"gfx_target_version 99999999999999999999\nlocation_id 1024\n")
        self.machine("etc/group", ":::\nrender\nvideo:x:\n::::,,,,\n")
        self.machine("etc/os-release", "ID\nID=\n=\nID_LIKE=\"")
        self.machine("proc/cpuinfo", "model name\nflags:")
        self.machine("proc/meminfo", "MemTotal:")
        self.doctor()


if __name__ == "__main__":
    tree.main()
