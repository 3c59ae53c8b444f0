#include "passes/layout/gpu_layout_preferences.h"

#include <algorithm>
#include <initializer_list>

#include "absl/algorithm/container.h"
#include "absl/container/flat_hash_set.h"
#include "lib/ir/custom_call.h"
#include "lib/ir/module.h"
#include "lib/ops/attrs.h"
#include "lib/ops/opcode_set.h"
#include "lib/types/shape_util.h"
#include "passes/layout/gpu_conv_layouts.h"
#include "passes/util/constrained_layout.h"

namespace hlo {
namespace {

using Strength = LayoutConstraints::Strength;

constexpr CudaCapability kBlackwell{10, 0};

// Below, going along rows saves less than it costs to lay them out.
constexpr int64_t kLeastInRow = 32;

using InstructionSet = absl::flat_hash_set<const Instruction*>;

// `computation`'s values that follow from some `begins` by way of what `hands_on` them.
template <class Begins, class HandsOn>
InstructionSet Following(const std::vector<Instruction*>& post_order, Begins&& begins,
                         HandsOn&& hands_on) {
  InstructionSet found;
  for (const Instruction* value : post_order) {
    const auto is_found = [&](const Instruction* operand) { return found.contains(operand); };
    if (begins(*value) || (hands_on(*value) && absl::c_any_of(value->operands(), is_found)))
      found.insert(value);
  }
  return found;
}

// What is made of elements of less than a byte, one operand at a time but for elementwise
// operations of two.
InstructionSet PackedValues(const std::vector<Instruction*>& post_order) {
  const auto is_packed = [](const Instruction& value) {
    return value.shape().IsArray() && IsSubByte(value.shape().element_type());
  };
  const auto hands_on = [](const Instruction& value) {
    return value.operand_count() == 1 ||
           (value.operand_count() == 2 && IsElementwise(value.opcode()));
  };
  return Following(post_order, is_packed, hands_on);
}

// What is free to lie as its readers like: made of parameters of the entry without a layout.
InstructionSet OpenValues(const Computation& computation,
                          const std::vector<Instruction*>& post_order) {
  if (!computation.is_entry()) return {};
  const std::vector<Shape>& given = computation.module().config().entry_layout.parameters;
  const auto is_open = [&](const Instruction& value) {
    if (value.opcode() != Opcode::kParameter) return false;
    const auto number = static_cast<size_t>(value.attrs<ParameterAttrs>().number);
    return number < given.size() && given[number].IsArray() && !given[number].has_layout();
  };
  const auto hands_on = [](const Instruction& value) {
    constexpr OpcodeSet kMoves = {Opcode::kTranspose, Opcode::kReshape, Opcode::kConcatenate};
    return kMoves.Has(value.opcode()) ||
           (IsElementwise(value.opcode()) && value.operand_count() == 1);
  };
  return Following(post_order, is_open, hands_on);
}

struct Preferences {
  const GpuLayoutOptions& options;
  LayoutConstraints& constraints;
  InstructionSet packed;
  InstructionSet open;

