#include "backends/cpu/families/family.h"

#include <algorithm>

#include "backends/cpu/families/kernel_frame.h"
#include "lib/ops/opcode_set.h"
#include "lib/support/status.h"
#include "lib/types/shape_util.h"
#include "passes/fusion/kernel_support.h"

namespace hlo::cpu {

absl::StatusOr<KernelFrame> MakeFrame(const Instruction& fusion, tile::Builder& b,
                                      FusionEmitter& emitter) {
  ASSIGN_OR_RETURN(KernelFrame frame, MakeKernelFrame(fusion, "cpu"));
  for (const Shape array : frame.arrays) {
    const bool written = std::ssize(b.kernel().buffers) >= frame.operand_buffers;
    b.AddBuffer(tile::BufferKind::kArgument, array.element_type(), array.element_count(), written);
  }
  for (const auto& [value, buffer] : frame.bindings) emitter.BindBuffer(value, buffer);
  return frame;
}

int BaseLanes(const Instruction& fusion, const FamilyOptions& options) {
  // 4 bytes are the rule; where nothing is computed in more than one byte or two, more lanes fit.
  int widest = 1;
  for (const Instruction* i : BodyOf(fusion)) {
    if (!i->shape().IsArray()) return options.vector_bytes / 4;
    const ElementType type = i->shape().element_type();
    const bool moves =
        IsFusibleMovement(*i) || i->opcode() == Opcode::kCopy || i->opcode() == Opcode::kSelect;
    const bool computes_wide = IsFloat(type) && !moves;
    widest = std::max(widest, computes_wide ? std::max(4, ByteSize(type)) : ByteSize(type));
  }
  return std::max(1, options.vector_bytes / std::min(4, widest));
}

namespace {

// Elements an instruction computes or walks over. An update in place touches its window only.
int64_t WorkOf(const Instruction& i, bool in_place) {
  if (i.opcode() == Opcode::kReduce) return i.operand(0)->shape().element_count();
  if (i.opcode() == Opcode::kDynamicUpdateSlice && in_place)
    return i.operand(1)->shape().element_count();
  if (i.opcode() == Opcode::kScatter && in_place)
    return i.operand(i.operand_count() - 1)->shape().element_count();
  int64_t elements = i.shape().element_count();
  if (i.opcode() == Opcode::kReduceWindow) {
    for (const WindowDim& dim : i.attrs<ReduceWindowAttrs>().window.dims) elements *= dim.size;
  }
  return elements;
}

int64_t BytesOf(Shape shape) {
  int64_t sum = 0;
  ForEachLeaf(shape,
              [&](Shape leaf, const ShapeIndex&) { sum += leaf.IsArray() ? leaf.byte_size() : 0; });
  return sum;
}

// Bytes that one reader takes from the array it has as operand `index`.
int64_t BytesRead(const Instruction& reader, int index, bool in_place, int64_t all) {
  constexpr OpcodeSet kParts = {Opcode::kSlice, Opcode::kDynamicSlice, Opcode::kGather};
  constexpr OpcodeSet kUpdates = {Opcode::kDynamicUpdateSlice, Opcode::kScatter};
  if (index != 0) return all;
  if (kParts.Has(reader.opcode())) return std::min(all, BytesOf(reader.shape()));
  return in_place && kUpdates.Has(reader.opcode()) ? 0 : all;
}

int64_t BytesReadOf(const Instruction& fusion, int operand, bool in_place, int64_t written) {
  const int64_t bytes = BytesOf(fusion.operand(operand)->shape());
  const int64_t all = std::min(bytes, 4 * written + 65536);
  if (!fusion.IsFusion()) return BytesRead(fusion, operand, in_place, all);
  if (operand >= fusion.fused_computation()->parameter_count()) return 0;
  int64_t sum = 0;
  for (const Use& use : fusion.fused_computation()->parameter(operand)->uses())
    sum += BytesRead(*use.user, use.operand_index, in_place, all);
  return std::min(sum, all);
}

}  // namespace

double CostInNs(const Instruction& fusion, const FamilyOptions& options) {
  const double lanes = std::max(1, options.vector_bytes / 4);
  const bool in_place = SharesWanted(fusion, options.shared);
  const Instruction* const root = RootOf(fusion);
  double cost = 0;
  for (const Instruction* i : BodyOf(fusion)) {
    if (!i->shape().IsArray() || i->opcode() == Opcode::kConstant) continue;
    const auto elements = static_cast<double>(WorkOf(*i, in_place && i == root));
    cost += elements * (IsCostly(*i) ? 6.0 : 0.3) / lanes;
  }
  int64_t written = BytesOf(fusion.shape());
  if (in_place) written = BytesOf(root->operand(root->operand_count() - 1)->shape());
  if (in_place && root->opcode() == Opcode::kDynamicUpdateSlice)
    written = BytesOf(root->operand(1)->shape());
  int64_t traffic = written;
  for (int i = 0; i < fusion.operand_count(); ++i)
    traffic += BytesReadOf(fusion, i, in_place, written);
  return cost + static_cast<double>(traffic) * 0.04;
}

BufferPairs InPlacePairs(const Instruction& fusion) {
  BufferPairs pairs = WantsToShare(fusion);
  if (RootOf(fusion)->opcode() == Opcode::kScatter) return pairs;
  if (CumulativeWindowOf(fusion)) return CumulativePairs(fusion);
  const BufferPairs same = SamePlacePairs(fusion);
  pairs.insert(pairs.end(), same.begin(), same.end());
  return pairs;
}

absl::StatusOr<KernelPlan> EmitFusion(const Instruction& fusion, const FamilyOptions& options) {
  if (const Decision decision = fusion.IsFusion() ? Yes() : IsKernelOp(fusion); !decision) {
    return Unsupported(fusion.loc(), "platform `cpu` cannot run `{}` yet: {}", fusion.name(),
                       decision.reason());
  }
  if (RootOf(fusion)->opcode() == Opcode::kScatter) return EmitScatterFamily(fusion, options);
  if (CumulativeWindowOf(fusion)) return EmitCumulativeFamily(fusion, options);
  return EmitLoopFamily(fusion, options);
}

}  // namespace hlo::cpu
