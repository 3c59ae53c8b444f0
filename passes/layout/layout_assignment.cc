#include "passes/layout/layout_assignment.h"

#include <algorithm>
#include <functional>
#include <map>

#include "absl/algorithm/container.h"
#include "absl/container/flat_hash_map.h"
#include "lib/ir/async_chain.h"
#include "lib/ir/builder.h"
#include "lib/ops/attrs.h"
#include "lib/types/shape_util.h"
#include "passes/layout/gpu_layout_preferences.h"
#include "passes/layout/layout_constraints.h"
#include "passes/layout/layout_preferences.h"
#include "passes/layout/literal_layout.h"
#include "passes/util/constrained_layout.h"
#include "passes/util/layout_copy.h"
#include "passes/util/own_computations.h"

namespace hlo {
namespace {

using Strength = LayoutConstraints::Strength;

// Each round tells callees what their callers know; two are enough for what calls each other once.
constexpr int kMostRounds = 8;

// These lie as the text says; bitcasts would mean something else in other layouts.
constexpr OpcodeSet kGiven = {Opcode::kBitcast,     Opcode::kInfeed,   Opcode::kOutfeed,
                              Opcode::kSend,        Opcode::kRecv,     Opcode::kAsyncStart,
                              Opcode::kAsyncUpdate, Opcode::kAsyncDone};

bool HasAllLayouts(Shape shape) { return shape == shape.WithMissingLayoutsFilled(); }

// The branch whose result the others take on.
Computation* LargestBranch(const Instruction& conditional) {
  Computation* largest = conditional.call(0);
  for (Computation* branch : conditional.calls()) {
    if (branch->instruction_count() > largest->instruction_count()) largest = branch;
  }
  return largest;
}

bool IsOnOneDevice(const Sharding& sharding) {
  const auto is_whole = [](const Sharding::Leaf& leaf) {
    const auto* tiled = std::get_if<TiledSharding>(&leaf);
    return tiled != nullptr && tiled->kind == TiledSharding::Kind::kMaximal;
  };
  if (!absl::c_all_of(sharding.leaves, is_whole)) return false;
  return absl::c_all_of(sharding.leaves, [&](const Sharding::Leaf& leaf) {
    return std::get<TiledSharding>(leaf).maximal_device ==
           std::get<TiledSharding>(sharding.leaves[0]).maximal_device;
  });
}

Sharding ShardingOfElement(const Sharding& sharding, Shape tuple, int element) {
  if (!sharding.is_tuple) return sharding;
  auto begin = sharding.leaves.begin();
  for (int i = 0; i < element; ++i) begin += LeafCount(tuple.element(i));
  const Shape shape = tuple.element(element);
  if (!shape.IsTuple()) return Sharding::Of(*begin);
  return Sharding::Tuple(std::vector<Sharding::Leaf>(begin, begin + LeafCount(shape)));
}

// What is said of `value`, or of one element of it, is said of `part`, too. Only what is on one
// device may have its copy on another.
void TakeExtras(Instruction* part, const Instruction& value, int element = -1) {
  const Extras* const extras = value.extras();
  if (extras == nullptr) return;
  part->mutable_extras().metadata = extras->metadata;
  part->mutable_extras().frontend_attributes = extras->frontend_attributes;
  if (!extras->sharding.has_value()) return;
  Sharding sharding = element < 0 ? *extras->sharding
                                  : ShardingOfElement(*extras->sharding, value.shape(), element);
  if (!IsOnOneDevice(sharding)) part->set_sharding(std::move(sharding));
}

// As CopyWithLayouts, with all that is said of `value`.
Instruction* CopyAlike(Instruction* value, Shape shape) {
  if (!shape.IsTuple() || SameOrders(value->shape(), shape)) {
    Instruction* const copy = CopyWithLayouts(value, shape);
    if (copy != value) TakeExtras(copy, *value);
    return copy;
  }
  Builder b(value->parent());
  std::vector<Instruction*> elements;
  for (int i = 0; i < shape.element_count_of_tuple(); ++i) {
    Instruction* const element = b.GetTupleElement(value, i);
    TakeExtras(element, *value, i);
    elements.push_back(CopyAlike(element, shape.element(i)));
  }
  Instruction* const tuple = b.Tuple(elements);
  TakeExtras(tuple, *value);
  return tuple;
}

// Finds out the layouts of a whole module, then writes them down.
class Assigner {
 public:
  // What a platform prefers, as constraints of a computation.
  using AddPreferences = std::function<void(const Computation&, LayoutConstraints&)>;

