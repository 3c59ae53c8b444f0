#include "backends/cpu/families/family.h"

#include <algorithm>

#include "backends/cpu/families/kernel_frame.h"
#include "lib/support/status.h"
#include "lib/types/shape_util.h"
#include "passes/cpu/fusible.h"

namespace hlo::cpu {

const Instruction* RootOf(const Instruction& fusion) {
  return fusion.IsFusion() ? fusion.fused_computation()->root() : &fusion;
}

std::vector<const Instruction*> BodyOf(const Instruction& fusion) {
  if (!fusion.IsFusion()) return {&fusion};
  std::vector<const Instruction*> body;
  for (const Instruction* i : fusion.fused_computation()->instructions()) {
    if (i->opcode() != Opcode::kParameter) body.push_back(i);
  }
  return body;
}

absl::StatusOr<KernelFrame> MakeFrame(const Instruction& fusion, tile::Builder& b,
                                      FusionEmitter& emitter) {
  KernelFrame frame;
  const auto add_leaves = [&](Shape shape, bool written) -> absl::Status {
    absl::Status status;
    ForEachLeaf(shape, [&](Shape leaf, const ShapeIndex&) {
      if (!leaf.IsArray() || leaf.has_dynamic_dims()) {
        status =
            Unsupported(fusion.loc(), "platform `cpu` cannot run `{}` with a value of shape {} yet",
                        fusion.opcode_text(), leaf);
        return;
      }
      b.AddBuffer(tile::BufferKind::kArgument, leaf.element_type(), leaf.element_count(), written);
    });
    return status;
  };
  for (int i = 0; i < fusion.operand_count(); ++i) {
    const int first = static_cast<int>(b.kernel().buffers.size());
    RETURN_IF_ERROR(add_leaves(fusion.operand(i)->shape(), /*written=*/false));
    if (!fusion.IsFusion()) {
      emitter.BindBuffer(fusion.operand(i), first);
    } else if (i < fusion.fused_computation()->parameter_count()) {  // more operands may be given
      emitter.BindBuffer(fusion.fused_computation()->parameter(i), first);
    }
  }
  frame.operand_buffers = static_cast<int>(b.kernel().buffers.size());
  RETURN_IF_ERROR(add_leaves(fusion.shape(), /*written=*/true));
  frame.body = BodyOf(fusion);
  const Instruction* const root = RootOf(fusion);
  int buffer = frame.operand_buffers;
  if (root->shape().IsArray()) {
    frame.outputs.push_back({root, 0, buffer, root->shape()});
  } else if (root->opcode() == Opcode::kTuple) {
    for (const Instruction* element : root->operands())
      frame.outputs.push_back({element, 0, buffer++, element->shape()});
  } else {
    for (int i = 0; i < root->shape().element_count_of_tuple(); ++i) {
      frame.outputs.push_back({root, i, buffer++, root->shape().element(i)});
    }
  }
  for (const KernelOutput& output : frame.outputs) {
    if (!output.shape.IsArray()) {
      return Unsupported(fusion.loc(), "platform `cpu` cannot run a fusion with nested tuples yet");
    }
  }
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
  ForEachLeaf(shape, [&](Shape leaf, const ShapeIndex&) {
    sum += leaf.IsArray() ? leaf.byte_size() : 0;
  });
  return sum;
}

// Bytes that one reader takes from the array it has as operand `index`.
int64_t BytesRead(const Instruction& reader, int index, bool in_place, int64_t all) {
  switch (reader.opcode()) {
    case Opcode::kSlice:
    case Opcode::kDynamicSlice:
    case Opcode::kGather: return index == 0 ? std::min(all, BytesOf(reader.shape())) : all;
    case Opcode::kDynamicUpdateSlice:
    case Opcode::kScatter: return index == 0 && in_place ? 0 : all;
    default: return all;
  }
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
  const bool in_place = SharesWanted(fusion, options);
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

std::vector<BufferPair> WantsToShare(const Instruction& fusion) {
  const Instruction* const root = RootOf(fusion);
  const bool is_update = root->opcode() == Opcode::kDynamicUpdateSlice;
  if (!is_update && root->opcode() != Opcode::kScatter) return {};
  const int updated = is_update ? 1 : (root->operand_count() - 1) / 2;
  std::vector<BufferPair> pairs;
  for (int k = 0; k < updated; ++k) {
    const Instruction* const operand = root->operand(k);
    int position = k;
    if (fusion.IsFusion()) {
      // What else the kernel reads from the buffer might already be overwritten.
      if (operand->opcode() != Opcode::kParameter || operand->use_count() != 1) return {};
      position = static_cast<int>(operand->parameter_number());
      for (int i = 0; i < fusion.operand_count(); ++i) {
        if (i != position && fusion.operand(i) == fusion.operand(position)) return {};
      }
    } else {
      for (int i = 0; i < root->operand_count(); ++i) {
        if (i != k && root->operand(i) == operand) return {};
      }
    }
    int leaf = 0;
    for (int i = 0; i < position; ++i)
      leaf += static_cast<int>(LeafCount(fusion.operand(i)->shape()));
    pairs.push_back({leaf, k});
  }
  return pairs;
}

bool SharesWanted(const Instruction& fusion, const FamilyOptions& options) {
  const std::vector<BufferPair> wanted = WantsToShare(fusion);
  const auto is_shared = [&](const BufferPair& pair) {
    return std::find(options.shared.begin(), options.shared.end(), pair) != options.shared.end();
  };
  return !wanted.empty() && std::all_of(wanted.begin(), wanted.end(), is_shared);
}

absl::StatusOr<KernelPlan> EmitFusion(const Instruction& fusion, const FamilyOptions& options) {
  if (const Decision decision = IsKernel(fusion); !decision) {
    return Unsupported(fusion.loc(), "platform `cpu` cannot run `{}` yet: {}", fusion.name(),
                       decision.reason());
  }
  if (RootOf(fusion)->opcode() == Opcode::kScatter) return EmitScatterFamily(fusion, options);
  if (CumulativeWindowOf(fusion)) return EmitCumulativeFamily(fusion, options);
  return EmitLoopFamily(fusion, options);
}

}  // namespace hlo::cpu
