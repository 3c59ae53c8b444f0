// Which operations of two modules are the same, by what they compute and where they stand: names
// and metadata do not matter.
//
// Instructions of two computations that stand for each other are paired, in this order: parameters
// of one number; what computes the same of the same (equal subgraphs); the roots; operands in the
// same place of a pair with one opcode; equal operations on paired operands; what has one name and
// opcode. What is left is only in one of the modules. Pairs of calls, fusions and loops pair the
// computations that they run, and the entries are a pair.
#pragma once

#include <string>
#include <vector>

#include "lib/ir/compare.h"
#include "lib/ir/module.h"

namespace hlo {

// A pair whose two sides are not the same operation on the same operands, or an instruction of one
// side alone.
struct Edit {
  const Instruction* before = nullptr;  // null: added
  const Instruction* after = nullptr;   // null: removed
  std::vector<std::string> what;  // of a pair: "opcode", "shape", "attributes", "operand 1", …
};

struct ComputationDiff {
  const Computation* before = nullptr;  // null: only in the second module
  const Computation* after = nullptr;
  std::vector<Edit> edits;  // removed, changed and added, in the order of their computations
};

struct ModuleDiff {
  bool equal = false;                         // by StructurallyEqual and what the modules declare
  std::vector<std::string> declarations;      // what modules say of themselves, if it differs
  std::vector<ComputationDiff> computations;  // those with edits, callers first
  int64_t same = 0, changed = 0, removed = 0, added = 0;  // instructions
};

ModuleDiff DiffModules(const Module& before, const Module& after, const CompareOptions& options);

}  // namespace hlo
