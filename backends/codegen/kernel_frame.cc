#include "backends/codegen/kernel_frame.h"

#include "lib/ir/computation.h"
#include "lib/support/status.h"
#include "lib/types/shape_util.h"

namespace hlo {
namespace {

absl::Status AddArrays(const Instruction& fusion, Shape shape, std::string_view platform,
                       std::vector<Shape>& arrays) {
  absl::Status status;
  ForEachLeaf(shape, [&](Shape leaf, const ShapeIndex&) {
    if (leaf.IsArray() && !leaf.has_dynamic_dims()) {
      arrays.push_back(leaf);
    } else {
      status =
          Unsupported(fusion.loc(), "platform `{}` cannot run `{}` with a value of shape {} yet",
                      platform, fusion.opcode_text(), leaf);
    }
  });
  return status;
}

std::vector<KernelOutput> OutputsOf(const Instruction& root, int first_buffer) {
  if (root.shape().IsArray()) return {{&root, 0, first_buffer, root.shape()}};
  std::vector<KernelOutput> outputs;
  for (int i = 0; i < root.shape().element_count_of_tuple(); ++i) {
    const bool is_tuple = root.opcode() == Opcode::kTuple;
    outputs.push_back({is_tuple ? root.operand(i) : &root, is_tuple ? 0 : i, first_buffer + i,
                       root.shape().element(i)});
  }
  return outputs;
}

}  // namespace

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

absl::StatusOr<KernelFrame> MakeKernelFrame(const Instruction& fusion, std::string_view platform) {
  KernelFrame frame;
  for (int i = 0; i < fusion.operand_count(); ++i) {
    const auto first = static_cast<int>(frame.arrays.size());
    RETURN_IF_ERROR(AddArrays(fusion, fusion.operand(i)->shape(), platform, frame.arrays));
    if (!fusion.IsFusion()) {
      frame.bindings.emplace_back(fusion.operand(i), first);
    } else if (i < fusion.fused_computation()->parameter_count()) {  // more operands may be given
      frame.bindings.emplace_back(fusion.fused_computation()->parameter(i), first);
    }
  }
  frame.operand_buffers = static_cast<int>(frame.arrays.size());
  RETURN_IF_ERROR(AddArrays(fusion, fusion.shape(), platform, frame.arrays));
  frame.body = BodyOf(fusion);
  frame.outputs = OutputsOf(*RootOf(fusion), frame.operand_buffers);
  for (const KernelOutput& output : frame.outputs) {
    if (!output.shape.IsArray()) {
      return Unsupported(fusion.loc(), "platform `{}` cannot run a fusion with nested tuples yet",
                         platform);
    }
  }
  return frame;
}

}  // namespace hlo
