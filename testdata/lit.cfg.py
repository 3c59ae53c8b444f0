# Configuration of the lit tests below this folder: files with RUN lines that call our tools.
#
#   scripts/run_tests.py --only=lit                                              all
#   python3 /usr/lib/llvm-19/build/utils/lit/lit.py -v testdata/passes/dce       some, with the tools of build/release
#   … -Dbin=build/dev/bin                                                        with other tools
#
# In RUN lines hlo-opt, hlo-run, hlo-info, hlo-diff, hlo-reduce, FileCheck, not, split-file and count are the programs of the build and of LLVM 19; %s is the file, %t a
# place for results. The feature `llvm` says that the CPU platform was built,
# `mpi` that mpirun is installed, `fake-cuda` that the library was, too, which stands for a CUDA driver (gpu/Inputs/fake_driver.cc), `fake-nccl` one for NCCL, `release` that the
# build is one. Folders whose files have no RUN lines (programs that
# hlo-run checks) are left out.
import os
import shutil
import subprocess

import lit.formats

root = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
config.name = "hlo"
config.test_format = lit.formats.ShTest(execute_external=False)
config.suffixes = [".hlo", ".test", ".ll"]
config.excludes = ["models", "corpus", "sharded", "bench", "ops", "run", "fuzz", "gpu_kernels", "Inputs", "lit.cfg.py"]
config.test_source_root = os.path.dirname(os.path.abspath(__file__))


def first_folder(candidates):
    return next((os.path.abspath(c) for c in candidates if c and os.path.exists(os.path.join(c, "hlo-opt"))), None)


bin_folder = first_folder([lit_config.params.get("bin"), os.environ.get("HLO_BIN"),
                           os.path.join(root, "build/release/bin"), os.path.join(root, "build/dev/bin"),
                           os.path.join(root, "build/release-without-llvm/bin")])
if bin_folder is None:
    lit_config.fatal("no hlo-opt found: run scripts/build, or name the folder with -Dbin=…")
config.test_exec_root = os.path.join(os.path.dirname(bin_folder), "lit")

config.substitutions.append(("%bin", bin_folder))
llvm = "/usr/lib/llvm-19/bin"
for name in ("hlo-opt", "hlo-run", "hlo-info", "hlo-diff", "hlo-reduce", "hlo-fuzz"):
    config.substitutions.append((rf"(?<![\w./-]){name}(?![\w.-])", os.path.join(bin_folder, name)))
for name in ("FileCheck", "split-file", "count", "not"):
    config.substitutions.append((rf"(?<![\w./-]){name}(?![\w.-])(?= |$)", os.path.join(llvm, name)))

cache = os.path.join(os.path.dirname(bin_folder), "CMakeCache.txt")
if os.path.exists(cache) and "CMAKE_BUILD_TYPE:STRING=Release" in open(cache, encoding="utf-8").read():
    config.available_features.add("release")

# Libraries that only tests load, and a program that only tests run.
for feature, substitution, library in [("fake-cuda", "%fake_cuda", "libhlo_fake_cuda.so"),
                                       ("fake-nccl", "%fake_nccl", "libhlo_fake_nccl.so"),
                                       ("custom-calls", "%custom_calls", "libhlo_custom_calls.so"),
                                       ("sim-kernel", "%sim_kernel", "sim_kernel")]:
    path = os.path.join(os.path.dirname(bin_folder), "tests", library)
    if os.path.exists(path):
        config.available_features.add(feature)
        config.substitutions.append((substitution, path))

# Several processes, on a machine of any size and by anybody.
if shutil.which("mpirun"):
    config.available_features.add("mpi")
    config.substitutions.append(("%mpirun", "mpirun --allow-run-as-root --oversubscribe"))

for name in ("HLO_ABORT", "HLO_REPRO_DIR"):
    config.environment.pop(name, None)
config.environment["HLO_REPRO_DIR"] = os.path.join(config.test_exec_root, "reproducers")
os.makedirs(config.environment["HLO_REPRO_DIR"], exist_ok=True)
config.environment["FILECHECK_OPTS"] = "--enable-var-scope --allow-unused-prefixes=false"

hlo_run = os.path.join(bin_folder, "hlo-run")
if os.path.exists(hlo_run):
    config.available_features.add("hlo-run")
    platforms = subprocess.run([hlo_run, "--list-platforms"], capture_output=True, text=True, check=False).stdout.split()
    if "cpu" in platforms:
        config.available_features.add("llvm")
