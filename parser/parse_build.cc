// From a draft to an instruction: the checks that concern one opcode, the result shape, the common
// attributes.
#include <algorithm>

#include "lib/ops/shape_rules.h"
#include "lib/types/shape_limits.h"
#include "lib/types/shape_util.h"
#include "parser/parser_internal.h"

namespace hlo {
namespace {

bool IsSugared(const Draft& draft) { return draft.sugar != Draft::Sugar::kNone; }

}  // namespace

bool Parser::CheckOperandCount(const Draft& draft) {
  const auto count = static_cast<int>(draft.operands.size());
  // Extra operands of async-done are dropped.
  if (draft.opcode == Opcode::kAsyncDone && count > 1) return true;
  // Reduce without operands is accepted when the shape is written.
  if (const absl::Status status = hlo::CheckOperandCount(draft.opcode, count); !status.ok()) {
    return FailWith(status, draft.opcode_loc);
  }
  const std::string_view text = Text(draft.opcode);
  const auto index_operands = [&](int first) {
    // One scalar per dimension, or one vector.
    const Shape updated = draft.operands[0]->shape();  // dynamic-update-slice: maybe a buffer
    const int rank = (updated.IsBuffer() ? updated.element(0) : updated).rank();
    if (count == first + rank) return true;
    if (count == first + 1 && draft.operands[static_cast<size_t>(first)]->shape().rank() == 1)
      return true;
    return Fail(draft.opcode_loc, "`{}` has {} start indices, expected one per dimension of `{}`",
                text, count - first, draft.operands[0]->shape());
  };
  switch (draft.opcode) {
    case Opcode::kReduce:
    case Opcode::kReduceWindow:
      if (count % 2 != 0)
        return Fail(draft.opcode_loc,
                    "`{}` has {} operands, expected as many initial values as inputs", text, count);
      return true;
    case Opcode::kScatter:
      if (count % 2 != 1) {
        return Fail(
            draft.opcode_loc,
            "`scatter` has {} operands, expected inputs, indices and as many updates as inputs",
            count);
      }
      return true;
    case Opcode::kDynamicSlice: return index_operands(1);
    case Opcode::kDynamicUpdateSlice: return index_operands(2);
    case Opcode::kCollectivePermute:
    case Opcode::kCollectivePermuteStart:
      if (!draft.attrs.Get<CollectivePermuteAttrs>().slice_sizes.empty() && count != 4) {
        return Fail(
            draft.opcode_loc,
            "`{}` with `slice_sizes` has {} operands, expected input, output and two start indices",
            text, count);
      }
      return true;
    default: return true;
  }
}

// Checks of single opcodes; may replace the written shape and the attributes.
bool Parser::CheckDraft(Scope& scope, Draft& draft) {
  CommonAttrs& common = draft.common;
  const auto leaf_fail = [&](std::string_view what) {
    return Fail(draft.shape_loc, "the shape of `{}` is `{}`, expected {}", Text(draft.opcode),
                *draft.shape, what);
  };
  switch (draft.opcode) {
    case Opcode::kParameter: {
      const int64_t number = draft.attrs.Get<ParameterAttrs>().number;
      const auto taken = scope.computation->parameters();
      if (number < static_cast<int64_t>(taken.size()) &&
          taken[static_cast<size_t>(number)] != nullptr) {
        Fail(draft.opcode_loc, "a second parameter {} in this computation", number);
        return Note(taken[static_cast<size_t>(number)]->loc(), "the first one is here");
      }
      if (number > static_cast<int64_t>(text_.size())) {
        return Fail(draft.opcode_loc,
                    "parameter number {} leaves a gap, expected 0, 1, 2, … without gaps", number);
      }
      const auto& replication = draft.attrs.Get<ParameterAttrs>().parameter_replication;
      if (!replication.has_value() || !draft.shape.has_value()) return true;
      const int64_t leaves = LeafCount(*draft.shape);
      if (static_cast<int64_t>(replication->size()) != leaves) {
        return Fail(draft.opcode_loc,
                    "the parameter has {} leaves, but `parameter_replication` has {} entries",
                    leaves, replication->size());
      }
      return true;
    }
    case Opcode::kCompare: {
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
    case Opcode::kAllReduce:
    case Opcode::kAllReduceStart: {
      const auto& attrs = draft.attrs.Get<AllReduceAttrs>();
      if (attrs.use_global_device_ids && !attrs.channel_id.has_value() && attrs.mode.empty()) {
        return Fail(draft.opcode_loc, "`use_global_device_ids=true` needs a `channel_id`");
      }
      return true;
    }
    case Opcode::kReduceScatter: {
      const auto& attrs = draft.attrs.Get<ReduceScatterAttrs>();
      if (attrs.use_global_device_ids && !attrs.channel_id.has_value() && attrs.mode.empty()) {
        return Fail(draft.opcode_loc, "`use_global_device_ids=true` needs a `channel_id`");
      }
      return true;
    }
    case Opcode::kMap: {
      // The stored dimensions are always all of them.
      DimVec all;
      const Shape shape =
          draft.shape.value_or(draft.operands.empty() ? Shape() : draft.operands[0]->shape());
      for (int64_t d = 0; d < shape.rank(); ++d) all.push_back(d);
      draft.attrs = AttrsPtr::Make(MapAttrs{all});
      return true;
    }
    case Opcode::kOutfeed: {
      OutfeedAttrs attrs = draft.attrs.Get<OutfeedAttrs>();
      if (attrs.outfeed_shape == Shape()) {
        attrs.outfeed_shape = draft.operands[0]->shape();
        draft.attrs = AttrsPtr::Make(std::move(attrs));
      }
      return true;
    }
    case Opcode::kInfeed:
      if (!draft.shape.has_value()) return true;
      if (!draft.shape->IsTuple() || draft.shape->elements().empty())
        return leaf_fail("a tuple `(data, token[])`");
      draft.shape = Shape::Tuple({draft.shape->element(0), Shape::Token()});
      return true;
    case Opcode::kRecv:
      if (!draft.shape.has_value()) return true;
      if (!draft.shape->IsTuple() || draft.shape->elements().empty())
        return leaf_fail("a tuple `(data, u32[], token[])`");
      draft.shape =
          Shape::Tuple({draft.shape->element(0), Shape::Scalar(ElementType::kU32), Shape::Token()});
      return true;
    case Opcode::kRecvDone:
    case Opcode::kSendDone: {
      const Instruction* start = draft.operands[0];
      const bool is_recv = draft.opcode == Opcode::kRecvDone;
      if (start->opcode() != (is_recv ? Opcode::kRecv : Opcode::kSend)) return true;
      const auto& attrs = draft.attrs.Get<ChannelAttrs>();
      if (start->attrs<ChannelAttrs>().channel_id != attrs.channel_id) {
        Fail(draft.opcode_loc, "`{}` and its start have different channel ids", Text(draft.opcode));
        return Note(start->loc(), fmt::format("`{}` is defined here", start->name()));
      }
      return true;
    }
    case Opcode::kPartitionId:
    case Opcode::kReplicaId:
      if (draft.shape.has_value() && !Compatible(*draft.shape, Shape::Scalar(ElementType::kU32)))
        return leaf_fail("`u32[]`");
      return true;
    case Opcode::kTuple:
      if (!draft.shape.has_value()) return true;
      if (!draft.shape->IsTuple()) return leaf_fail("a tuple");
      if (draft.shape->elements().size() != draft.operands.size()) {
        return Fail(draft.opcode_loc, "`tuple` has {} operands, but its shape has {} elements",
                    draft.operands.size(), draft.shape->elements().size());
      }
      return true;
    case Opcode::kReshape:
    case Opcode::kDynamicReshape: {
      const Shape from = draft.operands[0]->shape();
      if (!draft.shape.has_value()) return true;
      if (!draft.shape->IsArray() || !from.IsArray())
        return leaf_fail("an array, as its operand must be");
      if (draft.opcode == Opcode::kDynamicReshape &&
          draft.operands.size() != static_cast<size_t>(draft.shape->rank()) + 1) {
        return Fail(draft.opcode_loc,
                    "`dynamic-reshape` has {} sizes, expected one per dimension of `{}`",
                    draft.operands.size() - 1, *draft.shape);
      }
      const auto unbounded = [](Shape shape) {
        return std::find(shape.dims().begin(), shape.dims().end(), Shape::kUnbounded) !=
               shape.dims().end();
      };
      if (unbounded(from) || unbounded(*draft.shape)) return true;
      if (from.element_count() != draft.shape->element_count()) {
        return Fail(draft.shape_loc, "`{}` of `{}` has {} elements, but its shape `{}` has {}",
                    Text(draft.opcode), from, from.element_count(), *draft.shape,
                    draft.shape->element_count());
      }
      return true;
    }
    case Opcode::kScan: {
      const auto& attrs = draft.attrs.Get<ScanAttrs>();
      const auto operands = static_cast<int64_t>(draft.operands.size());
      if (attrs.num_carries < 0 || attrs.num_carries > operands) {
        return Fail(draft.opcode_loc, "`scan` has {} operands and {} carries", operands,
                    attrs.num_carries);
      }
      const int parameters = common.calls[0]->parameter_count();
      if (operands != parameters) {
        return Fail(draft.opcode_loc, "`scan` has {} operands, but `{}` has {} parameters",
                    operands, common.calls[0]->name(), parameters);
      }
      return true;
    }
    case Opcode::kCustomCall: return CheckCustomCall(draft);
    default: return true;
  }
}

bool Parser::CheckCustomCall(const Draft& draft) {
  const auto& attrs = draft.attrs.Get<CustomCallAttrs>();
  if (attrs.api_version == ApiVersion::kUnspecified)
    return Fail(draft.opcode_loc, "`api_version=API_VERSION_UNSPECIFIED` is not allowed");
  if (!attrs.operand_layout_constraints.has_value() || IsSugared(draft)) return true;
  const auto lacks_layout = [](Shape shape) {
    bool missing = false;
    ForEachLeaf(shape, [&](Shape leaf, const ShapeIndex&) {
      missing = missing || (leaf.IsArray() && !leaf.has_layout());
    });
    return missing;
  };
  if (draft.shape.has_value() && lacks_layout(*draft.shape)) {
    return Fail(draft.shape_loc,
                "the result of a custom call with `operand_layout_constraints` needs a layout, "
                "found `{:l}`",
                *draft.shape);
  }
  const auto& constraints = *attrs.operand_layout_constraints;
  if (constraints.size() != draft.operands.size()) {
    return Fail(draft.opcode_loc, "{} operand layout constraints for {} operands",
                constraints.size(), draft.operands.size());
  }
  for (size_t i = 0; i < constraints.size(); ++i) {
    if (lacks_layout(constraints[i]))
      return Fail(draft.opcode_loc, "operand layout constraint {}, `{:l}`, has no layout", i,
                  constraints[i]);
    if (!Compatible(constraints[i], draft.operands[i]->shape())) {
      return Fail(draft.opcode_loc,
                  "operand layout constraint {} is `{}`, but the operand has shape `{}`", i,
                  constraints[i], draft.operands[i]->shape());
    }
  }
  return true;
}

// Shapes made of the operands' shapes double from line to line if they want to; what is written
// cannot.
bool Parser::CheckInferredSize(const Draft& draft) {
  const uint64_t limit = (uint64_t{16} << 20) + 64 * uint64_t{text_.size()};
  bool tuples = draft.opcode == Opcode::kTuple;
  uint64_t bytes = 0;
  for (const Instruction* operand : draft.operands) {
    tuples = tuples || operand->shape().IsTuple();
    bytes += operand->shape().Text().size();
    if (NestingDepth(operand->shape()) >= options_.max_recursion_depth) {
      return Fail(draft.opcode_loc, "the shape of `{}` nests deeper than {} levels",
                  Text(draft.opcode), options_.max_recursion_depth);
    }
  }
  if (!tuples) return true;
  inferred_bytes_ += bytes;
  if (inferred_bytes_ <= limit) return true;
  return Fail(draft.opcode_loc, "the inferred tuple shapes of this text are longer than {} bytes",
              limit);
}

bool Parser::ResultShape(Draft& draft, Shape& out) {
  const bool ignores = HasTrait(draft.opcode, kIgnoresShape);
  if (!draft.shape.has_value() && HasTrait(draft.opcode, kExplicitShape)) {
    return Fail(draft.opcode_loc, "`{}` needs its shape written", Text(draft.opcode));
  }
  if (draft.shape.has_value() && !ignores) {
    out = *draft.shape;
    return true;
  }
  if (draft.opcode == Opcode::kOutfeed || draft.opcode == Opcode::kSendDone ||
      draft.opcode == Opcode::kAfterAll) {
    out = Shape::Token();
    return true;
  }
  if (draft.opcode == Opcode::kAddDependency) {
    out = draft.operands[0]->shape();
    return true;
  }
  if (!CheckInferredSize(draft)) return false;
  absl::InlinedVector<Shape, 6> operands;
  for (const Instruction* operand : draft.operands) operands.push_back(operand->shape());
  std::vector<Signature> signatures;
  for (const Computation* callee : draft.common.calls) {
    if (callee != nullptr) signatures.push_back(callee->signature());
  }
  AttrsPtr attrs = draft.attrs;
  // The direction is nothing to the shape; whether the operands have an order is the verifier's
  // question.
  if (draft.opcode == Opcode::kCompare) attrs = AttrsPtr::Make(CompareAttrs());
  if (draft.opcode == Opcode::kTriangularSolve &&
      attrs.Get<TriangularSolveAttrs>().transpose_a == TransposeKind::kInvalid) {
    return Fail(draft.opcode_loc,
                "`triangular-solve` without a shape needs the attribute `transpose_a`");
  }
  absl::StatusOr<Shape> inferred = InferShape(ShapeArgs(draft.opcode, operands, attrs, signatures));
  if (!inferred.ok()) return FailWith(inferred.status(), draft.opcode_loc);
  out = *inferred;
  return true;
}

bool Parser::Build(Scope& scope, Draft& draft, Instruction*& out) {
  if (IsSugared(draft) || draft.opcode == Opcode::kAsyncStart ||
      draft.opcode == Opcode::kAsyncUpdate || draft.opcode == Opcode::kAsyncDone) {
    return BuildAsync(scope, draft, out);
  }
  if (draft.opcode == Opcode::kDot && draft.operands.size() > 2) {
    Warn(draft.opcode_loc, "a dot has two operands; the others are dropped");
    draft.operands.resize(2);
  }
  Shape shape;
  if (!CheckOperandCount(draft))
    return Note(draft.nameless_shape, "this shape is no operand: a name is missing after it");
  if (!CheckDraft(scope, draft) || !ResultShape(draft, shape)) return false;
  const std::string_view name = draft.anonymous ? AnonymousName(Text(draft.opcode)) : draft.name;
  out = scope.computation->AddVerbatim(draft.opcode, shape, draft.operands, std::move(draft.attrs),
                                       draft.common.calls, name);
  out->set_loc(draft.loc);
  scope.last = out;
  ApplyExtras(out, draft.common);
  if (draft.anonymous) scope.names.try_emplace(name, Binding{out, draft.loc});
  return true;
}

void Parser::ApplyExtras(Instruction* instruction, CommonAttrs& common) {
  if (common.extras != nullptr) {
    Extras& extras = *common.extras;
    has_frame_ids_ = has_frame_ids_ || extras.metadata.stack_frame_id != 0;
    if (extras.sharding && instruction->shape().IsTuple() && !extras.sharding->is_tuple) {
      // One copy per leaf; the empty tuple has one, too.
      Sharding& sharding = *extras.sharding;
      const auto leaves =
          static_cast<size_t>(std::max<int64_t>(LeafCount(instruction->shape()), 1));
      sharding.leaves.assign(leaves, Sharding::Leaf(sharding.leaves[0]));
      sharding.is_tuple = true;
    }
    instruction->set_extras(std::move(common.extras));
  }
  for (Instruction* predecessor : common.control_predecessors)
    instruction->AddControlPredecessor(predecessor);
}

}  // namespace hlo
