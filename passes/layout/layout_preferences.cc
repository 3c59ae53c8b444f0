#include "passes/layout/layout_preferences.h"

#include "absl/algorithm/container.h"
#include "lib/ir/custom_call.h"
#include "lib/ops/attrs.h"

namespace hlo {
namespace {

using Strength = LayoutConstraints::Strength;

// What the library's products are made of.
constexpr ElementType kLibraryTypes[] = {ElementType::kF16, ElementType::kF32,  ElementType::kF64,
                                         ElementType::kC64, ElementType::kC128, ElementType::kS32};

// From where on it pays to lay out the constant matrix of a product with a vector anew.
constexpr int64_t kMinBytesOfVector = 32;

bool IsRealNumber(ElementType type) { return IsFloat(type) || IsInteger(type); }

bool IsRank2(Shape shape) { return shape.rank() == 2; }

// A vector, or a matrix of at most three rows or columns.
bool IsThin(Shape shape) {
  return shape.rank() <= 1 || (IsRank2(shape) && (shape.dim(0) <= 3 || shape.dim(1) <= 3));
}

// Whether the loops that compute this product read vectors or so little that no library pays.
bool IsSmallProduct(const Instruction& dot) {
  const Shape result = dot.shape();
  if (!IsRealNumber(result.element_type())) return false;
  if (result.rank() <= 1 || (IsRank2(result) && (result.dim(0) == 1 || result.dim(1) == 1)))
    return true;
  return IsThin(dot.operand(0)->shape()) && IsThin(dot.operand(1)->shape());
}

bool IsRowMajorDot(const Instruction& dot) {
  // The loop over batches takes them apart from the major-most dimension on.
  if (!dot.attrs<DotAttrs>().lhs_batch_dims.empty()) return true;
  if (IsSmallProduct(dot)) return false;
  const Shape lhs = dot.operand(0)->shape();
  const Shape rhs = dot.operand(1)->shape();
  if (!IsRank2(lhs) || !IsRank2(rhs) || !IsRank2(dot.shape())) return false;
  if (lhs.IsZeroSized() || rhs.IsZeroSized()) return false;
  return absl::c_linear_search(kLibraryTypes, dot.shape().element_type());
}

// Whether these are the dimensions `first`, `first` + 1, ….
bool CountsUpFrom(const DimVec& dims, int64_t first) {
  for (const int64_t dim : dims) {
    if (dim != first++) return false;
  }
  return true;
}

bool IsRowMajorConvolution(const Instruction& convolution) {
  const Shape input = convolution.operand(0)->shape();
  if (input.element_type() != ElementType::kF32 && input.element_type() != ElementType::kF16)
    return false;
  if (input.IsZeroSized() || convolution.operand(1)->shape().IsZeroSized()) return false;
  const auto& attrs = convolution.attrs<ConvolutionAttrs>();
  for (const WindowDim& dim : attrs.window.dims) {
    if (dim.reversal) return false;
  }
  const ConvDimNumbers& dims = attrs.dim_labels;
  const auto spatial = static_cast<int64_t>(dims.input_spatial.size());
  // The library knows one order of dimensions.
  return spatial >= 1 && spatial <= 3 && dims.input_batch == 0 && dims.output_batch == 0 &&
         CountsUpFrom(dims.input_spatial, 1) && CountsUpFrom(dims.output_spatial, 1) &&
         CountsUpFrom(dims.kernel_spatial, 0) && dims.input_feature == spatial + 1 &&
         dims.output_feature == spatial + 1 && dims.kernel_input_feature == spatial &&
         dims.kernel_output_feature == spatial + 1;
}

bool IsRowMajorKernel(const Instruction& instruction) {
  if (instruction.opcode() == Opcode::kDot) return IsRowMajorDot(instruction);
  if (instruction.opcode() == Opcode::kConvolution) return IsRowMajorConvolution(instruction);
  return IsCustomCall(instruction, "TopK");
}

// A vector times a matrix goes down the columns of the matrix, operand 1.
bool ReadsColumns(const Instruction& instruction) {
  if (instruction.opcode() != Opcode::kDot || instruction.shape().rank() > 1) return false;
  const auto& contracting = instruction.attrs<DotAttrs>().rhs_contracting_dims;
  const Shape vector = instruction.operand(0)->shape();
  return vector.rank() == 1 && contracting.size() == 1 && contracting[0] == 0 &&
         vector.byte_size() >= kMinBytesOfVector;
}

// Whether operand 1 is a constant all of whose users want it in columns.
bool HasConstantColumns(const Instruction& instruction) {
  if (!ReadsColumns(instruction)) return false;
  const Instruction* matrix = instruction.operand(1);
  if (matrix->opcode() != Opcode::kConstant) return false;
  for (const Instruction* user : matrix->users()) {
    if (!ReadsColumns(*user) || user->operand(1) != matrix || user->operand(0) == matrix)
      return false;
  }
  return true;
}

// The dimension that must be major-most for the devices to exchange whole pieces; -1: any.
int64_t ExchangedDimension(const Instruction& instruction) {
  if (instruction.opcode() == Opcode::kAllGather)
    return instruction.attrs<AllGatherAttrs>().dimensions.value;
  if (instruction.opcode() == Opcode::kReduceScatter)
    return instruction.attrs<ReduceScatterAttrs>().dimensions.value;
  return -1;
}

Shape WithMajorMost(Shape array, int64_t dim) {
  DimOrder order;
  for (int64_t d = array.rank(); d-- > 0;) {
    if (d != dim) order.push_back(d);
  }
  order.push_back(dim);
  return InOrder(array, order);
}

}  // namespace

void AddCpuPreferences(const Computation& computation, LayoutConstraints& constraints) {
  for (const Instruction* instruction : computation.instructions()) {
    if (IsRowMajorKernel(*instruction))
      constraints.SetResult(*instruction, instruction->shape().WithDefaultLayout(),
                            Strength::kMandatory);
    if (HasConstantColumns(*instruction)) {
      const Shape matrix = instruction->operand(1)->shape();
      DimOrder columns(matrix.rank());
      absl::c_iota(columns, 0);
      constraints.SetOperand(*instruction, 1, InOrder(matrix, columns), Strength::kMandatory);
    }
    if (instruction->opcode() == Opcode::kCopy) continue;  // takes whatever there is
    const int64_t exchanged = ExchangedDimension(*instruction);
    for (int i = 0; i < instruction->operand_count(); ++i) {
      const Shape operand = instruction->operand(i)->shape();
      if (!operand.IsArray() || constraints.HasOperand(*instruction, i) ||
          constraints.HandsOn(*instruction, i))
        continue;
      constraints.SetOperand(
          *instruction, i,
          exchanged < 0 ? operand.WithDefaultLayout() : WithMajorMost(operand, exchanged),
          Strength::kMandatory);
    }
  }
}

}  // namespace hlo
