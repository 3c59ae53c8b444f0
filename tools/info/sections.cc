#include "tools/info/sections.h"

#include "lib/support/saturate.h"

namespace hlo {

std::span<const SectionKind> AllSectionKinds() {
  // clang-format off
  static constexpr SectionKind kKinds[] = {
      {"summary",      true,  "the module in a few numbers",                                MakeSummary},
      {"signature",    true,  "parameters and results: layouts, shardings, aliases",        MakeSignature},
      {"ops",          true,  "opcodes: how many, of which types, what they cost",          MakeOps},
      {"types",        false, "element types: instructions and bytes",                      MakeTypes},
      {"computations", false, "what they are for, how often they run, what they cost",      MakeComputations},
      {"counts",       false, "opcodes and types of each computation",                      MakeCounts},
      {"cost",         true,  "instructions: operations, bytes, those of each operand",     MakeCost},
      {"source",       true,  "cost by line of the source program",                         MakeSource},
      {"loops",        true,  "loops and how often they run",                               MakeLoops},
      {"collectives",  true,  "collectives: groups and bytes",                              MakeCollectives},
      {"custom-calls", true,  "targets of custom calls",                                    MakeCustomCalls},
      {"constants",    true,  "large constants, and those whose values are left out",       MakeConstants},
      {"dynamic",      true,  "dynamic shapes",                                             MakeDynamic},
      {"memory",       true,  "where most memory is needed, and what it holds then",        MakeMemory},
  };
  // clang-format on
  return kKinds;
}

double ModuleFacts::ShareOf(const Cost& cost) const {
  const double all = SecondsOf(costs_.total());
  return all > 0 ? SecondsOf(cost) / all : 0;
}

std::vector<std::string> NamesOfLeaves(const Instruction& instruction) {
  std::vector<std::string> names;
  const bool is_tuple = instruction.shape().IsTuple();
  ForEachLeaf(instruction.shape(), [&](Shape, const ShapeIndex& index) {
    names.push_back(std::string(instruction.name()) + (is_tuple ? ToString(index) : ""));
  });
  return names;
}

double OperandBytes(const Instruction& instruction) {
  double bytes = 0;
  for (int i = 0; i < instruction.operand_count(); ++i) bytes += BytesRead(instruction, i);
  return bytes;
}

bool IsCollective(const Instruction& instruction) {
  return HasTrait(instruction.opcode(), kCollective) && !HasTrait(instruction.opcode(), kAsyncDone);
}

}  // namespace hlo