  void Operand(const Instruction& user, int i, Shape shape,
               Strength strength = Strength::kMandatory) const {
    constraints.SetOperand(user, i, shape, strength);
  }
  void Result(const Instruction& instruction, Shape shape) const {
    constraints.SetResult(instruction, shape, Strength::kMandatory);
  }
};

// ---- products ----

// The matrices of a batch: groups of dimensions of one array.
struct MatrixDims {
  DimVec batch, rows, columns;
};

// Whether a library reads the array as matrices: the dimensions of each group lie together and in
// order, and one step in a matrix is not a step to the next.
bool AreMatrices(const DimOrder& order, const MatrixDims& dims) {
  if (!dims.batch.empty() && !order.empty() && order[0] == dims.batch.back()) return false;
  for (size_t at = 0; at < order.size();) {
    const DimVec* group = nullptr;
    for (const DimVec* candidate : {&dims.batch, &dims.rows, &dims.columns}) {
      if (!candidate->empty() && candidate->back() == order[at]) group = candidate;
    }
    if (group == nullptr) return false;
    for (auto dim = group->rbegin(); dim != group->rend(); ++dim) {
      if (at == order.size() || order[at++] != *dim) return false;
    }
  }
  return true;
}

DimOrder OrderOfGroups(std::initializer_list<const DimVec*> groups) {
  DimOrder order;
  for (const DimVec* group : groups) order.insert(order.end(), group->begin(), group->end());
  absl::c_reverse(order);
  return order;
}

struct Side {
  int operand;
  DimVec batch, contracting, free;
};

Side SideOf(const Instruction& dot, int operand) {
  const DotAttrs& attrs = dot.attrs<DotAttrs>();
  Side side{operand,
            operand == 0 ? attrs.lhs_batch_dims : attrs.rhs_batch_dims,
            operand == 0 ? attrs.lhs_contracting_dims : attrs.rhs_contracting_dims,
            {}};
  for (int64_t d = 0; d < dot.operand(operand)->shape().rank(); ++d) {
    if (!absl::c_linear_search(side.batch, d) && !absl::c_linear_search(side.contracting, d))
      side.free.push_back(d);
  }
  return side;
}

// As the operand lies, or row by row, if that are matrices; else with free dimensions minor.
DimOrder OrderOfSide(Shape operand, const Side& side) {
  const MatrixDims dims = {side.batch, side.contracting, side.free};
  for (const DimOrder& order : {OrderOf(operand), OrderOf(operand.WithDefaultLayout())}) {
    if (AreMatrices(order, dims)) return order;
  }
  return OrderOfGroups({&side.batch, &side.contracting, &side.free});
}

// The same with the contracted dimensions minor.
DimOrder OrderWithMinorContracting(Shape operand, const Side& side) {
  const DimOrder order = OrderOf(operand);
  const auto minor_end = order.begin() + static_cast<ptrdiff_t>(side.contracting.size());
  const bool are_minor = std::all_of(order.begin(), minor_end, [&](int64_t d) {
    return absl::c_linear_search(side.contracting, d);
  });
  if (are_minor && AreMatrices(order, {side.batch, side.free, side.contracting})) return order;
  return OrderOfGroups({&side.batch, &side.free, &side.contracting});
}

bool HasTypes(const Instruction& dot, std::initializer_list<ElementType> operands) {
  return absl::c_all_of(dot.operands(), [&](const Instruction* operand) {
    return absl::c_linear_search(operands, operand->shape().element_type());
  });
}

// Products that tensor cores do only along minor dimensions on both sides.
bool WantsMinorContracting(const Instruction& dot, const GpuLayoutOptions& options) {
  if (HasTypes(dot, {ElementType::kS8})) return dot.shape().element_type() == ElementType::kS32;
  return HasTypes(dot, {ElementType::kF8E4M3FN, ElementType::kF8E5M2}) &&
         options.compute_capability < kBlackwell;
}

// The groups of dimensions of the result.
MatrixDims ResultDims(const Side& lhs, const Side& rhs) {
  MatrixDims dims;
  int64_t next = 0;
  for (size_t i = 0; i < lhs.batch.size(); ++i) dims.batch.push_back(next++);
  for (size_t i = 0; i < lhs.free.size(); ++i) dims.rows.push_back(next++);
  for (size_t i = 0; i < rhs.free.size(); ++i) dims.columns.push_back(next++);
  return dims;
}

// Some user's wish, if it can be had.
Shape ShapeOfProduct(const Instruction& dot, const MatrixDims& dims,
                     const LayoutConstraints& constraints) {
  for (const Use& use : dot.uses()) {
    const std::optional<Shape> wanted = constraints.WantedOperand(*use.user, use.operand_index);
    if (wanted && AreMatrices(OrderOf(*wanted), dims))
      return InOrder(dot.shape(), OrderOf(*wanted));
  }
  return dot.shape().WithDefaultLayout();
}

void AddDot(const Instruction& dot, const Preferences& prefer) {
  const Side lhs = SideOf(dot, 0), rhs = SideOf(dot, 1);
  for (const Side& side : {lhs, rhs}) {
    const Instruction* operand = dot.operand(side.operand);
    const Shape shape = operand->shape();
    if (WantsMinorContracting(dot, prefer.options) ||
        (prefer.options.pack_dot_operands_along_k_dimension && prefer.packed.contains(operand))) {
      prefer.Operand(dot, side.operand, InOrder(shape, OrderWithMinorContracting(shape, side)));
    } else if (!side.batch.empty() || side.contracting.size() > 1 || side.free.size() > 1) {
      prefer.Operand(dot, side.operand, InOrder(shape, OrderOfSide(shape, side)));
    } else if (prefer.open.contains(operand)) {
      prefer.Operand(dot, side.operand, InOrder(shape, OrderOfSide(shape, side)), Strength::kWish);
    }
  }
  if (!lhs.batch.empty() || lhs.free.size() > 1 || rhs.free.size() > 1)
    prefer.Result(dot, ShapeOfProduct(dot, ResultDims(lhs, rhs), prefer.constraints));
}

// Of a product that only this reads.
void AddTranspose(const Instruction& transpose, const Preferences& prefer) {
  const Instruction* dot = transpose.operand(0);
  if (dot->opcode() != Opcode::kDot || dot->users().size() > 1) return;
  const DimVec& dims = transpose.attrs<TransposeAttrs>().dimensions;
  const DimOrder order(dims.rbegin(), dims.rend());
  if (AreMatrices(order, ResultDims(SideOf(*dot, 0), SideOf(*dot, 1))))
    prefer.Operand(transpose, 0, InOrder(dot->shape(), order));
}

// ---- all else ----

void AddRowMajor(const Instruction& instruction, const Preferences& prefer) {
  for (int i = 0; i < instruction.operand_count(); ++i) {
    const Shape operand = instruction.operand(i)->shape();
    if (operand.IsArray()) prefer.Operand(instruction, i, operand.WithDefaultLayout());
  }
  prefer.Result(instruction, instruction.shape().WithDefaultLayout());
}

// What is sent lies in a copy.
void AddSend(const Instruction& send, const Preferences& prefer) {
  const Instruction& copy = *send.operand(0);
  if (copy.opcode() == Opcode::kCopy) prefer.Result(copy, copy.shape().WithDefaultLayout());
}

void AddRecv(const Instruction& recv, const Preferences& prefer) {
  prefer.Result(recv, recv.shape().WithDefaultLayout());
}

void AddCustomCall(const Instruction& call, const Preferences& prefer) {
  if (call.attrs<CustomCallAttrs>().operand_layout_constraints) return;
  AddConvolutionLayouts(call, prefer.options, prefer.constraints);
  for (const std::string_view target : {"TopK", "MoveToHost", "MoveToDevice"}) {
    if (IsCustomCall(call, target)) AddRowMajor(call, prefer);
  }
}

void AddConvolution(const Instruction& convolution, const Preferences& prefer) {
  AddConvolutionLayouts(convolution, prefer.options, prefer.constraints);
}

// Moves nothing when the dimension that comes or goes is minor.
void AddBitcastConvert(const Instruction& convert, const Preferences& prefer) {
  const Shape from = convert.operand(0)->shape(), to = convert.shape();
  if (from.rank() == to.rank()) return;
  const Shape larger = from.rank() > to.rank() ? from : to;
  DimOrder order = OrderOf(larger);
  const int64_t changed = larger.rank() - 1;
  order.erase(absl::c_find(order, changed));
  const DimOrder without = order;
  order.insert(order.begin(), changed);
  prefer.Operand(convert, 0, InOrder(from, from.rank() > to.rank() ? order : without));
  prefer.Result(convert, InOrder(to, from.rank() > to.rank() ? without : order));
}

Shape InColumns(Shape array) {
  DimOrder order = OrderOf(array.WithDefaultLayout());
  std::swap(order[0], order[1]);
  return InOrder(array, order);
}

void AddTriangularSolve(const Instruction& solve, const Preferences& prefer) {
  prefer.Operand(solve, 0, InColumns(solve.operand(0)->shape()));
  prefer.Operand(solve, 1, InColumns(solve.operand(1)->shape()));
  prefer.Result(solve, InColumns(solve.shape()));
}

// The dimension whose parts are exchanged; -1: none.
int64_t DividedDimension(const Instruction& exchange) {
  if (exchange.opcode() == Opcode::kReduceScatter)
    return exchange.attrs<ReduceScatterAttrs>().dimensions.value;
  if (exchange.opcode() == Opcode::kAllGather)
    return exchange.attrs<AllGatherAttrs>().dimensions.value;
  if (exchange.opcode() == Opcode::kRaggedAllToAll) return 0;
  const std::optional<BracedDim>& divided = exchange.attrs<AllToAllAttrs>().dimensions;
  return divided ? divided->value : -1;
}

void AddExchange(const Instruction& exchange, const Preferences& prefer) {
  const int64_t dim = DividedDimension(exchange);
  if (dim < 0 || !exchange.shape().IsArray() || exchange.shape().rank() == 0 ||
      ConstrainsLayout(exchange))
    return;
  DimOrder order = OrderOf(exchange.shape());
  order.erase(absl::c_find(order, dim));
  order.push_back(dim);
  prefer.Result(exchange, InOrder(exchange.shape(), order));
}

struct Preference {
  Opcode opcode;
  void (*add)(const Instruction&, const Preferences&);
};
constexpr Preference kPreferences[] = {
    {Opcode::kDot, AddDot},
    {Opcode::kTranspose, AddTranspose},
    {Opcode::kConvolution, AddConvolution},
    {Opcode::kCustomCall, AddCustomCall},
    {Opcode::kFft, AddRowMajor},
    {Opcode::kSort, AddRowMajor},
    {Opcode::kSend, AddSend},
    {Opcode::kRecv, AddRecv},
    {Opcode::kBitcastConvert, AddBitcastConvert},
    {Opcode::kTriangularSolve, AddTriangularSolve},
    {Opcode::kReduceScatter, AddExchange},
    {Opcode::kAllGather, AddExchange},
    {Opcode::kAllToAll, AddExchange},
    {Opcode::kRaggedAllToAll, AddExchange},
};

}  // namespace

void AddGpuPreferences(const Computation& computation, const GpuLayoutOptions& options,
                       LayoutConstraints& constraints) {
  constraints.ReduceAlongRows(kLeastInRow);
  const std::vector<Instruction*> order = computation.PostOrder();
  const Preferences prefer{options, constraints, PackedValues(order),
                           OpenValues(computation, order)};
  for (auto at = order.rbegin(); at != order.rend(); ++at) {
    const auto* const row = absl::c_find_if(
        kPreferences, [&](const Preference& known) { return known.opcode == (*at)->opcode(); });
    if (row != std::end(kPreferences)) row->add(**at, prefer);
  }
}

}  // namespace hlo