  // `add_preferences` may be null.
  Assigner(Module& module, std::vector<Computation*> computations, AddPreferences add_preferences)
      : module_(module),
        computations_(std::move(computations)),
        add_preferences_(std::move(add_preferences)) {}

  void Solve() {
    // Computations of fusions that something else calls, too, stay as they are.
    for (Computation* computation : module_.computations()) {
      if (computation->is_fusion() && computation->callers().size() > 1) KeepSignature(computation);
    }
    for (int round = 0; round < kMostRounds; ++round) {
      told_something_new_ = false;
      for (Computation* computation : computations_) SolveOne(computation);
      if (round > 0 && !told_something_new_) break;
    }
  }

  bool Write() {
    for (Computation* computation : computations_) {
      SetShapes(computation);
      if (IsAsyncBody(*computation)) continue;  // there is no place for copies
      CopyOperands(computation);
      CopyRoot(computation);
    }
    FillEntryLayout();
    return changed_;
  }

 private:
  // What is known of a computation from outside, or from the last look at it.
  struct Signature {
    std::vector<Shape> parameters;
    Shape result;
    bool parameters_are_told = false;
    bool result_is_told = false;
    std::unique_ptr<LayoutConstraints> constraints;
  };

  void SolveOne(Computation* computation) {
    Signature& own = signatures_[computation];
    own.constraints = std::make_unique<LayoutConstraints>(*computation);
    constraints_ = own.constraints.get();
    for (int i = 0; i < computation->parameter_count(); ++i) {
      if (const std::optional<Shape> shape = ParameterOf(computation, i))
        constraints_->SetResult(*computation->parameter(i), *shape, Strength::kMandatory);
    }
    const bool is_asynchronous = IsAsyncBody(*computation);
    for (const Instruction* instruction : computation->instructions()) {
      if (is_asynchronous) {
        Keep(*instruction);
      } else {
        AddGiven(*instruction);
      }
    }
    if (add_preferences_ != nullptr) {
      add_preferences_(*computation, *constraints_);
      constraints_->Propagate();  // before what the callers would like
    }
    if (const std::optional<Shape> result = ResultOf(computation))
      constraints_->WishForRoot(*result);
    constraints_->Propagate();
    constraints_->FillIn();

    if (!own.parameters_are_told) {
      own.parameters.clear();
      for (const Instruction* parameter : computation->parameters())
        own.parameters.push_back(constraints_->ShapeOf(*parameter));
    }
    if (!own.result_is_told) {
      own.result = constraints_->ShapeOf(*computation->root());
      // Callers have been told.
      own.result_is_told = !computation->is_entry();
    }
  }

  std::optional<Shape> ParameterOf(Computation* computation, int i) const {
    if (computation->is_entry()) {
      // The text may say fewer than there are.
      const std::vector<Shape>& told = module_.config().entry_layout.parameters;
      if (static_cast<size_t>(i) >= told.size()) return std::nullopt;
      const Shape shape = told[static_cast<size_t>(i)];
      if (!Compatible(shape, computation->parameter(i)->shape())) return std::nullopt;
      return HasAllLayouts(shape) ? std::optional(shape) : std::nullopt;
    }
    const Signature& own = signatures_.at(computation);
    if (!own.parameters_are_told) return std::nullopt;
    return own.parameters[static_cast<size_t>(i)];
  }

  std::optional<Shape> ResultOf(Computation* computation) const {
    if (computation->is_entry()) {
      const Shape shape = module_.config().entry_layout.result;
      if (!Compatible(shape, computation->root()->shape())) return std::nullopt;
      return HasAllLayouts(shape) ? std::optional(shape) : std::nullopt;
    }
    const Signature& own = signatures_.at(computation);
    return own.result_is_told ? std::optional(own.result) : std::nullopt;
  }

