#include "backends/gpu/library/collective_plan.h"

#include <algorithm>

#include "lib/analysis/leaves.h"
#include "lib/analysis/region.h"
#include "lib/ir/computation.h"
#include "lib/support/status.h"
#include "lib/types/shape_util.h"

namespace hlo::gpu {
namespace {

using Kind = CollectiveStep::Kind;

// ---- what NCCL has ----

// The elements of our types as NCCL's: complex numbers are pairs. Types without a row are moved as
// bytes and not reduced.
constexpr struct TypeRow {
  ElementType type;
  NcclType nccl;
  int64_t per_element;
  std::string_view name;
} kNcclTypes[] = {
    {ElementType::kPred, NcclType::kU8, 1, "u8"},     {ElementType::kS8, NcclType::kS8, 1, "s8"},
    {ElementType::kU8, NcclType::kU8, 1, "u8"},       {ElementType::kS32, NcclType::kS32, 1, "s32"},
    {ElementType::kU32, NcclType::kU32, 1, "u32"},    {ElementType::kS64, NcclType::kS64, 1, "s64"},
    {ElementType::kU64, NcclType::kU64, 1, "u64"},    {ElementType::kF16, NcclType::kF16, 1, "f16"},
    {ElementType::kBF16, NcclType::kBF16, 1, "bf16"}, {ElementType::kF32, NcclType::kF32, 1, "f32"},
    {ElementType::kF64, NcclType::kF64, 1, "f64"},    {ElementType::kC64, NcclType::kF32, 2, "f32"},
    {ElementType::kC128, NcclType::kF64, 2, "f64"},
};

const TypeRow* RowOf(ElementType type) {
  const auto* const row = std::find_if(std::begin(kNcclTypes), std::end(kNcclTypes),
                                       [&](const TypeRow& r) { return r.type == type; });
  return row == std::end(kNcclTypes) ? nullptr : row;
}

// Operations and the classes of types on which NCCL's reduction is the same. Values of pred are 0
// and 1.
constexpr struct ReductionRow {
  Opcode opcode;
  NcclReduction reduction;
  bool preds, integers, floats, complexes;
} kReductions[] = {
    {Opcode::kAdd, NcclReduction::kSum, false, true, true, true},
    {Opcode::kMultiply, NcclReduction::kProduct, false, true, true, false},
    {Opcode::kMinimum, NcclReduction::kMin, true, true, false, false},
    {Opcode::kMaximum, NcclReduction::kMax, true, true, false, false},
    {Opcode::kAnd, NcclReduction::kMin, true, false, false, false},
    {Opcode::kOr, NcclReduction::kMax, true, false, false, false},
};

constexpr std::string_view kReductionNames[] = {"sum", "product", "max", "min"};  // by number

bool Takes(const ReductionRow& row, ElementType type) {
  switch (Info(type).type_class) {
    case TypeClass::kPred: return row.preds;
    case TypeClass::kSigned:
    case TypeClass::kUnsigned: return row.integers;
    case TypeClass::kFloat: return row.floats;
    case TypeClass::kComplex: return row.complexes;
    case TypeClass::kOther: return false;
  }
  return false;
}

const ReductionRow* ReductionOf(const Instruction& collective) {
  const std::optional<Opcode> opcode = CombinerOpcode(*collective.to_apply());
  const ElementType type = collective.to_apply()->root()->shape().element_type();
  const auto* const row =
      std::find_if(std::begin(kReductions), std::end(kReductions),
                   [&](const ReductionRow& r) { return r.opcode == opcode && Takes(r, type); });
  return row == std::end(kReductions) ? nullptr : row;
}

// ---- shapes ----

// An array as `rows` of `count` of NCCL's elements; a row begins where a dimension does.
struct Rows {
  int64_t rows = 1, count = 1;
  NcclType type = NcclType::kU8;
  int64_t bytes = 1;  // of one of NCCL's elements
};
Rows RowsOf(Shape shape, int64_t dimension) {
  Rows rows;
  for (int d = 0; d < shape.rank(); ++d) (d < dimension ? rows.rows : rows.count) *= shape.dim(d);
  const int64_t element_bytes = ByteSize(shape.element_type());
  if (const TypeRow* const row = RowOf(shape.element_type())) {
    rows.type = row->nccl;
    rows.count *= row->per_element;
    rows.bytes = element_bytes / row->per_element;
  } else {
    rows.count *= element_bytes;
  }
  return rows;
}

// ---- the kinds ----

struct Request {
  const Instruction& collective;
  int64_t members, self;
  std::vector<Shape> results;
};

// The steps of a plan that move `count` of a type.
class Steps {
 public:
  explicit Steps(CollectivePlan& plan) : plan_(plan) {}

