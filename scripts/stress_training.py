#!/usr/bin/env python3
"""Kills training loops of hlo-run at any moment, again and again, and resumes them.

    scripts/stress_training.py --hlo-run=build/release/bin/hlo-run --kills=100

Three loops of 10,000 steps: the increment of the HLO specification, and a training step of a small network, on one device and on two. Each is run once without a stop,
during which the memory of its process must not grow, and once with SIGKILL after a random time, over and over, resumed from the newest whole
checkpoint. The result must be the same, bit for bit; no killed process may leave a checkpoint that cannot be read; what is left of an
unfinished one is gone in the end. Closes with `N passed, N failed`. Standard library only.
"""

import argparse
import pathlib
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
INPUTS = ROOT / "testdata" / "tools" / "Inputs"
LOOPS = [(INPUTS / "increment.hlo", ["--input-dist=zeros"]), (INPUTS / "mlp_step.hlo", ["--seed=3"]), (INPUTS / "data_parallel_step.hlo", ["--seed=3"])]
STEPS = 10_000
GROWTH = 1 << 20  # bytes that the heap may move by


def resident(pid):
    """Bytes in memory; 0 when the process is over."""
    try:
        for line in pathlib.Path(f"/proc/{pid}/status").read_text(encoding="utf-8").splitlines():
            if line.startswith("VmRSS:"):
                return int(line.split()[1]) * 1024
    except OSError:
        pass
    return 0


class Stress:
    def __init__(self, hlo_run, kills, seed):
        self.hlo_run, self.kills = hlo_run, kills
        self.random = random.Random(seed)
        self.failed = self.passed = 0

    def expect(self, good, what):
        self.passed += bool(good)
        self.failed += not good
        if not good:
            print(f"FAIL {what}")

    def command(self, hlo, words, checkpoints, steps=STEPS):
        return [self.hlo_run, hlo, *words, "--feed=aliases", f"--iterations={steps}", f"--checkpoint={checkpoints}", "--checkpoint-every=37",
                "--resume", "--print=none", "--threads=1"]

    def one(self, hlo, words, folder):
        whole, killed = folder / "whole", folder / "killed"
        subprocess.run(self.command(hlo, words, whole), check=True, capture_output=True)
        self.expect(self.is_flat(hlo, words, folder / "flat"), f"{hlo.name}: memory grows")
        kills = 0
        while kills < self.kills:
            process = subprocess.Popen(self.command(hlo, words, killed), stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
            time.sleep(self.random.uniform(0, 0.25))
            process.send_signal(signal.SIGKILL)
            said = process.communicate()[1]
            done = process.returncode == 0
            self.expect(done or process.returncode == -signal.SIGKILL, f"{hlo.name}: {said.strip()}")
            kills += 1
            if done:
                shutil.rmtree(killed)
        if killed.exists() and (killed / f"step-{STEPS}").exists():
            shutil.rmtree(killed)
        last = subprocess.run(self.command(hlo, words, killed), check=False, capture_output=True, text=True)
        self.expect(last.returncode == 0, f"{hlo.name}: {last.stderr.strip()}")
        self.expect("is not used" not in last.stderr, f"{hlo.name}: {last.stderr.strip()}")
        names = sorted(path.name for path in killed.iterdir())
        self.expect(all(name.startswith("step-") for name in names) and len(names) <= 2, f"{hlo.name}: {names} are left")
        expected = whole / f"step-{STEPS}"
        for array in sorted(expected.rglob("*.npy")):
            name = array.relative_to(expected)
            same = array.read_bytes() == (killed / f"step-{STEPS}" / name).read_bytes()
            self.expect(same, f"{hlo.name}: {name} has other bits")
        print(f"{hlo.name}: {kills} kills")

    def is_flat(self, hlo, words, folder):
        """While so many steps run that it is seen; the beginning does not count."""
        process = subprocess.Popen(self.command(hlo, words, folder, 100 * STEPS), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        time.sleep(1)
        samples = []
        for _ in range(20):
            samples.append(resident(process.pid))
            time.sleep(0.1)
        process.kill()
        process.wait()
        samples = [sample for sample in samples if sample]
        return len(samples) > 3 and max(samples) - samples[0] < GROWTH


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--hlo-run", default=ROOT / "build" / "release" / "bin" / "hlo-run", help="the tool (build/release/bin/hlo-run)")
    parser.add_argument("--kills", type=int, default=100, help="of each loop (100)")
    parser.add_argument("--seed", type=int, default=1, help="of the times (1)")
    args = parser.parse_args()
    stress = Stress(args.hlo_run, args.kills, args.seed)
    for hlo, words in LOOPS:
        with tempfile.TemporaryDirectory() as folder:
            stress.one(hlo, words, pathlib.Path(folder))
    print(f"{stress.passed} passed, {stress.failed} failed")
    sys.exit(1 if stress.failed else 0)


if __name__ == "__main__":
    main()
