#!/usr/bin/env python3
"""Starts a family of GPU kernels: its source, its row in families.def, its test.

    scripts/new_family.py NAME CLASS OPCODES SUMMARY
    scripts/new_family.py reverse Reverse reverse "rows are turned in shared memory"

NAME is the word in --emit=thunks, CLASS ends the names of its functions, OPCODES (HLO's spelling, with commas between) are those of the
roots that it takes. What is written computes every element by one thread, until you write what is better; scripts/lint_repo.py refuses it
as it is. Nothing that exists is overwritten. Standard library only.
"""

import argparse
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
TABLE = ROOT / "backends/gpu/emit/families.def"
ROW = re.compile(r"^HLO_GPU_FAMILY\((\w+),\s*(\w+),\s*(.*)\)$")
SKELETON = "started by scripts/new_family.py"

SOURCE = """// {opcodes}: {summary}; %s.
#include "backends/gpu/emit/core/frame.h"
#include "lib/support/status.h"
#include "passes/fusion/kernel_support.h"

namespace hlo::gpu {{

Decision Takes{cls}(const Instruction& instruction) {{ return IsKernelOp(instruction); }}

absl::Status Emit{cls}(const FamilyRequest& request) {{
  request.plan.family = "{name}";
  const GpuFrame& frame = request.frame;
  const Shape shape = request.root.shape();
  const int64_t count = shape.element_count();
  if (count == 0) return absl::OkStatus();
  const auto body = [&](GpuFusionEmitter& emitter, KernelBuilder& k) -> absl::Status {{
    llvm::Value* const thread = k.Add(k.Scale(k.BlockIndex(), k.block_threads()), k.ThreadIndex());
    return k.If(k.Less(thread, k.Index(count)), [&]() -> absl::Status {{
      const ArrayIndex index = ArrayIndex::Element(shape.dims(), thread);
      ASSIGN_OR_RETURN(const Emitted value, emitter.Emit(&request.root, index));
      k.Store(frame.outputs[0].buffer, thread, value);
      return absl::OkStatus();
    }});
  }};
  return AddSimpleKernel(frame, count, request.plan, body);
}}

}}  // namespace hlo::gpu
""" % SKELETON

TEST = """// REQUIRES: llvm
// RUN: hlo-run --check-file %%s --platforms=interpreter,cpu,gpu-sim --gpu-sim-sanitize --gpu-sim-seed=3
// RUN: hlo-run %%s --platform=gpu-sim --emit=thunks | FileCheck %%s --check-prefix=GPU

// {Summary}; %s.
// GPU: {name} r
HloModule {module}

ENTRY main {{
  x = f32[33,20] parameter(0)
  ROOT r = f32[33,20] {opcode}(x)
}}
""" % SKELETON


def enumerators(texts):
    """The enumerators of opcodes by their spelling."""
    known = {text: f"k{name}" for name, text in re.findall(r'^HLO_OP\((\w+),\s*"([^"]+)"', (ROOT / "lib/ops/ops.def").read_text(), re.M)}
    for text in texts:
        if text not in known:
            sys.exit(f"new_family.py: no opcode `{text}`")
    return [known[text] for text in texts]


def add_row(cls, opcodes):
    lines = TABLE.read_text().split("\n")
    rows = [(i, match.groups()) for i, line in enumerate(lines) if (match := ROW.match(line))]
    for _, (takes, _, taken) in rows:
        if takes == f"Takes{cls}":
            sys.exit(f"{TABLE.relative_to(ROOT)}: there is a row for {cls} already")
        for opcode in set(opcodes) & set(taken.split(", ")):
            sys.exit(f"{TABLE.relative_to(ROOT)}: {takes} takes {opcode} already")
    first = lines[rows[0][0]]
    emit_column, opcode_column = first.index("Emit"), first.index(rows[0][1][2], first.index(rows[0][1][1]) + len(rows[0][1][1]))
    row = f"HLO_GPU_FAMILY(Takes{cls},".ljust(emit_column) + f"Emit{cls},".ljust(opcode_column - emit_column) + ", ".join(opcodes) + ")"
    later = [i for i, (takes, _, _) in rows if takes > f"Takes{cls}"]
    lines.insert(later[0] if later else rows[-1][0] + 1, row)
    TABLE.write_text("\n".join(lines))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for argument in ("name", "cls", "opcodes", "summary"):
        parser.add_argument(argument)
    options = parser.parse_args()
    if not re.fullmatch(r"[A-Z][A-Za-z0-9]*", options.cls):
        sys.exit(f"new_family.py: {options.cls} is no name in CamelCase")
    texts, summary = options.opcodes.split(","), options.summary.rstrip(".")
    opcodes = enumerators(texts)
    stem = options.name.replace("-", "_")
    files = {ROOT / f"backends/gpu/emit/families/{stem}.cc": SOURCE, ROOT / f"testdata/codegen/{options.name}.hlo": TEST}
    for path in files:
        if path.exists():
            sys.exit(f"new_family.py: {path.relative_to(ROOT)} exists")
    add_row(options.cls, opcodes)
    for path, text in files.items():
        path.write_text(text.format(name=options.name, cls=options.cls, opcodes=", ".join(texts), opcode=texts[0], module=stem,
                                    summary=summary, Summary=summary[:1].upper() + summary[1:]))
        print(path.relative_to(ROOT))
    print("backends/gpu/emit/families.def: row added\nwrite the kernel and the test; backends/gpu/README.md says with what")


if __name__ == "__main__":
    main()
