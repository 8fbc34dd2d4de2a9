# tools/python/setup.py - builds the module unweave._native by CMake, and takes the version from the project.
import importlib.util
import os
import pathlib
import re
import subprocess
import sys

from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext

HERE = pathlib.Path(__file__).resolve().parent
BUILD = HERE.parents[1] / "build" / "python"  # beside the other builds of the repository, out of the way of its sources


def require_wheel():
    """pip makes a wheel of this folder, whatever it is asked for, and setuptools below 70.1 needs the package wheel for it."""
    if importlib.util.find_spec("wheel") is None and importlib.util.find_spec("setuptools.command.bdist_wheel") is None:
        sys.exit(f"unweave: {sys.executable} has neither the package wheel nor a setuptools that does without (70.1 or later), and pip cannot build without; "
                 f"install it: {sys.executable} -m pip install wheel, or Debian's python3-wheel for /usr/bin/python3; or let pip fetch what the build "
                 "needs: leave out --no-build-isolation and --no-index")


def version():
    text = (HERE / "../../CMakeLists.txt").read_text()
    return re.search(r"project\(unweave VERSION ([0-9.]+)", text).group(1)


class CMakeBuild(build_ext):
    """Configures and builds CMakeLists.txt beside this file. CMAKE_ARGS adds options, such as -DCMAKE_PREFIX_PATH=DIR of an
    installed library."""

    def build_extension(self, ext):
        target = pathlib.Path(self.get_ext_fullpath(ext.name)).resolve().parent
        build = pathlib.Path(self.build_temp).resolve()
        build.mkdir(parents=True, exist_ok=True)
        configure = ["cmake", "-S", str(HERE), "-B", str(build), "-DCMAKE_BUILD_TYPE=Release",
                     f"-DUNWEAVE_PYTHON_OUTPUT={target}", f"-DPython3_EXECUTABLE={sys.executable}"]
        if subprocess.run(["ninja", "--version"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False).returncode == 0:
            configure += ["-G", "Ninja"]
        subprocess.run(configure + os.environ.get("CMAKE_ARGS", "").split(), check=True)
        subprocess.run(["cmake", "--build", str(build), "--target", "_native", "--parallel", str(os.cpu_count() or 1)],
                       check=True)


require_wheel()
BUILD.mkdir(parents=True, exist_ok=True)
setup(version=version(), options={"build": {"build_base": str(BUILD)}, "egg_info": {"egg_base": str(BUILD)}}, ext_modules=[Extension("unweave._native", sources=[])], cmdclass={"build_ext": CMakeBuild})
