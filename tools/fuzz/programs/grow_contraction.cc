// Products, convolutions, transforms, solvers.
#include <algorithm>

#include "lib/ops/attrs.h"
#include "lib/types/shape_util.h"
#include "tools/fuzz/programs/rows.h"

namespace hlo {
namespace {

// The other operand is made to fit: batch and contracted dimensions of the first, in any order.
void GrowDot(Sketch& s) {
  Instruction* x = s.Any();
  DotAttrs attrs;
  DimVec dims;
  for (int64_t d = 0; d < x->shape().rank(); ++d) {
    const size_t role = s.random().Below(4);
    if (role > 1) continue;  // stays
    (role == 0 ? attrs.lhs_batch_dims : attrs.lhs_contracting_dims).push_back(d);
  }
  std::vector<std::pair<int64_t, int>> roles;  // size; 0 batch, 1 contracted, 2 free
  for (const int64_t d : attrs.lhs_batch_dims)
    roles.emplace_back(x->shape().dim(static_cast<int>(d)), 0);
  for (const int64_t d : attrs.lhs_contracting_dims)
    roles.emplace_back(x->shape().dim(static_cast<int>(d)), 1);
  for (size_t i = s.random().Below(3); i > 0; --i) roles.emplace_back(s.Dim(33), 2);
  if (s.random().OneIn(2))
    std::reverse(roles.begin() + static_cast<int64_t>(attrs.lhs_batch_dims.size()), roles.end());
  DimVec contracted;
  for (size_t i = 0; i < roles.size(); ++i) {
    dims.push_back(roles[i].first);
    if (roles[i].second == 0) attrs.rhs_batch_dims.push_back(static_cast<int64_t>(i));
    if (roles[i].second == 1) contracted.push_back(static_cast<int64_t>(i));
  }
  // Reversed above, the contracted dimensions come in the opposite order.
  if (!contracted.empty() && x->shape().dim(static_cast<int>(attrs.lhs_contracting_dims.front())) !=
                                 dims[static_cast<size_t>(contracted.front())])
    std::reverse(contracted.begin(), contracted.end());
  attrs.rhs_contracting_dims = contracted;
  const Shape other = Shape::Array(x->shape().element_type(), dims);
  if (other.element_count() > s.palette().max_elements) return;
  Instruction* y = s.Value(other);
  s.Op(Opcode::kDot, {x, y}, AttrsPtr::Make(attrs));
}

void GrowConvolution(Sketch& s) {
  const int spatial = static_cast<int>(s.random().Below(3));
  const ElementType type = s.Type();
  ConvolutionAttrs attrs;
  ConvDimNumbers& labels = attrs.dim_labels;
  const bool channels_first = s.random().OneIn(3);
  const int first = channels_first ? 2 : 1;
  labels.input_batch = labels.output_batch = 0;
  labels.input_feature = labels.output_feature = channels_first ? 1 : spatial + 1;
  labels.kernel_input_feature = channels_first ? 1 : spatial;
  labels.kernel_output_feature = channels_first ? 0 : spatial + 1;
  const int64_t groups = s.random().OneIn(4) ? 2 : 1;
  const int64_t in = groups * static_cast<int64_t>(s.random().Small(5));
  const int64_t out = groups * static_cast<int64_t>(s.random().Small(6));
  DimVec input(static_cast<size_t>(spatial + 2)), kernel(static_cast<size_t>(spatial + 2));
  input[0] = static_cast<int64_t>(s.random().Small(3));
  if (groups == 1 && s.random().OneIn(8)) {  // the batch in groups instead
    attrs.batch_group_count = 2;
    input[0] *= 2;
  }
  input[static_cast<size_t>(labels.input_feature)] = in;
  kernel[static_cast<size_t>(labels.kernel_input_feature)] = in / groups;
  kernel[static_cast<size_t>(labels.kernel_output_feature)] = out;
  attrs.feature_group_count = groups;
  for (int i = 0; i < spatial; ++i) {
    labels.input_spatial.push_back(first + i);
    labels.output_spatial.push_back(first + i);
    labels.kernel_spatial.push_back(channels_first ? 2 + i : i);
    WindowDim w;
    w.size = static_cast<int64_t>(s.random().Small(4));
    if (s.random().OneIn(3)) w.stride = 2;
    w.pad_low = static_cast<int64_t>(s.random().Below(3));
    w.pad_high = static_cast<int64_t>(s.random().Below(3));
    if (s.random().OneIn(6)) w.base_dilation = 2;
    if (s.random().OneIn(6)) w.window_dilation = 2;
    w.reversal = s.random().OneIn(8);
    attrs.window.dims.push_back(w);
    input[static_cast<size_t>(first + i)] = static_cast<int64_t>(s.random().Small(12));
    kernel[static_cast<size_t>(labels.kernel_spatial.back())] = w.size;
  }
  Instruction* x = s.Value(Shape::Array(type, input));
  Instruction* k = s.Value(Shape::Array(type, kernel));
  s.Op(Opcode::kConvolution, {x, k}, AttrsPtr::Make(attrs));
}

void GrowFft(Sketch& s) {
  static constexpr FftType kTypes[] = {FftType::kRfft, FftType::kRfft, FftType::kIrfft,
                                       FftType::kFft, FftType::kIfft};
  const int rank = static_cast<int>(s.random().Small(2));
  DimVec dims = {static_cast<int64_t>(s.random().Small(3))};
  FftAttrs attrs;
  for (int i = 0; i < rank; ++i) {
    dims.push_back(s.Dim(rank == 1 ? 130 : 17));
    attrs.fft_length.push_back(dims.back());
  }
  attrs.fft_type = kTypes[s.random().Below(std::size(kTypes))];
  // Half of the spectrum says it all.
  if (attrs.fft_type == FftType::kIrfft) dims.back() = dims.back() / 2 + 1;
  const ElementType real = s.random().OneIn(4) ? ElementType::kF64 : ElementType::kF32;
  const ElementType type = attrs.fft_type == FftType::kRfft ? real : ComplexTypeOf(real);
  Instruction* x = s.Value(Shape::Array(type, dims));
  s.Op(Opcode::kFft, {x}, AttrsPtr::Make(attrs));
}

// Blocks of the contracted dimension have factors of their own.
void GrowScaledDot(Sketch& s) {
  const ElementType type = s.TypeWhere([](ElementType t) { return IsFloat(t); }, ElementType::kF32);
  const auto blocks = static_cast<int64_t>(s.random().Small(3));
  const int64_t depth = blocks * static_cast<int64_t>(s.random().Small(8));
  const int64_t rows = s.Dim(9), columns = s.Dim(9);
  const bool has_batch = s.random().OneIn(3);
  DotAttrs attrs;
  DimVec left = {rows, depth}, right = {depth, columns};
  attrs.lhs_contracting_dims = {1};
  attrs.rhs_contracting_dims = {0};
  if (has_batch) {
    const auto batch = static_cast<int64_t>(s.random().Small(3));
    left.insert(left.begin(), batch);
    right.insert(right.begin(), batch);
    attrs.lhs_batch_dims = attrs.rhs_batch_dims = {0};
    attrs.lhs_contracting_dims = {2};
    attrs.rhs_contracting_dims = {1};
  }
  const auto scale_of = [&](DimVec dims, int64_t contracted) {
    dims[static_cast<size_t>(contracted)] = blocks;
    return s.Value(Shape::Array(ElementType::kF8E8M0FNU, dims));
  };
  Instruction* x = s.Value(Shape::Array(type, left));
  Instruction* y = s.Value(Shape::Array(type, right));
  Instruction* const operands[] = {x, y, scale_of(left, attrs.lhs_contracting_dims[0]),
                                   scale_of(right, attrs.rhs_contracting_dims[0])};
  DimVec dims = {rows, columns};
  if (has_batch) dims.insert(dims.begin(), left[0]);
  const Shape result =
      Shape::Array(s.random().OneIn(2) ? ElementType::kF32 : ElementType::kBF16, dims);
  s.Make([&](Builder& b) {
    return b.OpWithShape(Opcode::kScaledDot, result, operands, AttrsPtr::Make(attrs));
  });
}

// Sizes of groups that fit into `total`, which they need not fill.
Instruction* GroupSizes(Sketch& s, int64_t groups, int64_t total) {
  Literal sizes(
      Shape::Array(s.random().OneIn(4) ? ElementType::kS64 : ElementType::kS32, {groups}));
  for (int64_t g = 0; g < groups; ++g) {
    const bool rest = g + 1 == groups && !s.random().OneIn(3);
    const int64_t size =
        rest ? total : static_cast<int64_t>(s.random().Below(static_cast<size_t>(total + 1)));
    sizes.SetInt(g, size);
    total -= size;
  }
  return s.computation()->AddConstant(std::move(sizes));
}

// Groups along a free dimension, which have a matrix each, or along the contracted one.
void GrowRaggedDot(Sketch& s) {
  const ElementType type = s.Type();
  const auto groups = static_cast<int64_t>(s.random().Small(4));
  const int64_t rows = s.Dim(17), depth = s.Dim(9), columns = s.Dim(9);
  const bool is_free = s.random().OneIn(2);
  RaggedDotAttrs attrs;
  attrs.lhs_contracting_dims = {1};
  attrs.rhs_contracting_dims = {is_free ? 1 : 0};
  attrs.lhs_ragged_dims = {is_free ? 0 : 1};
  if (is_free) attrs.rhs_group_dims = {0};
  Instruction* x = s.Value(Shape::Array(type, {rows, depth}));
  Instruction* y = s.Value(
      Shape::Array(type, is_free ? DimVec{groups, depth, columns} : DimVec{depth, columns}));
  s.Op(Opcode::kRaggedDot, {x, y, GroupSizes(s, groups, is_free ? rows : depth)},
       AttrsPtr::Make(attrs));
}

ElementType FactorType(Sketch& s) {
  static const std::vector<ElementType> kTypes = {ElementType::kF32, ElementType::kF32,
                                                  ElementType::kF32, ElementType::kF64,
                                                  ElementType::kC64, ElementType::kC128};
  const auto has_factors = [](ElementType t) { return IsFloat(t) || IsComplex(t); };
  return s.random().OneIn(3) ? s.TypeWhere(has_factors, ElementType::kF32)
                             : s.random().Pick(kTypes);
}

// A Hermitian matrix with a heavy diagonal, as a program would make one: its factorization exists.
Instruction* HeavyMatrix(Sketch& s, ElementType type, int64_t n, int64_t batch) {
  const DimVec dims = {batch, n, n};
  const ElementType part_type = ComponentType(type);
  Instruction* x = s.Value(Shape::Array(part_type, dims));
  Instruction* low = s.computation()->AddConstant(Literal::Scalar(part_type, -1.0));
  Instruction* high = s.computation()->AddConstant(Literal::Scalar(part_type, 1.0));
  x = s.Op(Opcode::kClamp, {low, x, high});
  if (x == nullptr) return nullptr;
  Instruction* t = s.Make([&](Builder& b) { return b.Transpose(x, {0, 2, 1}); });
  if (t == nullptr) return nullptr;
  return s.Make([&](Builder& b) {
    Instruction* rows = b.Iota(Shape::Array(ElementType::kS32, dims), 1);
    Instruction* columns = b.Iota(Shape::Array(ElementType::kS32, dims), 2);
    Instruction* diagonal = b.Compare(rows, columns, ComparisonDirection::kEq);
    Instruction* heavy = b.ConstantLike(x, static_cast<double>(4 * n));
    Instruction* real = b.Select(diagonal, heavy, b.Add(x, t));
    return IsComplex(type) ? b.Complex(real, b.Subtract(x, t)) : real;
  });
}

void GrowCholesky(Sketch& s) {
  const ElementType type = FactorType(s);
  Instruction* a = HeavyMatrix(s, type, static_cast<int64_t>(s.random().Small(9)),
                               static_cast<int64_t>(s.random().Small(3)));
  if (a != nullptr)
    s.Op(Opcode::kCholesky, {a}, AttrsPtr::Make(CholeskyAttrs{s.random().OneIn(2)}));
}

void GrowTriangularSolve(Sketch& s) {
  const ElementType type = FactorType(s);
  const auto n = static_cast<int64_t>(s.random().Small(9));
  const auto batch = static_cast<int64_t>(s.random().Small(3));
  Instruction* a = HeavyMatrix(s, type, n, batch);
  if (a == nullptr) return;
  TriangularSolveAttrs attrs;
  attrs.left_side = s.random().OneIn(2);
  attrs.lower = s.random().OneIn(2);
  static constexpr TransposeKind kKinds[] = {TransposeKind::kNoTranspose, TransposeKind::kTranspose,
                                             TransposeKind::kAdjoint};
  attrs.transpose_a = kKinds[s.random().Below(std::size(kKinds))];
  // Without a heavy diagonal the solution is as large as chance has it.
  attrs.unit_diagonal = n <= 3 && s.random().OneIn(3);
  const int64_t columns = s.Dim(9);
  Instruction* b = s.Value(
      Shape::Array(type, attrs.left_side ? DimVec{batch, n, columns} : DimVec{batch, columns, n}));
  s.Op(Opcode::kTriangularSolve, {a, b}, AttrsPtr::Make(attrs));
}

constexpr GrowRow kContractionRows[] = {
    {"dot", 6, GrowDot},
    {"convolution", 2, GrowConvolution},
    {"scaled-dot", 1, GrowScaledDot},
    {"ragged-dot", 1, GrowRaggedDot},
    {"fft", 1, GrowFft},
    {"cholesky", 1, GrowCholesky},
    {"triangular-solve", 1, GrowTriangularSolve},
};

}  // namespace

std::span<const GrowRow> ContractionRows() { return kContractionRows; }

}  // namespace hlo