  void TellParameters(Computation* computation, const std::vector<Shape>& shapes) {
    Signature& callee = signatures_[computation];
    told_something_new_ |= !callee.parameters_are_told || callee.parameters != shapes;
    callee.parameters = shapes;
    callee.parameters_are_told = true;
  }

  void TellResult(Computation* computation, Shape shape) {
    Signature& callee = signatures_[computation];
    told_something_new_ |= !callee.result_is_told || !(callee.result == shape);
    callee.result = shape;
    callee.result_is_told = true;
  }

  // What must be as it is, or as callees have it.
  void AddGiven(const Instruction& instruction) {
    const auto operand = [&](int i, Shape shape) {
      constraints_->SetOperand(instruction, i, shape, Strength::kMandatory);
    };
    const auto result = [&](Shape shape) {
      constraints_->SetResult(instruction, shape, Strength::kMandatory);
    };
    if (instruction.opcode() == Opcode::kWhile) {
      const Shape state = signatures_.at(instruction.while_body()).result;
      TellParameters(instruction.while_body(), {state});
      TellParameters(instruction.while_condition(), {state});
      operand(0, state);
      result(state);
    } else if (instruction.opcode() == Opcode::kConditional) {
      const Shape shape = signatures_.at(LargestBranch(instruction)).result;
      for (int k = 0; k < instruction.call_count(); ++k) {
        TellResult(instruction.call(k), shape);
        operand(k + 1, signatures_.at(instruction.call(k)).parameters[0]);
      }
      result(shape);
    } else if (instruction.opcode() == Opcode::kCall) {
      const Signature& callee = signatures_.at(instruction.to_apply());
      for (int i = 0; i < instruction.operand_count(); ++i)
        operand(i, callee.parameters[static_cast<size_t>(i)]);
      result(callee.result);
    } else if (instruction.IsFusion()) {
      const Computation& fused = *instruction.fused_computation();
      // Operands that nobody takes may be too many.
      const int count = std::min(instruction.operand_count(), fused.parameter_count());
      for (int i = 0; i < count; ++i) operand(i, fused.parameter(i)->shape());
      result(fused.root()->shape());
    } else if (instruction.opcode() == Opcode::kCustomCall) {
      AddCustomCall(instruction);
    } else if (kGiven.Has(instruction.opcode()) || ConstrainsLayout(instruction)) {
      for (int i = 0; i < instruction.operand_count(); ++i) {
        if (!constraints_->HandsOn(instruction, i)) operand(i, instruction.operand(i)->shape());
      }
      if (instruction.opcode() == Opcode::kOutfeed)
        operand(0, instruction.attrs<OutfeedAttrs>().outfeed_shape);
      result(instruction.shape());
      for (Computation* callee : instruction.calls()) KeepSignature(callee);
    }
  }

  void Keep(const Instruction& instruction) {
    for (int i = 0; i < instruction.operand_count(); ++i)
      constraints_->SetOperand(instruction, i, instruction.operand(i)->shape(),
                               Strength::kMandatory);
    constraints_->SetResult(instruction, instruction.shape(), Strength::kMandatory);
    for (Computation* callee : instruction.calls()) KeepSignature(callee);
  }

  void AddCustomCall(const Instruction& call) {
    const CustomCallAttrs& attrs = call.attrs<CustomCallAttrs>();
    if (attrs.custom_call_target == "LayoutConstraint" && call.operand_count() == 1) {
      constraints_->SetOperand(call, 0, call.shape(), Strength::kMandatory);
      constraints_->SetResult(call, call.shape(), Strength::kMandatory);
    } else if (attrs.operand_layout_constraints) {
      for (int i = 0; i < call.operand_count(); ++i)
        constraints_->SetOperand(call, i,
                                 (*attrs.operand_layout_constraints)[static_cast<size_t>(i)],
                                 Strength::kMandatory);
      constraints_->SetResult(call, call.shape(), Strength::kMandatory);
    }
  }

  // Of an asynchronous computation: its start says in one shape what goes in and comes out.
  void KeepSignature(Computation* computation) {
    TellParameters(computation, computation->signature().parameters);
    TellResult(computation, computation->root()->shape());
  }