  void Call(CollectiveStep step) {
    if (step.count > 0) plan_.calls.push_back(step);
  }
  void Copy(int operand, int64_t from, int result, int64_t to, int64_t bytes) {
    if (bytes > 0) plan_.own.push_back({Kind::kCopy, operand, from, result, to, bytes});
  }
  void Zero(int result, int64_t bytes) {
    if (bytes > 0) plan_.own.push_back({Kind::kZero, -1, 0, result, 0, bytes});
  }
  void Send(const Rows& rows, int operand, int64_t from, int64_t count, int64_t peer) {
    Call({.kind = Kind::kSend,
          .operand = operand,
          .from = from,
          .count = count,
          .type = rows.type,
          .peer = static_cast<int>(peer)});
  }
  void Receive(const Rows& rows, int result, int64_t to, int64_t count, int64_t peer) {
    Call({.kind = Kind::kReceive,
          .result = result,
          .to = to,
          .count = count,
          .type = rows.type,
          .peer = static_cast<int>(peer)});
  }

 private:
  CollectivePlan& plan_;
};

// Each plans the k-th operand. False, the same for all members: it is not an array of so many, or
// has too many rows.
using PlanArray = bool (*)(const Request& request, int k, Steps& steps);

bool AllReduce(const Request& r, int k, Steps& steps) {
  const Rows rows = RowsOf(r.collective.operand(k)->shape(), 0);
  steps.Call({.kind = Kind::kAllReduce,
              .operand = k,
              .result = k,
              .count = rows.count,
              .type = rows.type,
              .reduction = ReductionOf(r.collective)->reduction});
  return true;
}

bool ReduceScatter(const Request& r, int k, Steps& steps) {
  const Shape shape = r.collective.operand(k)->shape();
  const int64_t dimension = r.collective.attrs<ReduceScatterAttrs>().dimensions.value;
  const Rows rows = RowsOf(shape, dimension);
  if (shape.dim(static_cast<int>(dimension)) % r.members != 0) return false;
  if (rows.rows > kMostCalls) return false;
  const int64_t share = rows.count / r.members;
  for (int64_t i = 0; i < rows.rows; ++i) {
    steps.Call({.kind = Kind::kReduceScatter,
                .operand = k,
                .from = i * rows.count * rows.bytes,
                .result = k,
                .to = i * share * rows.bytes,
                .count = share,
                .type = rows.type,
                .reduction = ReductionOf(r.collective)->reduction});
  }
  return r.results[static_cast<size_t>(k)].byte_size() * r.members == shape.byte_size();
}

bool AllGather(const Request& r, int k, Steps& steps) {
  const Shape shape = r.collective.operand(k)->shape();
  const Rows rows = RowsOf(shape, r.collective.attrs<AllGatherAttrs>().dimensions.value);
  if (rows.rows > kMostCalls) return false;
  for (int64_t i = 0; i < rows.rows; ++i) {
    const int64_t from = i * rows.count * rows.bytes;
    steps.Call({.kind = Kind::kAllGather,
                .operand = k,
                .from = from,
                .result = k,
                .to = from * r.members,
                .count = rows.count,
                .type = rows.type});
  }
  return r.results[static_cast<size_t>(k)].byte_size() == shape.byte_size() * r.members;
}

// The k-th operand is for the k-th member, whose own is the k-th result.
void ExchangeOperands(const Request& r, int k, Steps& steps) {
  const Shape shape = r.collective.operand(k)->shape();
  const Rows rows = RowsOf(shape, 0);
  if (k == r.self) return steps.Copy(k, 0, k, 0, shape.byte_size());
  steps.Send(rows, k, 0, rows.count, k);
  steps.Receive(rows, k, 0, rows.count, k);
}

bool AllToAll(const Request& r, int k, Steps& steps) {
  const auto& dimension = r.collective.attrs<AllToAllAttrs>().dimensions;
  if (!dimension.has_value()) {
    if (r.collective.operand_count() != r.members) return false;
    ExchangeOperands(r, k, steps);
    return true;
  }
  const Shape shape = r.collective.operand(k)->shape();
  const Rows rows = RowsOf(shape, dimension->value);
  if (shape.dim(static_cast<int>(dimension->value)) % r.members != 0) return false;
  if (rows.rows * r.members > kMostCalls) return false;
  const int64_t share = rows.count / r.members;
  for (int64_t i = 0; i < rows.rows; ++i) {
    for (int64_t peer = 0; peer < r.members; ++peer) {
      const int64_t at = (i * rows.count + peer * share) * rows.bytes;
      if (peer == r.self) {
        steps.Copy(k, at, k, at, share * rows.bytes);
      } else {
        steps.Send(rows, k, at, share, peer);
        steps.Receive(rows, k, at, share, peer);
      }
    }
  }
  return r.collective.operand_count() == 1;
}

// Of several pairs with one target the first counts.
bool Permute(const Request& r, int k, Steps& steps) {
  const Shape shape = r.collective.operand(k)->shape();
  const Rows rows = RowsOf(shape, 0);
  std::vector<bool> has_source(static_cast<size_t>(r.members));
  for (const auto& [source, target] :
       r.collective.attrs<CollectivePermuteAttrs>().source_target_pairs) {
    if (source < 0 || source >= r.members || target < 0 || target >= r.members) continue;
    if (has_source[static_cast<size_t>(target)]) continue;
    has_source[static_cast<size_t>(target)] = true;
    if (source == target) {
      if (source == r.self) steps.Copy(k, 0, k, 0, shape.byte_size());
    } else if (source == r.self) {
      steps.Send(rows, k, 0, rows.count, target);
    } else if (target == r.self) {
      steps.Receive(rows, k, 0, rows.count, source);
    }
  }
  if (!has_source[static_cast<size_t>(r.self)]) steps.Zero(k, shape.byte_size());
  return true;
}

bool Broadcast(const Request& r, int k, Steps& steps) {
  const Rows rows = RowsOf(r.collective.operand(k)->shape(), 0);
  steps.Call({.kind = Kind::kBroadcast,
              .operand = k,
              .result = k,
              .count = rows.count,
              .type = rows.type,
              .peer = 0});
  return true;
}

Decision TakesReduction(const Instruction& collective) {
  const Shape type = collective.to_apply()->root()->shape();
  for (const Instruction* operand : collective.operands()) {
    if (!type.IsArray() || operand->shape().element_type() != type.element_type())
      return No("it reduces `{}` as `{}`", operand->shape(), type);
  }
  if (RowOf(type.element_type()) == nullptr) return No("NCCL reduces no `{}`", type);
  if (ReductionOf(collective) == nullptr)
    return No("`{}` is no reduction of NCCL on `{}`", collective.to_apply()->name(), type);
  return Yes();
}

Decision TakesPermute(const Instruction& collective) {
  if (!collective.attrs<CollectivePermuteAttrs>().slice_sizes.empty())
    return No("slices of buffers are sent");
  return Yes();
}

Decision TakesBroadcast(const Instruction& collective) {
  if (collective.attrs<CollectiveBroadcastAttrs>().has_dynamic_root)
    return No("its roots are known at run time only");
  return Yes();
}

Decision TakesAll(const Instruction&) { return Yes(); }

constexpr struct KindRow {
  Opcode opcode;
  Decision (*takes)(const Instruction& collective);
  PlanArray plan;  // null: PlanRagged
} kKinds[] = {
    {Opcode::kAllReduce, TakesReduction, AllReduce},
    {Opcode::kReduceScatter, TakesReduction, ReduceScatter},
    {Opcode::kAllGather, TakesAll, AllGather},
    {Opcode::kAllToAll, TakesAll, AllToAll},
    {Opcode::kRaggedAllToAll, TakesAll, nullptr},
    {Opcode::kCollectivePermute, TakesPermute, Permute},
    {Opcode::kCollectiveBroadcast, TakesBroadcast, Broadcast},
};

const KindRow* KindOf(const Instruction& collective) {
  const auto* const row = std::find_if(std::begin(kKinds), std::end(kKinds), [&](const KindRow& r) {
    return r.opcode == collective.opcode();
  });
  return row == std::end(kKinds) ? nullptr : row;
}

bool IsDense(Shape shape) { return shape.IsArray() && !shape.has_dynamic_dims(); }

}  // namespace

Decision IsForNccl(const Instruction& collective) {
  const KindRow* const row = KindOf(collective);
  if (row == nullptr) return No("`{}` is no call of NCCL", collective.opcode_text());
  for (const Instruction* operand : collective.operands()) {
    if (!IsDense(operand->shape()))
      return No("operand `{}` is no array of known size", operand->name());
  }
  for (const Shape& leaf : LeafShapes(collective.shape())) {
    if (!IsDense(leaf)) return No("the result has no known size");
  }
  return row->takes(collective);
}

std::optional<CollectivePlan> PlanCollective(const Instruction& collective, int64_t members,
                                             int64_t self) {
  CollectivePlan plan;
  const Request request{collective, members, self, LeafShapes(collective.shape())};
  // A member of a permute has fewer calls than another; none has more than two for an array.
  if (2 * std::ssize(request.results) > kMostCalls) return std::nullopt;
  Steps steps(plan);
  const bool is_permute = collective.opcode() == Opcode::kCollectivePermute;
  for (int k = 0; k < static_cast<int>(request.results.size()); ++k) {
    if (!KindOf(collective)->plan(request, k, steps)) return std::nullopt;
    if (!is_permute && std::ssize(plan.calls) > kMostCalls) return std::nullopt;
  }
  return plan;
}

absl::StatusOr<CollectivePlan> PlanRagged(const Instruction& collective,
                                          const std::vector<RaggedSlices>& members, int64_t self) {
  const Shape from = collective.operand(0)->shape(), to = collective.operand(1)->shape();
  const Rows rows = RowsOf(to, 1);
  const int64_t row = rows.count, row_bytes = rows.count * rows.bytes;
  CollectivePlan plan;
  Steps steps(plan);
  steps.Copy(1, 0, 0, 0, to.byte_size());
  for (int64_t source = 0; source < std::ssize(members); ++source) {
    const RaggedSlices& slices = members[static_cast<size_t>(source)];
    const int64_t each = std::ssize(slices.begin) / std::ssize(members);
    for (int64_t target = 0; target < std::ssize(members); ++target) {
      for (int64_t i = 0; i < each; ++i) {
        const auto at = static_cast<size_t>(target * each + i);
        const int64_t begin = slices.begin[at], size = slices.size[at], place = slices.to[at];
        if (begin < 0 || size < 0 || place < 0 || begin > from.dim(0) - size ||
            place > to.dim(0) - size) {
          return Error(collective.loc(),
                       "`ragged-all-to-all` sends rows {} to {} of {} to row {} of {}", begin,
                       begin + size, from.dim(0), place, to.dim(0));
        }
        if (source == self && target == self) {
          steps.Copy(0, begin * row_bytes, 0, place * row_bytes, size * row_bytes);
        } else if (source == self) {
          steps.Send(rows, 0, begin * row_bytes, size * row, target);
        } else if (target == self) {
          steps.Receive(rows, 0, place * row_bytes, size * row, source);
        }
      }
    }
  }
  return plan;
}

std::string ToString(const CollectivePlan& plan) {
  static constexpr std::string_view kNames[] = {
      "all-reduce", "reduce-scatter", "all-gather", "broadcast", "send", "receive", "copy", "zero"};
  std::string text;
  for (const auto* const list : {&plan.own, &plan.calls}) {
    for (const CollectiveStep& step : *list) {
      text += kNames[static_cast<size_t>(step.kind)];
      const bool reduces = step.kind == Kind::kAllReduce || step.kind == Kind::kReduceScatter;
      if (reduces) text += fmt::format(" {}", kReductionNames[static_cast<size_t>(step.reduction)]);
      if (step.operand >= 0) text += fmt::format(" operand {} + {}", step.operand, step.from);
      if (step.result >= 0) text += fmt::format(" to result {} + {}", step.result, step.to);
      const auto* const type = std::find_if(std::begin(kNcclTypes) + 1, std::end(kNcclTypes),
                                            [&](const TypeRow& r) { return r.nccl == step.type; });
      text += fmt::format(", {} {}", step.count, type->name);
      const bool has_peer =
          step.kind == Kind::kSend || step.kind == Kind::kReceive || step.kind == Kind::kBroadcast;
      if (has_peer) text += fmt::format(", peer {}", step.peer);
      text += "\n";
    }
  }
  return text;
}

}  // namespace hlo::gpu
