#include "passes/control_flow/map_inliner.h"

#include <algorithm>

#include "lib/ir/elementwise.h"

namespace hlo {
namespace {

// map(…, xi, …) of parameter i  =>  xi
Instruction* MapOfParameter(Instruction* map, Rewriter&) {
  const Instruction* root = map->to_apply()->root();
  if (root->opcode() != Opcode::kParameter) return nullptr;
  Instruction* operand = map->operand(static_cast<int>(root->parameter_number()));
  return Compatible(operand->shape(), map->shape()) ? operand : nullptr;
}

// map(…) of constant c  =>  broadcast(c)
Instruction* MapOfConstant(Instruction* map, Rewriter& rewriter) {
  const Instruction* root = map->to_apply()->root();
  if (!root->IsConstant() || map->shape().has_dynamic_dims()) return nullptr;
  if (root->literal().is_elided()) return nullptr;  // copies would no longer be the same value
  Instruction* constant = rewriter.Constant(root->literal());
  return rewriter.Broadcast(constant, map->shape().dims(), {});
}

// map(x0, x1) of op(p1, p0)  =>  op(x1, x0)
Instruction* MapOfOperation(Instruction* map, Rewriter& rewriter) {
  const Instruction* root = map->to_apply()->root();
  if (root->operand_count() == 0 || !WorksByElement(*root)) return nullptr;
  std::vector<Instruction*> operands;
  for (const Instruction* operand : root->operands()) {
    if (operand->opcode() != Opcode::kParameter) return nullptr;
    operands.push_back(map->operand(static_cast<int>(operand->parameter_number())));
  }
  Instruction* clone = rewriter.computation()->AddClone(*root, map->shape(), operands);
  clone->clear_sharding();
  if (clone->metadata() == OpMetadata()) clone->set_metadata(map->metadata());
  clone->set_loc(map->loc());
  return clone;
}

constexpr Rule kMapInlinerRules[] = {
    {"map-of-parameter", Opcode::kMap, kExact, MapOfParameter},
    {"map-of-constant", Opcode::kMap, kExact, MapOfConstant},
    {"map-of-operation", Opcode::kMap, kExact, MapOfOperation},
};

}  // namespace

MapInliner::MapInliner() : RewritePass(this, kMapInlinerRules) {}

HLO_DEFINE_PASS(MapInliner)

}  // namespace hlo
