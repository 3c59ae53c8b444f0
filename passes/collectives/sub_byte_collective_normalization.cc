#include "passes/collectives/sub_byte_collective_normalization.h"

#include "lib/analysis/device_groups.h"
#include "lib/ir/async_chain.h"

namespace hlo {
namespace {

int64_t ElementsPerByte(Shape shape) { return 8 / BitWidth(shape.element_type()); }

// Packed narrow elements, whole bytes of them along the minor dimension.
bool IsWholeBytes(Shape shape) {
  if (!shape.IsArray() || !shape.has_layout() || shape.has_dynamic_dims() || shape.rank() == 0 ||
      !IsSubByte(shape.element_type()))
    return false;
  Layout rest = shape.layout();
  if (rest.element_size_in_bits != BitWidth(shape.element_type())) return false;
  rest.element_size_in_bits = rest.memory_space = 0;
  const int64_t minor = shape.dim(static_cast<int>(rest.minor_to_major[0]));
  return !rest.HasProperties() && minor % ElementsPerByte(shape) == 0;
}

// Bytes instead of elements.
Shape AsBytes(Shape shape) {
  Layout layout = shape.layout();
  DimVec sizes(shape.dims().begin(), shape.dims().end());
  sizes[static_cast<size_t>(layout.minor_to_major[0])] /= ElementsPerByte(shape);
  layout.element_size_in_bits = 0;
  return Shape::Array(ElementType::kS8, sizes).WithLayout(layout);
}

// The elements with those of a byte as the most minor dimension.
Shape SplitIntoBytes(Shape shape) {
  Layout layout = shape.layout();
  const Shape bytes = AsBytes(shape);
  DimVec sizes(bytes.dims().begin(), bytes.dims().end());
  layout.minor_to_major.insert(layout.minor_to_major.begin(), shape.rank());
  sizes.push_back(ElementsPerByte(shape));
  return Shape::Array(shape.element_type(), sizes).WithLayout(layout);
}

bool SplitsBytes(const Instruction& collective) {
  if (collective.opcode() != Opcode::kAllToAll) return false;
  const auto& split = collective.attrs<AllToAllAttrs>().dimensions;
  const std::optional<int64_t> devices = GroupSize(collective);
  if (!split || !devices) return true;
  const Shape shape = collective.shape();
  return shape.dim(static_cast<int>(split->value)) % (*devices * ElementsPerByte(shape)) != 0;
}

Instruction* MoveBytes(Instruction* collective, Rewriter& rewriter) {
  if (collective->operand_count() != 1) return nullptr;
  Instruction* const own = collective->operand(0);
  const Shape from = own->shape(), to = collective->shape();
  if (!IsWholeBytes(from) || !IsWholeBytes(to) || from.layout() != to.layout() ||
      SplitsBytes(*collective) || IsAsyncBody(*rewriter.computation()))
    return nullptr;
  Instruction* const split = rewriter.Bitcast(own, SplitIntoBytes(from));
  Instruction* const bytes = rewriter.OpWithShape(Opcode::kBitcastConvert, AsBytes(from), {split});
  Instruction* const moved = rewriter.computation()->AddClone(*collective, AsBytes(to), {bytes});
  // The elements are those of the result, not of the bytes.
  if (moved->extras() != nullptr) moved->mutable_extras().origin.reset();
  Instruction* const elements =
      rewriter.OpWithShape(Opcode::kBitcastConvert, SplitIntoBytes(to), {moved});
  return rewriter.Bitcast(elements, to);
}

constexpr Rule kByteRules[] = {
    {"all-gather-bytes", Opcode::kAllGather, kExact, MoveBytes},
    {"all-to-all-bytes", Opcode::kAllToAll, kExact, MoveBytes},
    {"collective-broadcast-bytes", Opcode::kCollectiveBroadcast, kExact, MoveBytes},
    {"collective-permute-bytes", Opcode::kCollectivePermute, kExact, MoveBytes},
};

}  // namespace

SubByteCollectiveNormalization::SubByteCollectiveNormalization() : RewritePass(this, kByteRules) {}

HLO_DEFINE_PASS(SubByteCollectiveNormalization)

}  // namespace hlo
