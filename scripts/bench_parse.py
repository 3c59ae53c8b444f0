#!/usr/bin/env python3
"""Speed of the parser and the printer on a 4 MB module in the style of a JAX dump; `scripts/bench parse`.

Prints parse and print speed in MB/s (medians), and the memory of the parsed module against its text.
"""

import argparse
import json
import pathlib
import platform
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent


def processor():
    for line in pathlib.Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
        if line.startswith("model name"):
            return line.split(":", 1)[1].strip()
    return platform.machine()


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--bytes", type=int, default=4_000_000)
    parser.add_argument("--repeats", type=int, default=15)
    parser.add_argument("--build", default="build/release")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        module = pathlib.Path(folder) / "big.hlo"
        subprocess.run([sys.executable, ROOT / "scripts/make_big_module.py", f"--bytes={options.bytes}", f"--output={module}"],
                       check=True, stdout=subprocess.DEVNULL)
        program = ROOT / options.build / "bin/hlo_parse_bench"
        done = subprocess.run([program, module, str(options.repeats)], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        print(done.stderr, end="", file=sys.stderr)
        return 1
    figures = json.loads(done.stdout)
    megabytes = figures["bytes"] / 1e6
    print(f"{processor()}, {figures['repeats']} repeats, medians")
    print(f"parse  {figures['parse_ms']:8.2f} ms  {megabytes / figures['parse_ms'] * 1e3:8.1f} MB/s")
    print(f"print  {figures['print_ms']:8.2f} ms  {figures['printed_bytes'] / 1e6 / figures['print_ms'] * 1e3:8.1f} MB/s")
    print(f"memory {figures['peak_bytes'] / 1e6:8.1f} MB  {figures['peak_bytes'] / figures['bytes']:8.2f} x the text ({megabytes:.1f} MB)")
    return 0


if __name__ == "__main__":
    sys.exit(main())
