#!/usr/bin/env python3
"""Starts an opcode: its rows in the tables, its test, for one that is not elementwise its shape rule and its evaluation.

    scripts/new_op.py NAME TEXT OPERANDS SUMMARY --types=TYPES MEANING...
    scripts/new_op.py Log2 log2 operand "logarithm to base 2" --types=Float 'Log(x) * 1.4426950408889634'
    scripts/new_op.py Roll roll operand,shift "rotate along all dimensions"

NAME is the enumerator without its k, TEXT the spelling in HLO, OPERANDS their names. With --types (Float, Int, Inexact, Number, …: the
TypeSets of lib/ops/ops.h without `Types`) the opcode is elementwise; MEANING is an expression of lib/math on x, and y, for floats, for
complex numbers and for integers, in this order, as far as the types ask for them. Otherwise a shape rule and an evaluation are started,
which scripts/lint_repo.py refuses until they are written. Nothing that exists is overwritten. Standard library only.
"""

import argparse
import pathlib
import re
import sys

import update_docs

ROOT = pathlib.Path(__file__).resolve().parent.parent
SKELETON = "started by scripts/new_op.py"

RULE = """// Shape rule of {text}; %s.
#include "lib/ops/shape_helpers.h"

namespace hlo {{

absl::StatusOr<Shape> {name}Shape(const ShapeArgs& args) {{
  RETURN_IF_ERROR(args.CheckArray(0));
  return args.operand(0);
}}

}}  // namespace hlo
""" % SKELETON

EVALUATION = """// {text}; %s.
#include "lib/eval/eval_internal.h"

namespace hlo {{

EvalResult Eval{name}(EvalContext& c) {{ return c.operand(0); }}

}}  // namespace hlo
""" % SKELETON

# TypeSet -> families of lib/eval/scalar_ops.h, in the order of the meanings.
FAMILIES = {"Float": ["FLOAT"], "Complex": ["COMPLEX"], "Inexact": ["FLOAT", "COMPLEX"], "Int": ["INT"], "Signed": ["INT"],
            "Unsigned": ["INT"], "SignedNumber": ["FLOAT", "COMPLEX", "INT"], "Number": ["FLOAT", "COMPLEX", "INT"]}


def insert_sorted(path, line, row, key):
    """Inserts a line among those that match `row`, by the group of that pattern."""
    lines = path.read_text().split("\n")
    rows = [(i, match.group(1)) for i, other in enumerate(lines) if (match := row.match(other))]
    if key in [other for _, other in rows]:
        sys.exit(f"{path.relative_to(ROOT)}: there is a row for {key} already")
    later = [i for i, other in rows if other > key]
    lines.insert(later[0] if later else rows[-1][0] + 1, line)
    path.write_text("\n".join(lines))


def ops_row(options, operands, rule, types, traits):
    """A row of ops.def, its columns where those of the other rows are."""
    table = (ROOT / "lib/ops/ops.def").read_text()
    other = update_docs.ROW.match(next(line for line in table.split("\n") if line.startswith("HLO_OP(")))
    fields = [("name", options.name), ("text", f'"{options.text}"'), ("operands", f"Args({operands})"), ("calls", "None()"),
              ("attrs", "NoAttrs"), ("rule", rule), ("types", types), ("cost", "kLong"), ("traits", traits), ("summary", f'"{options.summary.rstrip(".")}"')]
    line = "HLO_OP("
    for group, value in fields:
        start = other.start(group) - (1 if group in ("text", "summary") else 0)
        line = line.ljust(start) + value + ("" if group == "summary" else ",") + ("" if group == "summary" else " ")
    return line.rstrip() + ")"


def add_meaning(family, arity, name, meaning):
    path = ROOT / "lib/eval/scalar_ops.h"
    text = path.read_text()
    head = f"#define HLO_SCALAR_{family}_{'UNARY' if arity == 1 else 'BINARY'}(X) \\\n"
    if head not in text:
        sys.exit(f"lib/eval/scalar_ops.h has no list {head.split()[1]}")
    path.write_text(text.replace(head, f"{head}  X({name}, {meaning}) \\\n"))


