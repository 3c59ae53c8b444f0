#include "backends/cpu/families/family.h"

#include <algorithm>

#include "backends/cpu/families/kernel_frame.h"
#include "lib/analysis/cost.h"
#include "lib/support/status.h"
#include "lib/types/shape_util.h"
#include "passes/fusion/kernel_support.h"

namespace hlo::cpu {

absl::StatusOr<KernelFrame> MakeFrame(const Instruction& fusion, tile::TileBuilder& b,
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

// What a gather reads of a large table depends on its indices.
double BytesReadOf(const Instruction& fusion, int operand, Updates updates, double written) {
  const Shape shape = fusion.operand(operand)->shape();
  const double all = std::min(static_cast<double>(ArrayBytes(shape)), 4 * written + 65536);
  return shape.IsArray() ? std::min(all, BytesRead(fusion, operand, updates)) : all;
}

}  // namespace

double CostInNs(const Instruction& fusion, const FamilyOptions& options) {
  const bool in_place = UpdatesInPlace(fusion, options.shared);
  const Instruction* const root = RootOf(fusion);
  Cost cost;
  for (const Instruction* i : BodyOf(fusion)) {
    if (!i->shape().IsArray() || i->opcode() == Opcode::kConstant) continue;
    (IsCostly(*i) ? cost.transcendentals : cost.flops) +=
        static_cast<double>(WorkOf(*i, in_place && i == root));
  }
  const Updates updates = in_place ? Updates::kInPlace : Updates::kCopy;
  const double written = BytesWritten(fusion, updates);
  cost.bytes = written;
  for (int i = 0; i < fusion.operand_count(); ++i)
    cost.bytes += BytesReadOf(fusion, i, updates, written);
  return SecondsOf(cost, RatesOf("cpu"), std::max(1, options.vector_bytes / 4)) * 1e9;
}

namespace {

// Whether a result of its own is worth more than the memory that it takes: costly elements that
// fill no whole vectors are computed one by one where a kernel writes over what it reads, with its
// last vector where it does not (README.md).
bool WantsOwnResult(const Instruction& fusion) {
  constexpr int64_t kLanes = 16;           // of the widest vectors
  constexpr int64_t kMostElements = 2048;  // that a loop copies into its state in less time
  int64_t elements = 0;
  ForEachLeaf(fusion.shape(), [&](Shape leaf, const ShapeIndex&) {
    if (leaf.IsArray()) elements = std::max(elements, leaf.element_count());
  });
  if (elements < kLanes / 2 || elements > kMostElements) return false;
  const auto body = BodyOf(fusion);
  const bool is_cut = std::any_of(body.begin(), body.end(), [](const Instruction* i) {
    return i->opcode() == Opcode::kConcatenate || i->opcode() == Opcode::kPad;
  });
  const int64_t lanes = elements < kLanes ? kLanes / 2 : kLanes;
  return (is_cut || elements % lanes != 0) &&
         std::any_of(body.begin(), body.end(), [](const Instruction* i) { return IsCostly(*i); });
}

}  // namespace

BufferPairs KernelInPlacePairs(const Instruction& fusion) {
  BufferPairs pairs = UpdatePairs(fusion);
  if (RootOf(fusion)->opcode() == Opcode::kScatter) return pairs;
  if (CumulativeWindowOf(fusion)) return CumulativePairs(fusion);
  if (WantsOwnResult(fusion)) return pairs;
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
