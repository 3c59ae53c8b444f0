// The indexing maps of each operation, by family. A family fills `results` of a map that has the
// variables of the output; it returns false where it does not know.
#include <algorithm>

#include "lib/analysis/indexing.h"
#include "lib/support/contains.h"
#include "lib/types/memory_order.h"
#include "lib/types/shape_util.h"

namespace hlo {
namespace {

using Expr = IndexExpr;
using VariableKind = IndexVariable::Kind;

// One operand of an operation, and the map being made.
struct Maker {
  const Instruction& op;
  int number;       // of the operand
  Shape operand;    // its shape
  Shape output;     // of the array that is asked about
  IndexingMap map;  // with the output's variables

  int Range(int64_t size) { return Add(VariableKind::kRange, size); }
  int Runtime(int64_t size) { return Add(VariableKind::kRuntime, size); }
  int Add(VariableKind kind, int64_t size) {
    map.variables.push_back({kind, size});
    return static_cast<int>(map.variables.size()) - 1;
  }
  void Push(Expr expr) { map.results.push_back(std::move(expr)); }
  // 0 <= expr < size
  void Within(Expr expr, int64_t size, int64_t multiple = 1) {
    map.constraints.push_back({std::move(expr), 0, (size - 1) * multiple, multiple});
  }
};

int PlaceIn(const DimVec& dims, int64_t d) {
  return static_cast<int>(std::find(dims.begin(), dims.end(), d) - dims.begin());
}

// Scalars are read as they are for every element.
bool Identity(Maker& m) {
  for (int d = 0; d < m.operand.rank(); ++d) m.Push(Expr::Variable(d));
  return m.operand.rank() == 0 || m.operand.dims() == m.output.dims();
}

bool Broadcast(Maker& m) {
  for (const int64_t d : m.op.attrs<BroadcastAttrs>().dimensions)
    m.Push(Expr::Variable(static_cast<int>(d)));
  return true;
}

bool Transpose(Maker& m) {
  const DimVec inverse = InversePermutation(m.op.attrs<TransposeAttrs>().dimensions);
  for (const int64_t d : inverse) m.Push(Expr::Variable(static_cast<int>(d)));
  return true;
}

bool Reverse(Maker& m) {
  const DimVec& dims = m.op.attrs<ReverseAttrs>().dimensions;
  for (int d = 0; d < m.operand.rank(); ++d)
    m.Push(Contains(dims, d) ? Expr::Variable(d, -1, m.operand.dim(d) - 1) : Expr::Variable(d));
  return true;
}

bool Slice(Maker& m) {
  const SliceRanges& ranges = m.op.attrs<SliceAttrs>().slice;
  for (int d = 0; d < m.operand.rank(); ++d) {
    const SliceRange& range = ranges[static_cast<size_t>(d)];
    m.Push(Expr::Variable(d, range.stride, range.start));
  }
  return true;
}

bool Pad(Maker& m) {
  if (m.number == 1) return true;  // the padding value
  const PaddingConfig& padding = m.op.attrs<PadAttrs>().padding;
  for (int d = 0; d < m.operand.rank(); ++d) {
    const int64_t step = padding[d].interior + 1;
    const Expr place = Expr::Variable(d, 1, -padding[d].low);
    if (m.output.dim(d) != m.operand.dim(d) || padding[d].low != 0 || step != 1)
      m.Within(place, m.operand.dim(d), step);
    Expr index = place;
    index.divisor = step;
    m.Push(index);
  }
  return true;
}

bool Concatenate(Maker& m) {
  const auto along = static_cast<int>(m.op.attrs<ConcatenateAttrs>().dimensions.value);
  int64_t before = 0;
  for (int i = 0; i < m.number; ++i) before += m.op.operand(i)->shape().dim(along);
  for (int d = 0; d < m.operand.rank(); ++d) {
    if (d != along) {
      m.Push(Expr::Variable(d));
      continue;
    }
    const Expr place = Expr::Variable(d, 1, -before);
    if (m.op.operand_count() > 1) m.Within(place, m.operand.dim(d));
    m.Push(place);
  }
  return true;
}

// Groups of dimensions with equal products: the index within the group is split into digits.
bool Reshape(Maker& m) {
  if (m.output.IsZeroSized()) return false;
  const auto groups = CommonFactors(m.operand.dims(), m.output.dims());
  for (size_t g = 0; g + 1 < groups.size(); ++g) {
    const auto [from, to] = groups[g];
    const auto [from_end, to_end] = groups[g + 1];
    Expr linear;
    int64_t stride = 1;
    for (int64_t d = to_end; d-- > to;) {
      const int64_t size = m.output.dim(static_cast<int>(d));
      if (size > 1) linear.terms.insert(linear.terms.begin(), {static_cast<int>(d), stride});
      stride *= size;
    }
    int64_t below = stride;  // elements of the group
    const int64_t all = stride;
    for (int64_t d = from; d < from_end; ++d) {
      const int64_t size = m.operand.dim(static_cast<int>(d));
      below /= size;
      Expr index = size == 1 ? Expr::Constant(0) : linear;
      if (size > 1) {
        index.divisor = below;
        if (below * size < all) index.modulus = size;
      }
      m.Push(index);
    }
  }
  return true;
}

bool Bitcast(Maker& m) {
  if (m.operand.element_type() != m.output.element_type() ||
      m.operand.element_count() != m.output.element_count() ||
      !KeepsRowMajorOrder(m.operand, m.output))
    return false;
  return Reshape(m);
}

// Types of different widths: several narrow elements stand along a last dimension.
bool BitcastConvert(Maker& m) {
  for (int d = 0; d < std::min(m.operand.rank(), m.output.rank()); ++d) m.Push(Expr::Variable(d));
  if (m.operand.rank() > m.output.rank())
    m.Push(Expr::Variable(m.Range(m.operand.dim(m.operand.rank() - 1))));
  return true;
}

bool Reduce(Maker& m) {
  if (m.number >= m.op.operand_count() / 2) return true;  // a scalar to start with
  const DimVec& dims = m.op.attrs<ReduceAttrs>().dimensions;
  int kept = 0;
  for (int d = 0; d < m.operand.rank(); ++d)
    m.Push(Expr::Variable(Contains(dims, d) ? m.Range(m.operand.dim(d)) : kept++));
  return true;
}

// output: batch dimensions, those of the left, those of the right
bool Dot(Maker& m) {
  const DotAttrs& attrs = m.op.attrs<DotAttrs>();
  if (m.number > 1) return false;
  const bool is_left = m.number == 0;
  const DimVec& batch = is_left ? attrs.lhs_batch_dims : attrs.rhs_batch_dims;
  const DimVec& contracting = is_left ? attrs.lhs_contracting_dims : attrs.rhs_contracting_dims;
  std::vector<int> ranges;
  for (const int64_t d : contracting) ranges.push_back(m.Range(m.operand.dim(static_cast<int>(d))));
  const int of_left =
      m.op.operand(0)->shape().rank() - static_cast<int>(batch.size() + contracting.size());
  int free = static_cast<int>(batch.size()) + (is_left ? 0 : of_left);
  for (int d = 0; d < m.operand.rank(); ++d) {
    if (Contains(batch, d)) {
      m.Push(Expr::Variable(PlaceIn(batch, d)));
    } else if (Contains(contracting, d)) {
      m.Push(Expr::Variable(ranges[static_cast<size_t>(PlaceIn(contracting, d))]));
    } else {
      m.Push(Expr::Variable(free++));
    }
  }
  return true;
}

// The place that a window reads: output d, window s.
void PushWindowed(Maker& m, const WindowDim& window, int d, int s, int64_t size) {
  Expr place;
  const int64_t step = window.reversal ? -window.window_dilation : window.window_dilation;
  place.offset =
      -window.pad_low + (window.reversal ? (window.size - 1) * window.window_dilation : 0);
  place.terms.push_back({d, window.stride});
  if (window.size > 1) place.terms.push_back({s, step});
  const std::pair<int64_t, int64_t> range = m.map.RangeOf(place);
  if (range.first < 0 || range.second > (size - 1) * window.base_dilation ||
      window.base_dilation != 1)
    m.Within(place, size, window.base_dilation);
  place.divisor = window.base_dilation;
  m.Push(place);
}

bool ReduceWindow(Maker& m) {
  if (m.number >= m.op.operand_count() / 2) return true;
  const Window& window = m.op.attrs<ReduceWindowAttrs>().window;
  for (int d = 0; d < m.operand.rank(); ++d) {
    const WindowDim& dim = window.dims[static_cast<size_t>(d)];
    PushWindowed(m, dim, d, m.Range(dim.size), m.operand.dim(d));
  }
  return true;
}

bool Convolution(Maker& m) {
  const ConvolutionAttrs& attrs = m.op.attrs<ConvolutionAttrs>();
  if (attrs.feature_group_count != 1 || attrs.batch_group_count != 1) return false;
  const ConvDimNumbers& dims = attrs.dim_labels;
  const Shape kernel = m.op.operand(1)->shape();
  const int feature = m.Range(kernel.dim(static_cast<int>(dims.kernel_input_feature)));
  std::vector<int> window;
  for (const WindowDim& dim : attrs.window.dims) window.push_back(m.Range(dim.size));
  std::vector<Expr> results(static_cast<size_t>(m.operand.rank()));
  if (m.number == 1) {
    results[static_cast<size_t>(dims.kernel_input_feature)] = Expr::Variable(feature);
    results[static_cast<size_t>(dims.kernel_output_feature)] =
        Expr::Variable(static_cast<int>(dims.output_feature));
    for (size_t i = 0; i < window.size(); ++i)
      results[static_cast<size_t>(dims.kernel_spatial[i])] = Expr::Variable(window[i]);
    m.map.results = std::move(results);
    return true;
  }
  for (size_t i = 0; i < window.size(); ++i) {
    const auto d = static_cast<int>(dims.output_spatial[i]);
    PushWindowed(m, attrs.window.dims[i], d, window[i],
                 m.operand.dim(static_cast<int>(dims.input_spatial[i])));
    results[static_cast<size_t>(dims.input_spatial[i])] = std::move(m.map.results.back());
    m.map.results.pop_back();
  }
  results[static_cast<size_t>(dims.input_batch)] =
      Expr::Variable(static_cast<int>(dims.output_batch));
  results[static_cast<size_t>(dims.input_feature)] = Expr::Variable(feature);
  m.map.results = std::move(results);
  return true;
}

bool DynamicSlice(Maker& m) {
  if (m.number > 0) return Identity(m);
  for (int d = 0; d < m.operand.rank(); ++d) {
    const int start = m.Runtime(m.operand.dim(d) - m.output.dim(d) + 1);
    Expr index = Expr::Variable(d);
    if (m.output.dim(d) != m.operand.dim(d)) index.terms.push_back({start, 1});
    m.Push(index);
  }
  return m.op.operand_count() == 1 ||
         m.op.operand(1)->shape().rank() == 0;  // a scalar has no starts
}

bool DynamicUpdateSlice(Maker& m) {
  if (m.number != 1) return Identity(m);
  for (int d = 0; d < m.operand.rank(); ++d) {
    const int start = m.Runtime(m.output.dim(d) - m.operand.dim(d) + 1);
    Expr index = Expr::Variable(d);
    if (m.output.dim(d) != m.operand.dim(d)) {
      index.terms.push_back({start, -1});
      m.Within(index, m.operand.dim(d));
    }
    m.Push(index);
  }
  return true;
}

// Indices that are data: of the operand a start that they say, of the indices the vector.
bool Gather(Maker& m) {
  const GatherAttrs& attrs = m.op.attrs<GatherAttrs>();
  const Shape indices = m.op.operand(1)->shape();
  std::vector<int> batch;  // output dimensions that are not offsets
  for (int d = 0; d < m.output.rank(); ++d) {
    if (!Contains(attrs.offset_dims, d)) batch.push_back(d);
  }
  // The output dimension along which dimension `d` of the indices runs.
  const auto batch_of = [&](int64_t d) {
    return batch[static_cast<size_t>(d - (d > attrs.index_vector_dim ? 1 : 0))];
  };
  if (m.number == 1) {
    for (int d = 0; d < indices.rank(); ++d) {
      m.Push(d == attrs.index_vector_dim ? Expr::Variable(m.Range(indices.dim(d)))
                                         : Expr::Variable(batch_of(d)));
    }
    return true;
  }
  if (Contains(attrs.slice_sizes, 0)) return false;  // zeros, which come from nowhere
  size_t offset = 0;
  for (int d = 0; d < m.operand.rank(); ++d) {
    const int batching = PlaceIn(attrs.operand_batching_dims, d);
    if (batching < static_cast<int>(attrs.operand_batching_dims.size())) {
      const int64_t of_indices = attrs.start_indices_batching_dims[static_cast<size_t>(batching)];
      m.Push(Expr::Variable(batch_of(of_indices)));
      continue;
    }
    Expr index;
    if (!Contains(attrs.collapsed_slice_dims, d))
      index.terms.push_back({static_cast<int>(attrs.offset_dims[offset++]), 1});
    const int64_t starts = m.operand.dim(d) - attrs.slice_sizes[static_cast<size_t>(d)] + 1;
    if (Contains(attrs.start_index_map, d) && starts > 1)
      index.terms.push_back({m.Runtime(starts), 1});
    m.Push(index);
  }
  return true;
}

// All along one dimension goes into each element; the others are kept.
bool Whole(Maker& m, int first) {
  for (int d = 0; d < m.operand.rank(); ++d)
    m.Push(Expr::Variable(d >= first ? m.Range(m.operand.dim(d)) : d));
  return first <= m.output.rank();
}

bool Sort(Maker& m) {
  const int64_t along = m.op.attrs<SortAttrs>().dimensions.value;
  for (int d = 0; d < m.operand.rank(); ++d)
    m.Push(Expr::Variable(d == along ? m.Range(m.operand.dim(d)) : d));
  return true;
}

bool Fft(Maker& m) {
  return Whole(m, m.operand.rank() - static_cast<int>(m.op.attrs<FftAttrs>().fft_length.size()));
}

bool LastDim(Maker& m) { return Whole(m, m.operand.rank() - 1); }
bool LastTwoDims(Maker& m) { return Whole(m, m.operand.rank() - 2); }

struct Family {
  Opcode opcode;
  bool (*fill)(Maker&);
};

// Elementwise operations aside.
constexpr Family kFamilies[] = {
    {Opcode::kAddDependency, Identity},
    {Opcode::kBitcast, Bitcast},
    {Opcode::kBitcastConvert, BitcastConvert},
    {Opcode::kBroadcast, Broadcast},
    {Opcode::kCholesky, LastTwoDims},
    {Opcode::kConcatenate, Concatenate},
    {Opcode::kConvolution, Convolution},
    {Opcode::kDomain, Identity},
    {Opcode::kDot, Dot},
    {Opcode::kDynamicSlice, DynamicSlice},
    {Opcode::kDynamicUpdateSlice, DynamicUpdateSlice},
    {Opcode::kFft, Fft},
    {Opcode::kGather, Gather},
    {Opcode::kMap, Identity},
    {Opcode::kOptimizationBarrier, Identity},
    {Opcode::kPad, Pad},
    {Opcode::kReduce, Reduce},
    {Opcode::kReduceWindow, ReduceWindow},
    {Opcode::kReshape, Reshape},
    {Opcode::kReverse, Reverse},
    {Opcode::kSlice, Slice},
    {Opcode::kSort, Sort},
    {Opcode::kTopK, LastDim},
    {Opcode::kTranspose, Transpose},
};

bool (*FamilyOf(Opcode opcode))(Maker&) {
  if (IsElementwise(opcode)) return Identity;
  for (const Family& family : kFamilies) {
    if (family.opcode == opcode) return family.fill;
  }
  return nullptr;
}

}  // namespace

std::optional<IndexingMap> OperandIndexing(const Instruction& instruction, int operand,
                                           int output) {
  Shape result = instruction.shape();
  if (result.IsTuple()) {
    if (output >= result.element_count_of_tuple()) return std::nullopt;
    result = result.element(output);
  }
  const Shape from = instruction.operand(operand)->shape();
  const auto fill = FamilyOf(instruction.opcode());
  if (fill == nullptr || !result.IsArray() || !from.IsArray()) return std::nullopt;
  Maker maker{instruction, operand, from, result, {}};
  for (const int64_t size : result.dims()) maker.Add(VariableKind::kOutput, size);
  if (!fill(maker)) return std::nullopt;
  return std::move(maker.map);
}

}  // namespace hlo
