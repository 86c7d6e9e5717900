"""What the tests of the command share: a tree as installed, made in a temporary folder, and a way to run things."""
import os
import shutil
import subprocess
import sys
import tempfile
import unittest

BAILEY, AUDIT, COMPILER, SOURCE = sys.argv[1:5]
REST = sys.argv[5:]


class Tree(unittest.TestCase):
    """self.root is a moved Bailey: bin/bailey, lib/bailey/bailey-audit.so. The folder's name holds a space."""

    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="bailey cli ")
        self.addCleanup(shutil.rmtree, self.folder)
        self.root = os.path.join(self.folder, "moved tree")
        self.libraries = os.path.join(self.root, "lib/bailey")
        os.makedirs(os.path.join(self.root, "bin"))
        os.makedirs(self.libraries)
        self.bailey = os.path.join(self.root, "bin/bailey")
        shutil.copy(BAILEY, self.bailey)
        shutil.copy(AUDIT, self.libraries)

    def path(self, name):
        return os.path.join(self.folder, name)

    def write(self, name, text, mode=0o644):
        path = self.path(name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "wb") as file:
            file.write(text if isinstance(text, bytes) else text.encode())
        os.chmod(path, mode)
        return path

    def compile(self, name, source, *options):
        path = self.path(name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        code = self.write(name + ".c", source)
        subprocess.run([*COMPILER.split(), "-o", path, code, *options], check=True)
        return path

    def run_bailey(self, *args, env=None, **more):
        environment = {k: v for k, v in os.environ.items() if not k.startswith(("BAILEY_", "LD_"))}
        environment.update(env or {})
        return subprocess.run([self.bailey, *args], capture_output=True, text=True, env=environment, timeout=60, **more)


def main():
    unittest.main(argv=[sys.argv[0]], verbosity=2)
