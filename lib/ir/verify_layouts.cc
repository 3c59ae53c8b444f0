// Rules of layouts and memory spaces.
//
// With layout_sensitive:
//
//   most opcodes     cannot change the layout: operands of the result's rank have the result's
//                    layout, tiles and memory space aside (element sizes as well for convert,
//                    compare, is-finite, the predicate of select, scatter)
//   dynamic-slice, dynamic-update-slice   change the memory space only between device and host: a
//                                         slice is not put into host memory
//                    and an update of host memory does not yield device memory; fast memory is neither entered nor left
//   dynamic-update-slice   has the layout of operand 0 (in fusions tiles and memory space aside)
//   copy             from host to device memory changes nothing else; to host memory
//                    it keeps the type
//   copy-start, send   hand the operand on in its layout; a copy-done has that of its start
//   bitcast          keeps the number of bytes and does not leave or enter host memory
//                    (constants may)
//   fusion, call     see verify_control.cc
//   scan             is associative; others are expanded before
//
// By option:
//
//   verify_no_host_memory_space   no layout is in host memory
//   verify_reshape_is_bitcast     reshapes outside fusions move no bytes
//   verify_broadcast_dims_order   `dimensions` of broadcasts ascend
#include "lib/ir/layout_change.h"
#include "lib/ir/verify_internal.h"
#include "lib/types/memory_space.h"
#include "lib/types/shape_util.h"

