#include "passes/simplify/host_memory_transfer_asyncifier.h"

#include <optional>

#include "lib/ir/async_chain.h"
#include "lib/ir/builder.h"
#include "passes/util/split_async.h"

namespace hlo {
namespace {

constexpr OpcodeSet kTransfers = {Opcode::kCopy, Opcode::kDynamicSlice,
                                  Opcode::kDynamicUpdateSlice};

std::optional<int64_t> StatedMemorySpace(Shape shape) {
  if (!shape.IsArray() || !shape.has_layout()) return std::nullopt;
  return shape.layout().memory_space;
}

absl::StatusOr<bool> IsTransfer(const Instruction& instruction, int64_t host) {
  constexpr int64_t kDevice = 0;
  const std::optional<int64_t> to = StatedMemorySpace(instruction.shape());
  const std::optional<int64_t> from = StatedMemorySpace(instruction.operand(0)->shape());
  if (instruction.opcode() != Opcode::kDynamicUpdateSlice)
    return (from == host && to == kDevice) ||
           (instruction.opcode() == Opcode::kCopy && from == kDevice && to == host);
  if (StatedMemorySpace(instruction.operand(1)->shape()) != kDevice || to != host) return false;
  if (from != to)
    return Error(instruction.loc(),
                 "`{}` updates `{}`, which does not lie in the memory of the host as its result",
                 instruction.name(), instruction.operand(0)->name());
  return true;
}

// As XLA has them: a word to wait for, and for slices a count of bytes.
std::vector<Shape> Contexts(Opcode opcode) {
  std::vector<Shape> contexts = {Shape::Scalar(ElementType::kU32)};
  if (opcode == Opcode::kDynamicSlice) contexts.push_back(Shape::Scalar(ElementType::kS32));
  return contexts;
}

absl::Status StartAndWait(Instruction* transfer) {
  const uint32_t first_new = transfer->module().id_limit();
  Builder b(transfer);
  const Shape shape = transfer->shape();
  Instruction* start;
  Instruction* done;
  if (transfer->opcode() == Opcode::kCopy) {
    start = b.OpWithShape(
        Opcode::kCopyStart,
        Shape::Tuple({shape, transfer->operand(0)->shape(), Contexts(transfer->opcode()).front()}),
        {transfer->operand(0)}, AttrsPtr::Make(CopyStartAttrs{}));
    done = b.OpWithShape(Opcode::kCopyDone, shape, {start});
  } else {
    std::vector<Shape> parts = {Shape::Tuple(transfer->operand_shapes()), shape};
    for (const Shape part : Contexts(transfer->opcode())) parts.push_back(part);
    const AttrsPtr attrs = AttrsPtr::Make(AsyncAttrs{});
    start = b.OpWithShape(Opcode::kAsyncStart, Shape::Tuple(parts), transfer->operand_vector(),
                          attrs, {AsyncComputationOf(*transfer)});
    done = b.OpWithShape(Opcode::kAsyncDone, shape, {start}, attrs);
  }
  RETURN_IF_ERROR(b.status());
  ReplaceByPair(transfer, start, done, first_new);
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<bool> HostMemoryTransferAsyncifier::Run(Module& module, PassContext& context) {
  bool changed = false;
  for (Computation* computation : context.NonFusionComputations(module, kTransfers)) {
    if (IsAsyncBody(*computation)) continue;
    for (Instruction* instruction : computation->PostOrder()) {
      if (!kTransfers.Has(instruction->opcode())) continue;
      ASSIGN_OR_RETURN(const bool is_transfer,
                       IsTransfer(*instruction, options_.host_memory_space_color));
      if (!is_transfer) continue;
      if (!context.MayRewrite()) return changed;
      context.Passed(*instruction, "runs beside other work");
      context.Count("started");
      RETURN_IF_ERROR(StartAndWait(instruction));
      changed = true;
    }
  }
  return changed;
}

HLO_DEFINE_PASS(HostMemoryTransferAsyncifier)

}  // namespace hlo
