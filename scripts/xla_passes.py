#!/usr/bin/env python3
"""Compiles HLO texts with XLA:CPU and tells what single passes did; the worker of compare_passes.py and bench_passes.py.

    python scripts/xla_passes.py --to=DIR [--passes=dce,cse] [--partitions=N] [--time] FILE…

Writes DIR/N/… with XLA's dumps around the named passes for the N-th file (counted from 0) and prints one JSON line for each:
{"index": N, "ok": true, "runs": [[pass, pipeline, before, after], …], "times": {pass: [microseconds, …]}}. Needs jaxlib 0.10.2. The text goes to XLA as
StableHLO, the only form its Python interface takes; with several partitions, its sharding propagation and SPMD partitioner run, too. When XLA aborts, so does this process: start it again after the last line.
"""

import argparse
import glob
import json
import os
import re
import shutil
import sys

LOG_LINE = re.compile(r"I\d{4} (\d\d):(\d\d):(\d\d\.\d+) +\d+ hlo_pass_pipeline\.cc:\d+\] *(.*)")
ENDED = re.compile(r"HLO pass: (.+?) time: .*?\((\d+) us\)")
FILE = re.compile(r"module_(\d+)\.(.*)\.(\d{4})\.([^.]+)\.after_(.+)\.before_(.+)\.txt$")


def runs_of(folder):
    """(pass, pipeline, file before, file after) of each run that was dumped on both sides."""
    files = []
    for path in glob.glob(os.path.join(folder, "*.txt")):
        match = FILE.search(os.path.basename(path))
        if match:
            files.append((int(match[1]), int(match[3]), match[4], match[5], match[6], path))
    files.sort()
    result = []
    for before, after in zip(files, files[1:]):
        # (Some passes dump their steps in between.)
        if before[0] == after[0] and before[2] == after[2] and before[4] == after[3]:
            result.append((before[4], before[2], before[5], after[5]))
    return result


def times_of(log):
    """Pass -> microseconds of each of its runs, from what XLA's pass pipeline logs; its checks of invariants do not count."""
    times, checked, check_began = {}, 0, 0
    for line in log.splitlines():
        match = LOG_LINE.match(line)
        if not match:
            continue
        hours, minutes, seconds, what = match.groups()
        now = (int(hours) * 3600 + int(minutes) * 60 + float(seconds)) * 1e6
        if what.startswith("Invariant checker done"):
            checked += now - check_began
        elif what.startswith("Invariant checker"):
            check_began = now
        elif what.startswith("HLO pass: "):
            ended = ENDED.match(what)
            times.setdefault(ended[1], []).append(max(0.0, int(ended[2]) - checked))
        elif what.startswith("HLO pass "):
            checked = 0
    return times


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--to", required=True)
    parser.add_argument("--passes", default="")
    parser.add_argument("--partitions", type=int, default=1)
    parser.add_argument("--time", action="store_true")
    parser.add_argument("files", nargs="+")
    options = parser.parse_args()
    scratch = os.path.join(options.to, "new")
    shutil.rmtree(scratch, ignore_errors=True)
    os.makedirs(scratch)
    flags = [f"--xla_dump_to={scratch}", "--xla_cpu_parallel_codegen_split_count=1",
             f"--xla_force_host_platform_device_count={options.partitions}"]
    if options.passes:
        names = "|".join(re.escape(name) for name in options.passes.split(","))
        flags.append(f"--xla_dump_hlo_pass_re=^({names})$")
        flags.append("--xla_dump_large_constants=true")
    log = os.path.join(options.to, "log")
    if options.time:
        os.environ.update(TF_CPP_MIN_LOG_LEVEL="0", TF_CPP_MAX_VLOG_LEVEL="0", TF_CPP_VMODULE="hlo_pass_pipeline=1")
        os.dup2(os.open(log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC), 2)
    os.environ["XLA_FLAGS"] = " ".join(flags)
    import jax
    import numpy
    jax.config.update("jax_platforms", "cpu")
    from jaxlib import _hlo, _jax, xla_client
    devices = tuple(jax.devices("cpu"))
    for index, path in enumerate(options.files):
        shutil.rmtree(scratch)
        os.makedirs(scratch)
        print(json.dumps({"index": index, "starts": True}), flush=True)
        try:
            module = _hlo.hlo_module_from_text(open(path, encoding="utf-8").read())
            code = _jax.mlir.hlo_to_stablehlo(module.as_serialized_hlo_module_proto())
            compile_options = xla_client.CompileOptions()
            if options.partitions > 1:
                build = compile_options.executable_build_options
                compile_options.num_partitions = build.num_partitions = options.partitions
                build.use_spmd_partitioning, build.use_shardy_partitioner = True, False
                build.device_assignment = xla_client.DeviceAssignment.create(numpy.arange(options.partitions).reshape(1, -1))
            devices[0].client.compile_and_load(code, _jax.DeviceList(devices), compile_options)
        except Exception as error:  # whatever XLA says: the module is not comparable
            print(json.dumps({"index": index, "ok": False, "message": str(error).splitlines()[0]}), flush=True)
            continue
        folder = os.path.join(options.to, str(index))
        shutil.rmtree(folder, ignore_errors=True)
        os.makedirs(folder)
        for name in os.listdir(scratch):
            if name.endswith(".txt"):
                shutil.move(os.path.join(scratch, name), folder)
        times = {}
        if options.time:
            with open(log, encoding="utf-8", errors="replace") as lines:
                times = times_of(lines.read())
            os.truncate(log, 0)
            os.lseek(2, 0, os.SEEK_SET)
        print(json.dumps({"index": index, "ok": True, "runs": runs_of(folder), "times": times}), flush=True)


if __name__ == "__main__":
    sys.exit(main())