namespace hlo::internal {
namespace {

bool MayChangeLayout(const VerifyContext& context, const Instruction& instruction) {
  if (context.options.instruction_can_change_layout != nullptr)
    return context.options.instruction_can_change_layout(instruction);
  return hlo::MayChangeLayout(instruction);
}

// Whether operand `i` may have elements of another size in memory.
bool IgnoresElementSize(Opcode opcode, int i) {
  return opcode == Opcode::kConvert || opcode == Opcode::kCompare || opcode == Opcode::kIsFinite ||
         opcode == Opcode::kScatter || (opcode == Opcode::kSelect && i == 0);
}

int64_t SizeOf(const VerifyContext& context, Shape shape) {
  return context.options.shape_size != nullptr ? context.options.shape_size(shape)
                                               : shape.byte_size();
}

// The two slices between memory spaces.
void CheckMemorySpaceOfSlice(const VerifyContext& context, const Instruction& slice,
                             const Instruction& operand) {
  const int64_t from = MemorySpaceOf(operand.shape());
  const int64_t to = MemorySpaceOf(slice.shape());
  if (from == to) return;
  const bool fast = from == kFastMemorySpace || to == kFastMemorySpace;
  const bool to_host = slice.opcode() == Opcode::kDynamicSlice && to == kHostMemorySpace;
  const bool from_host = slice.opcode() == Opcode::kDynamicUpdateSlice && from == kHostMemorySpace;
  if (!fast && !to_host && !from_host) return;
  context.findings.Add(
      slice.loc(),
      "`{}` is in memory space {}, but operand `{}` in {}; `{}` does not move data "
      "between them",
      slice.name(), to, operand.name(), from, slice.opcode_text());
  context.findings.NoteDefinition(operand);
}

void CheckOperandLayouts(const VerifyContext& context, const Instruction& instruction) {
  const Shape shape = instruction.shape();
  const Opcode opcode = instruction.opcode();
  for (int i = 0; i < instruction.operand_count(); ++i) {
    const Instruction& operand = *instruction.operand(i);
    const Shape from = operand.shape();
    if (!from.IsArray() || from.rank() != shape.rank() || !from.has_layout()) continue;
    if (from == shape) continue;
    const LayoutLeniency leniency = {
        .tiles = true, .memory_space = true, .element_size = IgnoresElementSize(opcode, i)};
    if (!SameLayout(from.layout(), shape.layout(), leniency)) {
      context.findings.Add(
          instruction.loc(),
          "`{}` has shape `{:l}`, but `{}` cannot change the layout of operand `{}`, `{:l}`",
          instruction.name(), shape, instruction.opcode_text(), operand.name(), from);
      return context.findings.NoteDefinition(operand);
    }
    if (opcode == Opcode::kDynamicSlice || opcode == Opcode::kDynamicUpdateSlice)
      CheckMemorySpaceOfSlice(context, instruction, operand);
  }
}

void CheckBitcast(const VerifyContext& context, const Instruction& bitcast) {
  const Instruction& operand = *bitcast.operand(0);
  const Shape from = operand.shape();
  const Shape to = bitcast.shape();
  const int64_t before = SizeOf(context, from);
  const int64_t after = SizeOf(context, to);
  const bool padding_only =
      context.options.allow_bitcast_to_have_different_size && from.byte_size() == to.byte_size();
  if (before != after && !padding_only) {
    context.findings.Add(bitcast.loc(),
                         "bitcast `{}` from `{}` to `{}` changes the number of bytes from {} to {}",
                         bitcast.name(), from, to, before, after);
    return;
  }
  if (!from.has_layout() || !to.has_layout() || operand.IsConstant()) return;
  const bool from_host = MemorySpaceOf(from) == kHostMemorySpace;
  const bool to_host = MemorySpaceOf(to) == kHostMemorySpace;
  if (from_host == to_host) return;
  context.findings.Add(bitcast.loc(),
                       "bitcast `{}` from `{:l}` to `{:l}` {} host memory, which takes a copy",
                       bitcast.name(), from, to, from_host ? "leaves" : "enters");
  context.findings.NoteDefinition(operand);
}

void CheckCopy(const VerifyContext& context, const Instruction& copy) {
  const Shape from = copy.operand(0)->shape();
  const Shape to = copy.shape();
  if (!from.IsArray() || !from.has_layout() || !to.has_layout()) return;
  const bool from_host = MemorySpaceOf(from) == kHostMemorySpace;
  const bool to_host = MemorySpaceOf(to) == kHostMemorySpace;
  if (from_host == to_host) return;
  // A copy to the host may yet turn out to be one within the host, when memory spaces have been
  // propagated; those may transpose.
  const bool sound = to_host
                         ? from.element_type() == to.element_type()
                         : Agree(from, to, {.layout = true, .leniency = {.memory_space = true}});
  if (sound) return;
  context.findings.Add(copy.loc(),
                       "copy `{}` from `{:l}` to `{:l}` leaves host memory, so it may change only "
                       "the memory space",
                       copy.name(), from, to);
  context.findings.NoteDefinition(*copy.operand(0));
}

// Halves of transfers: what a start hands on has the layout of its operand, a done's result that of
// its start.
void CheckTransfer(const VerifyContext& context, const Instruction& half) {
  const Shape operand = half.operand(0)->shape();
  const Shape shape = half.shape();
  const Opcode opcode = half.opcode();
  Shape expected = shape;
  LayoutLeniency leniency;
  if (opcode == Opcode::kCopyStart || opcode == Opcode::kSend) {
    expected = shape.WithElement(0, operand);
    if (opcode == Opcode::kCopyStart) expected = expected.WithElement(1, operand);
    leniency.everything = true;
  } else if (opcode == Opcode::kCopyDone) {
    const Agreement agreement = {.layout = true,
                                 .leniency = {.memory_space = true, .split_configs = true}};
    if (!Agree(operand.element(0), operand.element(1), agreement)) {
      context.findings.Add(
          half.loc(), "`{}` ends a copy from `{:l}` to `{:l}`; only the memory space may differ",
          half.name(), operand.element(1), operand.element(0));
      return context.findings.NoteDefinition(*half.operand(0));
    }
    expected = operand.element(0);
  }
  if (Agree(shape, expected, {.layout = true, .leniency = leniency})) return;
  context.findings.Add(half.loc(), "`{}` is declared `{:l}`, expected the layout of `{:l}`",
                       half.name(), shape, expected);
  context.findings.NoteDefinition(*half.operand(0));
}

void CheckUpdateSlice(const VerifyContext& context, const Instruction& update) {
  const bool fused = update.parent()->is_fusion();
  const LayoutLeniency leniency = {.tiles = fused, .memory_space = fused};
  const Shape target = update.operand(0)->shape();
  if (Agree(update.shape(), target, {.layout = true, .leniency = leniency})) return;
  context.findings.Add(update.loc(), "`{}` is declared `{:l}`, but updates operand `{}`, `{:l}`",
                       update.name(), update.shape(), update.operand(0)->name(), target);
  context.findings.NoteDefinition(*update.operand(0));
}

void CheckLayoutSensitive(const VerifyContext& context, const Instruction& instruction) {
  const Shape shape = instruction.shape();
  const Opcode opcode = instruction.opcode();
  const size_t before = context.findings.count();
  if (opcode == Opcode::kBitcast) CheckBitcast(context, instruction);
  if (opcode == Opcode::kCopy) CheckCopy(context, instruction);
  if (opcode == Opcode::kCopyStart || opcode == Opcode::kSend || opcode == Opcode::kCopyDone)
    CheckTransfer(context, instruction);
  if (opcode == Opcode::kScan && instruction.attrs<ScanAttrs>().is_associative != true) {
    context.findings.Add(instruction.loc(),
                         "scan `{}` is not associative; it is expanded before layouts are assigned",
                         instruction.name());
  }
  if (!shape.IsArray() || !shape.has_layout()) return;
  if (!MayChangeLayout(context, instruction)) CheckOperandLayouts(context, instruction);
  if (opcode == Opcode::kDynamicUpdateSlice && context.findings.count() == before)
    CheckUpdateSlice(context, instruction);
}

void CheckNoHostMemory(const VerifyContext& context, const Instruction& instruction) {
  bool host = false;
  ForEachLeaf(instruction.shape(), [&host](Shape leaf, const ShapeIndex&) {
    host = host || MemorySpaceOf(leaf) == kHostMemorySpace;
  });
  if (!host) return;
  context.findings.Add(instruction.loc(),
                       "`{}` has shape `{:l}`, expected nothing in host memory, space {}",
                       instruction.name(), instruction.shape(), kHostMemorySpace);
}

}  // namespace

void VerifyLayouts(const VerifyContext& context, const Instruction& instruction) {
  const VerifierOptions& options = context.options;
  if (options.layout_sensitive) CheckLayoutSensitive(context, instruction);
  if (options.verify_no_host_memory_space) CheckNoHostMemory(context, instruction);
  if (options.verify_reshape_is_bitcast && instruction.opcode() == Opcode::kReshape &&
      !instruction.parent()->is_fusion() &&
      !ReshapeIsBitcast(instruction.operand(0)->shape(), instruction.shape())) {
    context.findings.Add(instruction.loc(),
                         "reshape `{}` from `{:l}` to `{:l}` moves data, expected a bitcast",
                         instruction.name(), instruction.operand(0)->shape(), instruction.shape());
    context.findings.NoteDefinition(*instruction.operand(0));
  }
  if (options.verify_broadcast_dims_order && instruction.opcode() == Opcode::kBroadcast) {
    const DimVec& dims = instruction.attrs<BroadcastAttrs>().dimensions;
    for (size_t i = 1; i < dims.size(); ++i) {
      if (dims[i - 1] < dims[i]) continue;
      return context.findings.Add(instruction.loc(),
                                  "`dimensions` of broadcast `{}` names {} before {}, expected "
                                  "ascending ones",
                                  instruction.name(), dims[i - 1], dims[i]);
    }
  }
}

}  // namespace hlo::internal
