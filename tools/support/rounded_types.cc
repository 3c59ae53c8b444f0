#include "tools/support/rounded_types.h"

#include "lib/ops/opcode_set.h"
#include "lib/types/shape_util.h"
#include "passes/buffers/buffers_to_arrays.h"

namespace hlo {
namespace {

// The elements of the result are elements of the first operand.
constexpr OpcodeSet kKeepsElements = {Opcode::kBitcast,
                                      Opcode::kBroadcast,
                                      Opcode::kConvert,
                                      Opcode::kCopy,
                                      Opcode::kDynamicSlice,
                                      Opcode::kGather,
                                      Opcode::kReshape,
                                      Opcode::kReverse,
                                      Opcode::kSlice,
                                      Opcode::kTranspose,
                                      Opcode::kAllGather,
                                      Opcode::kAllToAll,
                                      Opcode::kCollectivePermute};

// The instruction that makes leaf `index` of `value`, as far as tuples show it.
const Instruction* MakerOf(const Instruction* value, ShapeIndex index) {
  while (!index.empty() && value->opcode() == Opcode::kTuple) {
    value = value->operand(static_cast<int>(index.front()));
    index.erase(index.begin());
  }
  return index.empty() ? value : nullptr;
}

// The elements of the result are results of the region.
constexpr OpcodeSet kAppliesRegion = {Opcode::kMap, Opcode::kReduce, Opcode::kReduceWindow};

ElementType RoundedType(const Instruction* value, ElementType type) {
  while (value != nullptr && value->operand_count() > 0 && kKeepsElements.Has(value->opcode()) &&
         value->shape().IsArray()) {
    const Instruction* const from = value->operand(0);
    if (!from->shape().IsArray() || !IsFloat(from->shape().element_type())) break;
    if (BitWidth(from->shape().element_type()) < BitWidth(type))
      type = from->shape().element_type();
    value = from;
  }
  const bool applies =
      value != nullptr && kAppliesRegion.Has(value->opcode()) && value->shape().IsArray();
  return applies ? RoundedType(value->to_apply()->root(), type) : type;
}

}  // namespace

std::vector<ElementType> RoundedTypes(const Module& module) {
  const Instruction* const root = module.entry()->root();
  std::vector<ElementType> types;
  ForEachLeaf(WithoutBuffers(root->shape()), [&](Shape leaf, const ShapeIndex& index) {
    if (!leaf.IsArray()) return;
    const ElementType type = leaf.element_type();
    types.push_back(IsFloat(type) ? RoundedType(MakerOf(root, index), type) : type);
  });
  return types;
}

}  // namespace hlo
