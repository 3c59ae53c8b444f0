#!/usr/bin/env python3
"""Finds instructions of PTX that all lanes of a warp, or all warps of a block, must reach together, and may not.

    scripts/ptx_divergence.py [--build=build/release] [FILE.ptx or FILE.hlo…]

Modules (default: those of testdata/gpu_kernels and the small ones of testdata/models) are compiled for sm_90 first, with kernels of our own.
A warp that meets (`shfl.sync`, `mma.sync`, `ldmatrix.sync`, `vote.sync`, …) below a branch that its lanes take differently, or a block
(`bar.sync`) below one that its warps take differently, hangs or computes anything at all. For each register the bits are followed that may
differ between the lanes of a warp, and those that may differ between the threads of a block; an instruction is below a branch when it is
control dependent on it. Blocks of threads have one dimension, as those of hlo-run have. Exit code 1 when something is found.
"""
import argparse
import collections
import dataclasses
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
ALL = (1 << 64) - 1
# What may differ: the lanes of a warp are the low bits of tid.x; a block has no more threads than fit in ten.
SEEDS = {
    "warp": {"%tid.x": 31, "%laneid": 31},
    "block": {"%tid.x": 1023, "%laneid": 31, "%warpid": 31},
}
# The others, such as %ctaid.x and %ntid.x, are the same in a block.
VARY_ANYWHERE = re.compile(r"%(tid\.[yz]|lanemask_\w+|clock\w*|globaltimer\w*|smid)$")
REGISTER = re.compile(r"%\w+(?:\.[xyz])?")
BARRIER = re.compile(r"(bar|barrier)(\.cta)?\.(sync|red|arrive)")
MEETING = re.compile(r"\w[\w.]*\.sync\b|bar\.(red|arrive)\b")


@dataclasses.dataclass
class Instruction:
    text: str
    line: int
    opcode: str  # with its suffixes
    operands: list  # texts; the first is what is written, where something is
    predicate: str  # the register that guards it, or ""


@dataclasses.dataclass
class Block:
    label: str
    instructions: list = dataclasses.field(default_factory=list)
    successors: list = dataclasses.field(default_factory=list)


def split_operands(text):
    """At the commas outside of braces and brackets."""
    parts, depth = [""], 0
    for letter in text:
        depth += (letter in "{[(") - (letter in "}])")
        if letter == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += letter
    return [part.strip() for part in parts if part.strip()]


def parse_instruction(text, line):
    guard = re.match(r"@!?(%\w+)\s+", text)
    rest = text[guard.end():] if guard else text
    opcode, _, operands = rest.partition(" ") if not re.match(r"\S+\t", rest) else rest.partition("\t")
    return Instruction(text, line, opcode.strip(), split_operands(operands), guard.group(1) if guard else "")


def functions_of(text):
    """(name, blocks in the order of the text) of each function that has a body."""
    name, blocks, depth, pending = "", [], 0, ""
    for number, raw in enumerate(text.splitlines(), 1):
        line = raw.split("//")[0].strip()
        if depth == 0:
            head = re.search(r"\.(?:entry|func)\s+(?:\([^)]*\)\s*)?([\w$]+)", line)
            if head:
                name, blocks = head.group(1), [Block("")]
            depth += line == "{" and name != ""
            continue
        if line in ("{", "}"):
            depth += 1 if line == "{" else -1
            if depth == 0:
                yield name, blocks
                name = ""
            continue
        label = re.match(r"(\$?\w+):", line)
        if label and not pending:
            blocks.append(Block(label.group(1)))
            line = line[label.end():].strip()
        if not line or (line.startswith(".") and not pending):
            continue
        pending += line + " "
        while ";" in pending:
            statement, _, pending = pending.partition(";")
            pending = pending.strip()
            if not statement.strip():
                continue
            instruction = parse_instruction(statement.strip(), number)
            blocks[-1].instructions.append(instruction)
            if instruction.opcode.split(".")[0] in ("bra", "brx", "ret", "exit", "trap"):
                blocks.append(Block(f"after line {number}"))


