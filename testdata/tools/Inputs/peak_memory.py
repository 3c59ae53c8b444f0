"""Runs a command on a module of large constants and compares the peak of its memory with the length of the text.

usage: peak_memory.py MEGABYTES RATIO FOLDER COMMAND...    `FILE` and `OUT` in COMMAND stand for files of FOLDER
"""

import pathlib
import resource
import subprocess
import sys

megabytes, ratio, folder = int(sys.argv[1]), float(sys.argv[2]), pathlib.Path(sys.argv[3])
folder.mkdir(parents=True, exist_ok=True)
source = folder / "huge.hlo"
row = ", ".join(f"{i * 0.37 - 1.5:.6g}" for i in range(1000))
each = 1_000_000 // len(row)
with source.open("w", encoding="utf-8") as out:
    out.write("HloModule huge\n\nENTRY main {\n")
    for i in range(megabytes):
        out.write(f"  k{i} = f32[{each},1000] constant({{" + ", ".join(["{" + row + "}"] * each) + "})\n")
    out.write(f"  ROOT t = ({', '.join([f'f32[{each},1000]'] * megabytes)}) tuple(" + ", ".join(f"k{i}" for i in range(megabytes)) + ")\n}\n")
command = [{"FILE": str(source), "OUT": str(folder / "out.hlo")}.get(word, word) for word in sys.argv[4:]]
before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
done = subprocess.run(command, check=False)
peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * 1024
text = source.stat().st_size
print(f"exit {done.returncode}, text {text / 1e6:.0f} MB, peak {peak / 1e6:.0f} MB")
# What any run of the program takes, code and libraries, is no part of the ratio.
sys.exit(done.returncode or (peak > ratio * text + 30e6 and "too much memory") or 0)
