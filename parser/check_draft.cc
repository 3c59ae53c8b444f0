// What single opcodes ask for, before their result shape is worked out: how many operands,
// attributes that go together, the form of a written shape.
#include <algorithm>
#include <array>

#include "lib/ops/opcode_groups.h"
#include "lib/ops/opcode_set.h"
#include "lib/types/shape_util.h"
#include "parser/parser_internal.h"

namespace hlo {
namespace {

// ---- numbers of operands ----

using CountCheck = bool (*)(Parser& p, const Draft& draft, int count);

bool CheckPairs(Parser& p, const Draft& draft, int count) {
  if (count % 2 == 0) return true;
  return p.Fail(draft.opcode_loc, "`{}` has {} operands, expected as many initial values as inputs",
                Text(draft.opcode), count);
}

bool CheckScatter(Parser& p, const Draft& draft, int count) {
  if (count % 2 == 1) return true;
  return p.Fail(draft.opcode_loc,
                "`scatter` has {} operands, expected inputs, indices and as many updates as inputs",
                count);
}

// One scalar per dimension, or one vector, after `kFirst` other operands.
template <int kFirst>
bool CheckStartIndices(Parser& p, const Draft& draft, int count) {
  const Shape updated = draft.operands[0]->shape();  // dynamic-update-slice: maybe a buffer
  const int rank = (updated.IsBuffer() ? updated.element(0) : updated).rank();
  if (count == kFirst + rank) return true;
  if (count == kFirst + 1 && draft.operands[kFirst]->shape().rank() == 1) return true;
  return p.Fail(draft.opcode_loc, "`{}` has {} start indices, expected one per dimension of `{}`",
                Text(draft.opcode), count - kFirst, draft.operands[0]->shape());
}

bool CheckPermuteOperands(Parser& p, const Draft& draft, int count) {
  if (draft.attrs.Get<CollectivePermuteAttrs>().slice_sizes.empty() || count == 4) return true;
  return p.Fail(
      draft.opcode_loc,
      "`{}` with `slice_sizes` has {} operands, expected input, output and two start indices",
      Text(draft.opcode), count);
}

constexpr struct {
  OpcodeSet opcodes;
  CountCheck check;
} kCountChecks[] = {
    {kReduceOps, CheckPairs},
    {{Opcode::kScatter}, CheckScatter},
    {{Opcode::kDynamicSlice}, CheckStartIndices<1>},
    {{Opcode::kDynamicUpdateSlice}, CheckStartIndices<2>},
    {kPermutes, CheckPermuteOperands},
};

// ---- attributes and written shapes ----

using DraftCheck = bool (*)(Parser& p, const Computation& computation, Draft& draft);

bool FailShape(Parser& p, const Draft& draft, std::string_view expected) {
  return p.Fail(draft.shape_loc, "the shape of `{}` is `{}`, expected {}", Text(draft.opcode),
                *draft.shape, expected);
}

bool CheckParameter(Parser& p, const Computation& computation, Draft& draft) {
  const int64_t number = draft.attrs.Get<ParameterAttrs>().number;
  const auto taken = computation.parameters();
  if (number < static_cast<int64_t>(taken.size()) &&
      taken[static_cast<size_t>(number)] != nullptr) {
    p.Fail(draft.opcode_loc, "a second parameter {} in this computation", number);
    return p.Note(taken[static_cast<size_t>(number)]->loc(), "the first one is here");
  }
  // No text is long enough to fill a larger gap.
  if (number > static_cast<int64_t>(p.text_size())) {
    return p.Fail(draft.opcode_loc,
                  "parameter number {} leaves a gap, expected 0, 1, 2, … without gaps", number);
  }
  const auto& replication = draft.attrs.Get<ParameterAttrs>().parameter_replication;
  if (!replication.has_value() || !draft.shape.has_value()) return true;
  const int64_t leaves = LeafCount(*draft.shape);
  if (static_cast<int64_t>(replication->size()) == leaves) return true;
  return p.Fail(draft.opcode_loc,
                "the parameter has {} leaves, but `parameter_replication` has {} entries", leaves,
                replication->size());
}

// A type that says what the operands say anyway is not kept.
bool CompleteCompare(Parser&, const Computation&, Draft& draft) {
  CompareAttrs attrs = draft.attrs.Get<CompareAttrs>();
  if (!attrs.type.has_value()) return true;
  const ElementType type = draft.operands[0]->shape().element_type();
  const ComparisonType usual = IsSigned(type)                     ? ComparisonType::kSigned
                               : IsUnsigned(type) || IsPred(type) ? ComparisonType::kUnsigned
                                                                  : ComparisonType::kFloat;
  if (*attrs.type == usual) {
    attrs.type.reset();
    draft.attrs = AttrsPtr::Make(attrs);
  }
  return true;
}

template <class Attrs>
bool CheckGlobalIds(Parser& p, const Computation&, Draft& draft) {
  const auto& attrs = draft.attrs.Get<Attrs>();
  if (!attrs.use_global_device_ids || attrs.channel_id.has_value() || !attrs.mode.empty())
    return true;
  return p.Fail(draft.opcode_loc, "`use_global_device_ids=true` needs a `channel_id`");
}

// The stored dimensions are always all of them.
bool CompleteMap(Parser&, const Computation&, Draft& draft) {
  DimVec all;
  const Shape shape =
      draft.shape.value_or(draft.operands.empty() ? Shape() : draft.operands[0]->shape());
  for (int64_t d = 0; d < shape.rank(); ++d) all.push_back(d);
  draft.attrs = AttrsPtr::Make(MapAttrs{all});
  return true;
}

bool CompleteOutfeed(Parser&, const Computation&, Draft& draft) {
  OutfeedAttrs attrs = draft.attrs.Get<OutfeedAttrs>();
  if (attrs.outfeed_shape == Shape()) {
    attrs.outfeed_shape = draft.operands[0]->shape();
    draft.attrs = AttrsPtr::Make(std::move(attrs));
  }
  return true;
}

// The written shape is a tuple that begins with the data; the rest is known.
bool CompleteInfeed(Parser& p, const Computation&, Draft& draft) {
  if (!draft.shape.has_value()) return true;
  if (!draft.shape->IsTuple() || draft.shape->elements().empty())
    return FailShape(p, draft, "a tuple `(data, token[])`");
  draft.shape = Shape::Tuple({draft.shape->element(0), Shape::Token()});
  return true;
}

bool CompleteRecv(Parser& p, const Computation&, Draft& draft) {
  if (!draft.shape.has_value()) return true;
  if (!draft.shape->IsTuple() || draft.shape->elements().empty())
    return FailShape(p, draft, "a tuple `(data, u32[], token[])`");
  draft.shape =
      Shape::Tuple({draft.shape->element(0), Shape::Scalar(ElementType::kU32), Shape::Token()});
  return true;
}

template <Opcode kStart>
bool CheckChannelOfStart(Parser& p, const Computation&, Draft& draft) {
  const Instruction* start = draft.operands[0];
  if (start->opcode() != kStart) return true;
  const auto& attrs = draft.attrs.Get<ChannelAttrs>();
  if (start->attrs<ChannelAttrs>().channel_id == attrs.channel_id) return true;
  p.Fail(draft.opcode_loc, "`{}` and its start have different channel ids", Text(draft.opcode));
  return p.Note(start->loc(), fmt::format("`{}` is defined here", start->name()));
}

bool CheckDeviceId(Parser& p, const Computation&, Draft& draft) {
  if (!draft.shape.has_value() || Compatible(*draft.shape, Shape::Scalar(ElementType::kU32)))
    return true;
  return FailShape(p, draft, "`u32[]`");
}

bool CheckTuple(Parser& p, const Computation&, Draft& draft) {
  if (!draft.shape.has_value()) return true;
  if (!draft.shape->IsTuple()) return FailShape(p, draft, "a tuple");
  if (draft.shape->elements().size() == draft.operands.size()) return true;
  return p.Fail(draft.opcode_loc, "`tuple` has {} operands, but its shape has {} elements",
                draft.operands.size(), draft.shape->elements().size());
}

bool CheckReshape(Parser& p, const Computation&, Draft& draft) {
  const Shape from = draft.operands[0]->shape();
  if (!draft.shape.has_value()) return true;
  if (!draft.shape->IsArray() || !from.IsArray())
    return FailShape(p, draft, "an array, as its operand must be");
  if (draft.opcode == Opcode::kDynamicReshape &&
      draft.operands.size() != static_cast<size_t>(draft.shape->rank()) + 1) {
    return p.Fail(draft.opcode_loc,
                  "`dynamic-reshape` has {} sizes, expected one per dimension of `{}`",
                  draft.operands.size() - 1, *draft.shape);
  }
  const auto unbounded = [](Shape shape) {
    return std::find(shape.dims().begin(), shape.dims().end(), Shape::kUnbounded) !=
           shape.dims().end();
  };
  if (unbounded(from) || unbounded(*draft.shape) ||
      from.element_count() == draft.shape->element_count())
    return true;
  return p.Fail(draft.shape_loc, "`{}` of `{}` has {} elements, but its shape `{}` has {}",
                Text(draft.opcode), from, from.element_count(), *draft.shape,
                draft.shape->element_count());
}

bool CheckScan(Parser& p, const Computation&, Draft& draft) {
  const auto& attrs = draft.attrs.Get<ScanAttrs>();
  const auto operands = static_cast<int64_t>(draft.operands.size());
  if (attrs.num_carries < 0 || attrs.num_carries > operands) {
    return p.Fail(draft.opcode_loc, "`scan` has {} operands and {} carries", operands,
                  attrs.num_carries);
  }
  const Computation& body = *draft.common.calls[0];
  if (operands == body.parameter_count()) return true;
  return p.Fail(draft.opcode_loc, "`scan` has {} operands, but `{}` has {} parameters", operands,
                body.name(), body.parameter_count());
}

bool LacksLayout(Shape shape) {
  bool missing = false;
  ForEachLeaf(shape, [&](Shape leaf, const ShapeIndex&) {
    missing = missing || (leaf.IsArray() && !leaf.has_layout());
  });
  return missing;
}

bool CheckCustomCall(Parser& p, const Computation&, Draft& draft) {
  const auto& attrs = draft.attrs.Get<CustomCallAttrs>();
  if (attrs.api_version == ApiVersion::kUnspecified)
    return p.Fail(draft.opcode_loc, "`api_version=API_VERSION_UNSPECIFIED` is not allowed");
  if (!attrs.operand_layout_constraints.has_value() || draft.IsSugared()) return true;
  if (draft.shape.has_value() && LacksLayout(*draft.shape)) {
    return p.Fail(draft.shape_loc,
                  "the result of a custom call with `operand_layout_constraints` needs a layout, "
                  "found `{:l}`",
                  *draft.shape);
  }
  const auto& constraints = *attrs.operand_layout_constraints;
  if (constraints.size() != draft.operands.size()) {
    return p.Fail(draft.opcode_loc, "{} operand layout constraints for {} operands",
                  constraints.size(), draft.operands.size());
  }
  for (size_t i = 0; i < constraints.size(); ++i) {
    if (LacksLayout(constraints[i]))
      return p.Fail(draft.opcode_loc, "operand layout constraint {}, `{:l}`, has no layout", i,
                    constraints[i]);
    if (!CompatibleUpToBounds(constraints[i], draft.operands[i]->shape())) {
      return p.Fail(draft.opcode_loc,
                    "operand layout constraint {} is `{}`, but the operand has shape `{}`", i,
                    constraints[i], draft.operands[i]->shape());
    }
  }
  return true;
}

constexpr struct {
  OpcodeSet opcodes;
  DraftCheck check;
} kDraftChecks[] = {
    {{Opcode::kParameter}, CheckParameter},
    {{Opcode::kCompare}, CompleteCompare},
    {kAllReduces, CheckGlobalIds<AllReduceAttrs>},
    {{Opcode::kReduceScatter}, CheckGlobalIds<ReduceScatterAttrs>},
    {{Opcode::kMap}, CompleteMap},
    {{Opcode::kOutfeed}, CompleteOutfeed},
    {{Opcode::kInfeed}, CompleteInfeed},
    {{Opcode::kRecv}, CompleteRecv},
    {{Opcode::kRecvDone}, CheckChannelOfStart<Opcode::kRecv>},
    {{Opcode::kSendDone}, CheckChannelOfStart<Opcode::kSend>},
    {kDeviceIds, CheckDeviceId},
    {{Opcode::kTuple}, CheckTuple},
    {{Opcode::kReshape, Opcode::kDynamicReshape}, CheckReshape},
    {{Opcode::kScan}, CheckScan},
    {{Opcode::kCustomCall}, CheckCustomCall},
};

// The function of each opcode, null where there is nothing to check.
template <class Check, class Rows>
constexpr std::array<Check, kOpcodeCount> ByOpcode(const Rows& rows) {
  std::array<Check, kOpcodeCount> checks = {};
  for (const auto& row : rows) {
    for (size_t i = 0; i < checks.size(); ++i) {
      if (row.opcodes.Has(static_cast<Opcode>(i))) checks[i] = row.check;
    }
  }
  return checks;
}

}  // namespace

bool CheckOperandCount(Parser& parser, const Draft& draft) {
  static constexpr auto kChecks = ByOpcode<CountCheck>(kCountChecks);
  const auto count = static_cast<int>(draft.operands.size());
  // Extra operands of async-done are dropped.
  if (draft.opcode == Opcode::kAsyncDone && count > 1) return true;
  // Reduce without operands is accepted when the shape is written.
  if (const absl::Status status = CheckOperandCount(draft.opcode, count); !status.ok())
    return parser.FailWith(status, draft.opcode_loc);
  const CountCheck check = kChecks[static_cast<size_t>(draft.opcode)];
  return check == nullptr || check(parser, draft, count);
}

bool CheckDraft(Parser& parser, const Computation& computation, Draft& draft) {
  static constexpr auto kChecks = ByOpcode<DraftCheck>(kDraftChecks);
  const DraftCheck check = kChecks[static_cast<size_t>(draft.opcode)];
  return check == nullptr || check(parser, computation, draft);
}

}  // namespace hlo
