"""A Spack recipe for incprof. NOT RUN: Spack is not on PyPI, and was not at hand.

Its directives are those of Spack's own sources. Of the packages, py-kneed and the py-tree-sitter ones were not among
Spack's then: they need recipes too.
"""

from spack.package import *


class Incprof(PythonPackage):
    """Finds the phases of C, C++ and Fortran programs from interval profiles, and where in the source each lives."""

    homepage = "https://pypi.org/project/incprof"
    pypi = "incprof/incprof-0.1.0.tar.gz"

    license("BSD-3-Clause AND MIT")

    # The checksum is in SHA256SUMS of the release: `spack checksum incprof` adds it.
    version("0.1.0")

    depends_on("c", type="build")
    depends_on("cmake@3.16:", type="build")
    depends_on("py-scikit-build-core@0.11:", type="build")
    depends_on("python@3.11:", type=("build", "run"))

    depends_on("py-cffi@1.17:", type=("build", "run"))
    depends_on("py-jinja2@3.1:", type=("build", "run"))
    depends_on("py-kneed@0.8.5:", type=("build", "run"))
    depends_on("py-numpy@2.0:", type=("build", "run"))
    depends_on("py-pandas@2.2:", type=("build", "run"))
    depends_on("py-pyelftools@0.31:", type=("build", "run"))
    depends_on("py-rich@13.7:", type=("build", "run"))
    depends_on("py-scikit-learn@1.5:", type=("build", "run"))
    depends_on("py-scipy@1.13:", type=("build", "run"))
    depends_on("py-shtab@1.8:", type=("build", "run"))
    depends_on("py-threadpoolctl@3.5:", type=("build", "run"))
    depends_on("py-tree-sitter@0.25:0.26", type=("build", "run"))
    depends_on("py-tree-sitter-c@0.24", type=("build", "run"))
    depends_on("py-tree-sitter-cpp@0.23", type=("build", "run"))
    depends_on("py-tree-sitter-fortran@0.6", type=("build", "run"))

    # The collector is glibc's gprof runtime's replacement, in assembly for these two.
    requires("target=x86_64:", "target=aarch64:", policy="one_of")
    conflicts("platform=darwin")

    def setup_run_environment(self, env):
        """`find_package(appekg)` and `pkg-config appekg` find what lies in the Python package."""
        libraries = join_path(python_platlib, "appekg", "_lib")
        env.prepend_path("PKG_CONFIG_PATH", join_path(libraries, "pkgconfig"))
        env.prepend_path("CMAKE_PREFIX_PATH", libraries)