def link(blocks):
    """The successors of each block by number; len(blocks) is the end."""
    place = {block.label: i for i, block in enumerate(blocks)}
    end = len(blocks)
    for i, block in enumerate(blocks):
        last = block.instructions[-1] if block.instructions else None
        kind = last.opcode.split(".")[0] if last else ""
        following = i + 1
        if kind == "bra":
            block.successors = [place[last.operands[0]]] + ([following] if last.predicate else [])
        elif kind == "brx":
            block.successors = sorted(place.values())  # any
        elif kind in ("ret", "exit", "trap"):
            block.successors = [end] + ([following] if last.predicate else [])
        else:
            block.successors = [following]


def control_dependences(blocks):
    """For each block the blocks whose last instruction decides whether it is reached (Ferrante, Ottenstein and Warren 1987)."""
    end = len(blocks)
    after = [set(range(end + 1)) for _ in blocks] + [{end}]  # those that every path from here passes
    changed = True
    while changed:
        changed = False
        for i in reversed(range(end)):
            new = {i} | set.intersection(*(after[s] for s in blocks[i].successors))
            if new != after[i]:
                after[i], changed = new, True
    result = [set() for _ in blocks]
    for i, block in enumerate(blocks):
        if len(set(block.successors)) < 2:
            continue
        for successor in block.successors:
            for dependent in after[successor] - (after[i] - {i}) - {end}:
                result[dependent].add(i)
    return result


def constant(text):
    try:
        return int(text, 0)
    except ValueError:
        return None


def lowest_and_above(bits):
    """What sums of values may differ in that differ in these bits: carries go up."""
    return ALL & ~((bits & -bits) - 1) if bits else 0


class Divergence:
    """The bits of registers that may differ within a warp, or a block, of one function."""

    def __init__(self, blocks, seeds, within):
        self.blocks, self.seeds, self.within = blocks, seeds, within
        self.bits = collections.defaultdict(int)
        self.dependences = control_dependences(blocks)
        self.diverges = [False] * len(blocks)  # some of the threads are elsewhere
        definitions = collections.Counter(register for block in blocks for instruction in block.instructions
                                          for register in self.written(instruction))
        self.several = {register for register, count in definitions.items() if count > 1}
        changed = True
        while changed:
            changed = self.sweep()

    @staticmethod
    def written(instruction):
        kind = instruction.opcode.split(".")[0]
        if kind in ("st", "bra", "brx", "ret", "exit", "trap", "bar", "barrier", "membar", "fence", "red", "cp", "call"):
            return []
        return REGISTER.findall(instruction.operands[0]) if instruction.operands else []

    def decider(self, block):
        """What decides where the block goes on."""
        last = self.blocks[block].instructions[-1]
        return last.predicate or last.operands[0]

    def of(self, text):
        """Of an operand: a register, a constant, an address."""
        bits = 0
        for register in REGISTER.findall(text):
            bits |= ALL if VARY_ANYWHERE.match(register) else self.seeds.get(register, self.bits[register])
        return bits

    def sweep(self):
        changed = False
        for i, block in enumerate(self.blocks):
            diverges = any(self.diverges[b] or self.of(self.decider(b)) for b in self.dependences[i])
            changed |= diverges and not self.diverges[i]
            self.diverges[i] = self.diverges[i] or diverges
            for instruction in block.instructions:
                written = self.written(instruction)
                bits = self.result(instruction) if written else 0
                for register in written:
                    own = bits
                    if (register in self.several and self.diverges[i]) or self.of(instruction.predicate):
                        own = ALL
                    changed |= own | self.bits[register] != self.bits[register]
                    self.bits[register] |= own
        return changed

    def result(self, instruction):
        parts, read = instruction.opcode.split("."), instruction.operands[1:]
        kind, bits = parts[0], [self.of(operand) for operand in read]
        if kind == "shfl" and self.within == "warp" and parts[2] == "idx" and not bits[1]:
            return 0  # all have the value of one lane
        if kind in ("vote", "redux", "activemask") and self.within == "warp":
            return 0
        if kind in ("shfl", "match", "mma", "ldmatrix", "atom", "vote", "redux", "wmma", "elect"):
            return ALL
        if kind == "ld" and "param" in parts and "_param_" not in read[0]:
            return ALL  # what a function has given
        if not any(bits):
            return 0
        known = constant(read[-1])
        if kind in ("mov", "cvt", "cvta", "not") and "{" not in instruction.text and "f" not in parts[-1][:1]:
            return bits[0] if "s32" not in parts or bits[0] < 1 << 31 else ALL
        if kind in ("or", "xor", "and"):
            mask = known if kind == "and" and known is not None else -1
            return (bits[0] | bits[1]) & mask & ALL
        if kind in ("shl", "shr", "mul") and known is not None and known >= 0:
            if kind == "mul" and (known == 0 or "hi" in parts or parts[-1].startswith(("f", "bf"))):
                return ALL
            if kind == "mul":
                return lowest_and_above(bits[0] * (known & -known)) if known & (known - 1) else bits[0] * known & ALL
            has_sign = kind == "shr" and parts[-1][0] == "s" and bits[0] >> int(parts[-1][1:]) - 1
            return ALL if has_sign else bits[0] << known & ALL if kind == "shl" else bits[0] >> known
        if kind in ("add", "sub") and parts[-1][0] in "sub":
            return lowest_and_above(bits[0] | bits[1])
        if kind == "bfe" and known is not None and constant(read[1]) is not None and "u32" in parts:
            return bits[0] >> constant(read[1]) & ((1 << known) - 1)
        if kind == "setp" and known is not None and parts[1] in ("lt", "ge", "le", "gt", "lo", "hs", "ls", "hi"):
            # Below a multiple of 32: the low five bits decide nothing.
            limit = known + (parts[1] in ("le", "gt", "ls", "hi"))
            size = 1 << bits[0].bit_length()
            return 0 if limit % size == 0 and size < 1 << 31 and bits[1:] == [0] else ALL
        if kind == "selp" and not bits[2]:
            return bits[0] | bits[1]
        return ALL

    def findings(self, meets):
        for i, block in enumerate(self.blocks):
            for instruction in block.instructions:
                if meets(instruction) and (self.diverges[i] or self.of(instruction.predicate)):
                    yield instruction