def add_test(options, names, types):
    path = ROOT / "scripts/make_op_tests.py"
    text = path.read_text()
    marker = "# ---- writing ----\n"
    kind = "s32" if types in ("Int", "Signed") else "u32" if types == "Unsigned" else "f32"
    if types and len(names) <= 2:
        maker = "unary" if len(names) == 1 else "binary"
        values = ", ".join(["[1, 2, 3, 4]"] * len(names))
        row = f'{maker}("{options.text}", "{options.summary.rstrip(".")}.", {values}, kind="{kind}")\n'
    else:
        lines = "".join(f"{name} = f32[4] parameter({i})\\n" for i, name in enumerate(names))
        arguments = ", ".join(['a("f32", [1, 2, 3, 4])'] * len(names))
        row = (f'case("{options.text}", "{options.summary.rstrip(".")}.", "{lines}ROOT r = f32[4] {options.text}({", ".join(names)})", '
               f"{arguments})\n")
    if marker not in text:
        sys.exit(f"scripts/make_op_tests.py: no line `{marker.strip()}`")
    path.write_text(text.replace(marker, row + "\n" + marker))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for argument in ("name", "text", "operands", "summary"):
        parser.add_argument(argument)
    parser.add_argument("--types", choices=sorted(FAMILIES))
    parser.add_argument("meaning", nargs="*")
    options = parser.parse_intermixed_args()
    if not re.fullmatch(r"[A-Z][A-Za-z0-9]*", options.name):
        sys.exit(f"new_op.py: {options.name} is no enumerator in CamelCase")
    names = options.operands.split(",")
    operands = ", ".join(f'"{name}"' for name in names)
    row = re.compile(r'^HLO_OP\(\w+,\s*"([^"]+)"')
    if options.types:
        families = FAMILIES[options.types]
        if len(options.meaning) != len(families) or len(names) > 2:
            sys.exit(f"new_op.py: elementwise opcodes of {options.types} take one or two operands and {len(families)} meanings: "
                     f"{', '.join(families).lower()}")
        rule = "UnaryShape" if len(names) == 1 else "BinaryShape"
        insert_sorted(ROOT / "lib/ops/ops.def", ops_row(options, operands, rule, f"k{options.types}Types", "kElementwise"), row, options.text)
        for family, meaning in zip(families, options.meaning):
            add_meaning(family, len(names), options.name, meaning)
    else:
        files = {ROOT / f"lib/ops/shape_{options.text.replace('-', '_')}.cc": RULE,
                 ROOT / f"lib/eval/eval_{options.text.replace('-', '_')}.cc": EVALUATION}
        for path in files:
            if path.exists():
                sys.exit(f"new_op.py: {path.relative_to(ROOT)} exists")
        insert_sorted(ROOT / "lib/ops/ops.def", ops_row(options, operands, f"{options.name}Shape", "kByRule", "kNoTraits"), row, options.text)
        insert_sorted(ROOT / "lib/eval/eval_functions.def", f"HLO_EVAL({options.name}, Eval{options.name})",
                      re.compile(r"^HLO_EVAL\((\w+),"), options.name)
        for path, text in files.items():
            path.write_text(text.format(name=options.name, text=options.text))
            print(path.relative_to(ROOT))
    add_test(options, names, options.types)
    for path, text in update_docs.documents().items():
        path.write_text(text)
    print("rows added: lib/ops/ops.def, lib/eval/" + ("scalar_ops.h" if options.types else "eval_functions.def")
          + ", scripts/make_op_tests.py\nedit the test's values there, state `expect=` where XLA has no such opcode, then run it for "
          + options.text)


if __name__ == "__main__":
    main()