  // ---- writing it down ----

  void SetShape(Instruction* instruction, Shape shape) {
    if (instruction->shape() == shape) return;
    instruction->set_shape(shape);
    if (instruction->IsConstant())
      instruction->SetAttrs(ConstantAttrs{LiteralWithLayouts(instruction->literal(), shape)});
    changed_ = true;
  }

  void SetShapes(Computation* computation) {
    const LayoutConstraints& constraints = *signatures_.at(computation).constraints;
    for (Instruction* instruction : computation->instruction_vector())
      SetShape(instruction, constraints.ShapeOf(*instruction));
    if (!computation->is_entry()) return;
    for (int i = 0; i < computation->parameter_count(); ++i) {
      if (const std::optional<Shape> shape = ParameterOf(computation, i))
        SetShape(computation->parameter(i), *shape);
    }
  }

  Instruction* Copy(Instruction* value, Shape wanted) {
    const Shape own = value->shape();
    if (SameOrders(own, wanted)) return value;
    changed_ = true;
    return CopyAlike(value, WithOrdersOf(own, wanted));
  }

  void CopyOperands(Computation* computation) {
    const LayoutConstraints& constraints = *signatures_.at(computation).constraints;
    for (Instruction* user : computation->instruction_vector()) {
      for (int i = 0; i < user->operand_count(); ++i) {
        const std::optional<Shape> wanted = constraints.WantedOperand(*user, i);
        if (!wanted || CopiedInBranch(*user, i, *wanted)) continue;
        Instruction* copy = Copy(user->operand(i), *wanted);
        if (copy != user->operand(i)) user->ReplaceOperand(i, copy);
      }
    }
  }

  // An operand that nothing but conditionals read is copied only when it is needed.
  bool CopiedInBranch(const Instruction& conditional, int i, Shape wanted) {
    if (conditional.opcode() != Opcode::kConditional || i == 0) return false;
    Instruction* const operand = conditional.operand(i);
    Computation* const branch = conditional.call(i - 1);
    if (branch->callers().size() != 1) return false;
    for (const Use& use : operand->uses()) {
      if (use.user->opcode() != Opcode::kConditional || use.operand_index == 0) return false;
    }
    Instruction* const parameter = branch->parameter(0);
    const std::vector<Use> uses(parameter->uses().begin(), parameter->uses().end());
    SetShape(parameter, WithOrdersOf(parameter->shape(), operand->shape()));
    Instruction* const copy = Copy(parameter, wanted);
    if (copy == parameter) return true;
    for (const Use& use : uses) use.user->ReplaceOperand(use.operand_index, copy);
    if (branch->root() == parameter) branch->set_root(copy);
    return true;
  }

  void CopyRoot(Computation* computation) {
    const std::optional<Shape> result = ResultOf(computation);
    if (!result) return;
    Instruction* root = Copy(computation->root(), *result);
    computation->set_root(root);
    // Tiles and the like of the entry's result.
    if (computation->is_entry() && root->shape().IsArray() && root->opcode() != Opcode::kParameter)
      SetShape(root, *result);
  }

  void FillEntryLayout() {
    EntryLayout layout = module_.config().entry_layout;
    const std::vector<Instruction*> parameters(module_.entry()->parameters().begin(),
                                               module_.entry()->parameters().end());
    for (size_t i = 0; i < parameters.size(); ++i) {
      if (i == layout.parameters.size()) layout.parameters.push_back(parameters[i]->shape());
      if (!HasAllLayouts(layout.parameters[i])) layout.parameters[i] = parameters[i]->shape();
    }
    layout.parameters.resize(parameters.size(), Shape());
    if (!HasAllLayouts(layout.result) ||
        !Compatible(layout.result, module_.entry()->root()->shape()))
      layout.result = module_.entry()->root()->shape();
    changed_ |= !(layout == module_.config().entry_layout);
    module_.config().entry_layout = layout;
  }