def is_for_block(instruction):
    # One that says how many threads it waits for is for some of the warps.
    return bool(BARRIER.match(instruction.opcode)) and len(instruction.operands) == 1


def is_for_warp(instruction):
    return bool(MEETING.match(instruction.opcode)) and not is_for_block(instruction)


def findings_of(text):
    """(line, what is wrong), and how many instructions were looked at."""
    found, meetings = [], 0
    for name, blocks in functions_of(text):
        link(blocks)
        for within, meets in (("warp", is_for_warp), ("block", is_for_block)):
            here = sum(meets(instruction) for block in blocks for instruction in block.instructions)
            if here == 0:
                continue
            meetings += here
            for instruction in Divergence(blocks, SEEDS[within], within).findings(meets):
                found.append((instruction.line, f"{name}: `{instruction.opcode}` below a branch that threads of a {within} take differently"))
    return found, meetings


def ptx_of(path, build):
    """The text of a file, or of what a module is compiled to. Errors: OSError, or ValueError with what the compiler says."""
    if path.suffix != ".hlo":
        return path.read_text()
    done = subprocess.run([build / "bin/hlo-run", path, "--platform=gpu", "--target=sm_90", "--no-gpu-library", "--emit=ptx"],
                          capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise ValueError(done.stderr.strip())
    return done.stdout


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build/release")
    parser.add_argument("files", nargs="*", type=pathlib.Path, metavar="FILE")
    args = parser.parse_args()
    folders = (ROOT / "testdata/gpu_kernels").glob("*.hlo"), (ROOT / "testdata/models").glob("*_tiny.hlo")
    meetings, failed, files = 0, 0, args.files or sorted(path for folder in folders for path in folder)
    for path in files:
        try:
            found, here = findings_of(ptx_of(path, args.build))
        except (OSError, ValueError) as error:
            found, here = [(0, str(error))], 0
        for line, problem in found:
            print(f"{path}:{line}: {problem}" if line else f"{path}: {problem}")
        meetings += here
        failed += bool(found)
    print(f"{meetings} instructions that threads reach together")
    print(f"{len(files) - failed} passed, {failed} failed")
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main())
