#!/usr/bin/env python3
"""A short summary of HLO text: parameters, computations, instructions by opcode. Usage: module_summary.py FILE"""

import collections
import re
import sys

INSTRUCTION = re.compile(r"^\s+(?:ROOT )?%?[\w.-]+ = (?:\([^=]*?\)|\S+) ([a-z][\w-]*)\(")


def main():
    opcodes = collections.Counter()
    computations = 0
    parameters = 0
    in_entry = False
    with open(sys.argv[1], encoding="utf-8", errors="replace") as file:
        for line in file:
            if line.rstrip().endswith("{") and not line.startswith((" ", "HloModule")):
                computations += 1
                in_entry = line.startswith("ENTRY")
            match = INSTRUCTION.match(line)
            if match:
                opcodes[match.group(1)] += 1
                parameters += in_entry and match.group(1) == "parameter"
    total = sum(opcodes.values())
    print(f"{total} instructions in {computations} computations, {parameters} parameters")
    common = ", ".join(f"{count} {opcode}" for opcode, count in opcodes.most_common(9))
    print(f"most frequent: {common}")


if __name__ == "__main__":
    main()