  Module& module_;
  const std::vector<Computation*> computations_;  // callees first
  const AddPreferences add_preferences_;
  absl::flat_hash_map<const Computation*, Signature> signatures_;  // looked up only
  LayoutConstraints* constraints_ = nullptr;  // of the computation that is looked at
  bool told_something_new_ = false;
  bool changed_ = false;
};

// What is sent, and what a custom call with layout constraints writes over, is a copy: another
// layout there is nobody else's concern.
bool CopyHandedOver(const std::vector<Computation*>& computations) {
  bool changed = false;
  const auto copy_operand = [&](Instruction* user, int i) {
    Instruction* const operand = user->operand(i);
    const bool is_own_copy = operand->opcode() == Opcode::kCopy && operand->use_count() == 1;
    if (is_own_copy || !operand->shape().IsArray()) return;
    Builder b(user->parent(), operand);
    user->ReplaceOperand(i, b.Copy(operand));
    changed = true;
  };
  for (Computation* computation : computations) {
    if (!computation->MayHoldAny({Opcode::kSend, Opcode::kCustomCall})) continue;
    for (Instruction* instruction : computation->instruction_vector()) {
      if (instruction->opcode() == Opcode::kSend) copy_operand(instruction, 0);
      if (instruction->opcode() != Opcode::kCustomCall) continue;
      const CustomCallAttrs& attrs = instruction->attrs<CustomCallAttrs>();
      if (!attrs.operand_layout_constraints) continue;
      for (const OutputOperandAlias& alias : attrs.output_to_operand_aliasing)
        copy_operand(instruction, static_cast<int>(alias.operand));
    }
  }
  return changed;
}

// Copies, which change layouts, have no form for arrays without bounds.
absl::Status CheckBounded(const Module& module) {
  const auto is_unbounded = [](Shape shape) {
    bool unbounded = false;
    ForEachLeaf(shape, [&](Shape leaf, const ShapeIndex&) {
      unbounded |= leaf.IsArray() && absl::c_linear_search(leaf.dims(), Shape::kUnbounded);
    });
    return unbounded;
  };
  if (const Shape result = module.config().entry_layout.result; is_unbounded(result)) {
    return Unsupported(module.entry()->root()->loc(),
                       "the result `{}` of the module has no bound, so no layout can be assigned",
                       result);
  }
  for (const Computation* computation : module.computations()) {
    for (const Instruction* instruction : computation->instructions()) {
      if (is_unbounded(instruction->shape())) {
        return Unsupported(instruction->loc(),
                           "`{}` of shape `{}` has no bound, so no layout can be assigned",
                           instruction->name(), instruction->shape());
      }
    }
  }
  return absl::OkStatus();
}

Assigner::AddPreferences GpuPreferences(const LayoutAssignmentOptions& options) {
  const GpuLayoutOptions gpu = {options.compute_capability, options.force_conv_nchw,
                                options.force_conv_nhwc,
                                options.pack_dot_operands_along_k_dimension};
  return [gpu](const Computation& computation, LayoutConstraints& constraints) {
    // In what runs asynchronously there is no place for copies.
    if (!IsAsyncBody(computation)) AddGpuPreferences(computation, gpu, constraints);
  };
}

}  // namespace

absl::StatusOr<bool> LayoutAssignment::Run(Module& module, PassContext& context) {
  const std::map<std::string_view, Assigner::AddPreferences> platforms = {
      {"cpu", AddCpuPreferences}, {"gpu", GpuPreferences(options_)}, {"none", nullptr}};
  const auto platform = platforms.find(options_.platform);
  RET_CHECK(platform != platforms.end(), "no platform `{}`", options_.platform.value);
  if (module.entry() == nullptr || !context.MayRewrite()) return false;
  RETURN_IF_ERROR(CheckBounded(module));
  bool changed = CopyHandedOver(context.NonFusionComputations(module));
  // Branches that several run may have to return different layouts.
  ASSIGN_OR_RETURN(const bool copied, GiveOwnComputations(module, {Opcode::kConditional}));
  changed |= copied;
  // With the copies.
  const CallGraph calls(module);
  Assigner assigner(module, calls.without_fusions(), platform->second);
  assigner.Solve();
  changed |= assigner.Write();
  return changed;
}

HLO_DEFINE_PASS(LayoutAssignment)

}  // namespace hlo
