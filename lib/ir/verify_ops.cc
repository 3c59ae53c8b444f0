// Rules of single instructions, on top of the opcode table and the shape rules (lib/ops):
//
//   every opcode     has the attribute struct, the number of operands and the called computations
//                    of its table row
//   shapes           sizes are not negative, layouts are permutations; no dimension is unbounded
//   results          the declared shape is the inferred one; dynamic dimensions match static ones;
//                    floats of different width are tolerated with allow_mixed_precision, but for
//                    opcodes that pass values through unchanged
//   operands         without allow_mixed_precision have floats of one width, but for opcodes
//                    that take several
//   to_apply         without allow_mixed_precision, of reduce, reduce-window and map, has
//                    parameters of the operands' types
//   layouts          with layout_sensitive: results of opcodes that pass values through are exact
//                    (the others: verify_layouts.cc)
//   result_accuracy  stands only on opcodes that have one
//   scheduling_name  with verify_instruction_name_unchanged, is the name
//   threads          with verify_call_nested_computation_thread_name, `to_apply` runs on
//                    that of its caller
//   all-reduce       all constrain their layout or none does
#include <algorithm>
#include <array>
#include <memory>

#include "absl/container/flat_hash_map.h"
#include "lib/ir/any_instruction.h"
#include "lib/ir/verify_internal.h"
#include "lib/ops/opcode_groups.h"
#include "lib/types/shape_limits.h"
#include "lib/types/shape_util.h"

namespace hlo::internal {
namespace {

template <size_t N>
constexpr std::array<bool, kOpcodeCount> SetOf(const Opcode (&opcodes)[N]) {
  std::array<bool, kOpcodeCount> set = {};
  for (const Opcode opcode : opcodes) set[static_cast<size_t>(opcode)] = true;
  return set;
}

// Opcodes whose result has exactly the inferred element types, and with layout_sensitive its
// layout.
constexpr auto kStrict =
    SetOf({Opcode::kBitcast, Opcode::kCall, Opcode::kConditional, Opcode::kConstant,
           Opcode::kCopyDone, Opcode::kCopyStart, Opcode::kCustomCall, Opcode::kFusion,
           Opcode::kGetTupleElement, Opcode::kInfeed, Opcode::kOptimizationBarrier,
           Opcode::kOutfeed, Opcode::kParameter, Opcode::kRecv, Opcode::kRecvDone, Opcode::kSend,
           Opcode::kSendDone, Opcode::kTuple, Opcode::kWhile});

// Of these, the ones where tiles, memory space and the like may differ.
constexpr auto kOrderOnly =
    SetOf({Opcode::kConstant, Opcode::kInfeed, Opcode::kSend, Opcode::kRecv, Opcode::kCopyStart});

// Opcodes that take floats of several widths also without allow_mixed_precision.
constexpr auto kTakesMixedFloats = SetOf({
    Opcode::kCall,
    Opcode::kConditional,
    Opcode::kConstant,
    Opcode::kConvolution,
    Opcode::kDot,
    Opcode::kRaggedDot,
    Opcode::kScaledDot,
    Opcode::kAllReduce,
    Opcode::kAllReduceStart,
    Opcode::kAllReduceDone,
    Opcode::kAllGather,
    Opcode::kAllGatherStart,
    Opcode::kAllGatherDone,
    Opcode::kAsyncStart,
    Opcode::kAsyncUpdate,
    Opcode::kAsyncDone,
    Opcode::kCollectivePermute,
    Opcode::kCollectivePermuteStart,
    Opcode::kCollectivePermuteDone,
    Opcode::kCopyStart,
    Opcode::kCopyDone,
    Opcode::kCustomCall,
    Opcode::kDomain,
    Opcode::kFusion,
    Opcode::kGetTupleElement,
    Opcode::kOptimizationBarrier,
    Opcode::kInfeed,
    Opcode::kOutfeed,
    Opcode::kParameter,
    Opcode::kRecv,
    Opcode::kRecvDone,
    Opcode::kReducePrecision,
    Opcode::kReduceWindow,
    Opcode::kSend,
    Opcode::kSendDone,
    Opcode::kSort,
    Opcode::kTuple,
    Opcode::kWhile,
});

struct RuleRow {
  Opcode opcode;
  OpcodeRule rule;
};
constexpr RuleRow kRuleRows[] = {
    {Opcode::kFusion, VerifyFusion},
    {Opcode::kDomain, VerifyDomain},
    {Opcode::kCall, VerifyCall},
    {Opcode::kCustomCall, VerifyCustomCall},
    {Opcode::kWhile, VerifyWhile},
    {Opcode::kConditional, VerifyConditional},
    {Opcode::kAsyncStart, VerifyAsyncStart},
    {Opcode::kAsyncUpdate, VerifyAsyncUpdate},
    {Opcode::kAsyncDone, VerifyAsyncDone},
    {Opcode::kSend, VerifyTransferStart},
    {Opcode::kRecv, VerifyTransferStart},
    {Opcode::kSendDone, VerifyTransferDone},
    {Opcode::kRecvDone, VerifyTransferDone},
    {Opcode::kAllGatherDone, VerifyPairDone},
    {Opcode::kAllReduceDone, VerifyPairDone},
    {Opcode::kCollectivePermuteDone, VerifyPairDone},
    {Opcode::kCopyDone, VerifyPairDone},
    {Opcode::kCopyStart, VerifyPairStart},
    {Opcode::kAllGather, VerifyGroupCollective},
    {Opcode::kAllGatherStart, VerifyGroupCollective},
    {Opcode::kAllReduce, VerifyGroupCollective},
    {Opcode::kAllReduceStart, VerifyGroupCollective},
    {Opcode::kAllToAll, VerifyGroupCollective},
    {Opcode::kCollectiveBroadcast, VerifyGroupCollective},
    {Opcode::kRaggedAllToAll, VerifyGroupCollective},
    {Opcode::kReduceScatter, VerifyGroupCollective},
    {Opcode::kCollectivePermute, VerifyCollectivePermute},
    {Opcode::kCollectivePermuteStart, VerifyCollectivePermute},
};
constexpr std::array<OpcodeRule, kOpcodeCount> kRules = [] {
  std::array<OpcodeRule, kOpcodeCount> rules = {};
  for (const RuleRow& row : kRuleRows) rules[static_cast<size_t>(row.opcode)] = row.rule;
  return rules;
}();

bool HasUnboundedDimension(Shape shape) {
  if (!shape.has_dynamic_dims()) return false;
  for (const Shape element : shape.elements()) {
    if (HasUnboundedDimension(element)) return true;
  }
  return shape.IsArray() &&
         std::count(shape.dims().begin(), shape.dims().end(), Shape::kUnbounded) > 0;
}

// The element type of a float leaf, or the first one that differs from `type` (kTuple: none seen so
// far).
void CollectFloats(Shape shape, ElementType& type, bool& mixed) {
  for (const Shape element : shape.elements()) CollectFloats(element, type, mixed);
  if (!IsFloat(shape.element_type())) return;
  if (type == ElementType::kTuple) type = shape.element_type();
  mixed = mixed || type != shape.element_type();
}

// "`f32[4]`, `f32[8]`"
std::string OperandShapes(const Instruction& instruction, bool layouts) {
  constexpr int kMost = 4;
  std::string text;
  for (int i = 0; i < std::min(instruction.operand_count(), kMost); ++i) {
    if (i > 0) text += ", ";
    text += fmt::format("`{}`", instruction.operand(i)->shape().Text(layouts));
  }
  if (instruction.operand_count() > kMost) text += ", …";
  return text;
}

class OpVerifier {
 public:
  explicit OpVerifier(const VerifyContext& context)
      : context_(context),
        findings_(context.findings),
        looks_at_layouts_(context.options.layout_sensitive ||
                          context.options.verify_no_host_memory_space ||
                          context.options.verify_reshape_is_bitcast ||
                          context.options.verify_broadcast_dims_order) {}

  void Verify(const Instruction& instruction) {
    if (!CheckAttributes(instruction) || !CheckShape(instruction) || !CheckResult(instruction))
      return;
    if (instruction.extras() != nullptr) CheckExtras(instruction);
    if (!context_.options.allow_mixed_precision) CheckOneFloatWidth(instruction);
    if (looks_at_layouts_) VerifyLayouts(context_, instruction);
    if (context_.options.verify_call_nested_computation_thread_name) CheckThread(instruction);
    if (IsAllReduce(instruction.opcode())) CheckConstraint(instruction);
    if (const OpcodeRule rule = kRules[static_cast<size_t>(instruction.opcode())])
      rule(context_, instruction);
  }
  bool has_buffers() const { return has_buffers_; }

 private:
  bool CheckAttributes(const Instruction& instruction) {
    const AttrsInfo* found = instruction.attrs_ptr().info();
    const OpInfo& info = Info(instruction.opcode());
    const AttrsInfo& expected = info.attrs();
    if (found == &expected || (found == nullptr && &expected == &AttrsInfoOf<NoAttrs>()))
      return true;
    findings_.Add(instruction.loc(), "`{}` has attributes of type {}, expected {} for `{}`",
                  instruction.name(), found == nullptr ? "none" : found->name, expected.name,
                  instruction.opcode_text());
    return false;
  }

  bool CheckShape(const Instruction& instruction) {
    const Shape shape = instruction.shape();
    Shape& known = sound_shapes_[shape.Hash() % sound_shapes_.size()];
    if (known == shape) return true;
    if (const absl::Status status = ValidateShape(shape); !status.ok()) {
      findings_.AddStatus(instruction.loc(),
                          AddPrefix(status, fmt::format("`{}`", instruction.name())));
      return false;
    }
    has_buffers_ = has_buffers_ || HasBuffer(shape);
    if (context_.options.allow_unbounded_dynamism || !HasUnboundedDimension(shape)) {
      known = shape;
      return true;
    }
    findings_.Add(instruction.loc(), "`{}` has shape `{}`, expected no unbounded dimension",
                  instruction.name(), shape);
    return false;
  }

  bool CheckResult(const Instruction& instruction) {
    const auto opcode = static_cast<size_t>(instruction.opcode());
    operands_.clear();
    for (const Instruction* operand : instruction.operands()) operands_.push_back(operand->shape());
    const absl::StatusOr<Shape> inferred =
        InferShape(ShapeArgs(instruction.opcode(), operands_, instruction.attrs_ptr(),
                             SignaturesOf(instruction), instruction.shape()));
    if (!inferred.ok()) {
      findings_.AddStatus(instruction.loc(), inferred.status());
      findings_.NoteOperands(instruction);
      return false;
    }
    Agreement agreement;
    // Layouts of updates: verify_layouts.cc.
    agreement.float_width = kStrict[opcode] || !context_.options.allow_mixed_precision ||
                            instruction.opcode() == Opcode::kDynamicUpdateSlice;
    if (Agree(instruction.shape(), *inferred, agreement)) {
      if (!kStrict[opcode] || !context_.options.layout_sensitive) return true;
      agreement.layout = true;
      agreement.leniency.everything = kOrderOnly[opcode];
      if (instruction.opcode() == Opcode::kFusion && instruction.parent()->is_fusion())
        agreement.leniency.tiles = agreement.leniency.memory_space = true;
      if (Agree(instruction.shape(), *inferred, agreement)) return true;
    }
    const std::string from = instruction.operand_count() == 0
                                 ? ""
                                 : " of " + OperandShapes(instruction, agreement.layout);
    findings_.Add(instruction.loc(), "`{}` is declared `{}` but `{}`{} yields `{}`",
                  instruction.name(), instruction.shape().Text(agreement.layout),
                  instruction.opcode_text(), from, inferred->Text(agreement.layout));
    findings_.NoteOperands(instruction);
    return false;
  }

  // Of the called computations. Valid until the next call.
  absl::Span<const Signature> SignaturesOf(const Instruction& instruction) {
    if (instruction.call_count() == 0) return {};
    calls_.clear();
    for (int i = 0; i < instruction.call_count(); ++i) {
      std::unique_ptr<Signature>& signature = signatures_[instruction.call(i)];
      if (signature == nullptr)
        signature = std::make_unique<Signature>(instruction.call(i)->signature());
      if (instruction.call_count() == 1) return absl::MakeConstSpan(signature.get(), 1);
      calls_.push_back(*signature);
    }
    return calls_;
  }

  void CheckExtras(const Instruction& instruction) {
    const Extras& extras = *instruction.extras();
    if (extras.result_accuracy.has_value() && !HasTrait(instruction.opcode(), kHasAccuracy)) {
      findings_.Add(instruction.loc(), "`{}` has `result_accuracy`, which `{}` does not take",
                    instruction.name(), instruction.opcode_text());
    }
    if (extras.sharding.has_value()) VerifySharding(context_, instruction);
    if (extras.origin.has_value()) VerifyOrigin(context_, instruction);
    if (context_.options.verify_instruction_name_unchanged) CheckName(instruction);
  }

  // `metadata={scheduling_name=…}` is the name that profiles know.
  void CheckName(const Instruction& instruction) {
    const std::string_view known = instruction.metadata().scheduling_name;
    const std::string_view name = instruction.name();
    if (known.empty() || known == name || name.find(".clone") != std::string_view::npos ||
        name.find(".remat") != std::string_view::npos)
      return;
    findings_.Add(instruction.loc(), "`{}` was renamed: its `scheduling_name` is `{}`", name,
                  known);
  }

  void CheckOneFloatWidth(const Instruction& instruction) {
    if (kTakesMixedFloats[static_cast<size_t>(instruction.opcode())]) {
      if (instruction.opcode() == Opcode::kReduceWindow) CheckParameterTypes(instruction);
      return;
    }
    ElementType type = ElementType::kTuple;
    bool mixed = false;
    for (const Instruction* operand : instruction.operands())
      CollectFloats(operand->shape(), type, mixed);
    if (mixed) {
      findings_.Add(instruction.loc(), "`{}` mixes floats of several widths: `{}` of {}",
                    instruction.name(), instruction.opcode_text(),
                    OperandShapes(instruction, false));
      findings_.NoteOperands(instruction);
    } else if (instruction.opcode() == Opcode::kReduce || instruction.opcode() == Opcode::kMap) {
      CheckParameterTypes(instruction);
    } else if (instruction.opcode() == Opcode::kRng &&
               instruction.operand(0)->shape().element_type() !=
                   instruction.shape().element_type()) {
      findings_.Add(instruction.loc(), "`{}` is declared `{}`, but draws between bounds `{}`",
                    instruction.name(), instruction.shape(), instruction.operand(0)->shape());
      findings_.NoteDefinition(*instruction.operand(0));
    }
  }

  void CheckParameterTypes(const Instruction& instruction) {
    const Computation& callee = *instruction.to_apply();
    for (int i = 0; i < std::min(instruction.operand_count(), callee.parameter_count()); ++i) {
      const ElementType passed = instruction.operand(i)->shape().element_type();
      const ElementType taken = callee.parameter(i)->shape().element_type();
      if (passed == taken) continue;
      findings_.Add(instruction.loc(),
                    "parameter {} of the `to_apply` computation `{}` has element type `{}`, but "
                    "operand `{}` has `{}`",
                    i, callee.name(), Text(taken), instruction.operand(i)->name(), Text(passed));
      return findings_.NoteDefinition(*callee.parameter(i));
    }
  }

  void CheckThread(const Instruction& instruction) {
    if (instruction.call_count() != 1) return;
    const bool applies = Info(instruction.opcode()).calls.names[0] == "to_apply" ||
                         instruction.opcode() == Opcode::kCustomCall;
    if (applies) CheckCalleeThread(context_, instruction, *instruction.call(0));
  }

  static bool IsAllReduce(Opcode opcode) { return kAllReduces.Has(opcode); }

  void CheckConstraint(const Instruction& all_reduce) {
    if (all_reduce_ == nullptr) all_reduce_ = &all_reduce;
    if (all_reduce.attrs<AllReduceAttrs>().constrain_layout ==
        all_reduce_->attrs<AllReduceAttrs>().constrain_layout)
      return;
    findings_.Add(all_reduce.loc(),
                  "of `{}` and `{}` only one has `constrain_layout`, expected all or none",
                  all_reduce_->name(), all_reduce.name());
    findings_.NoteDefinition(*all_reduce_);
  }

  const VerifyContext& context_;
  Findings& findings_;
  const bool looks_at_layouts_;
  bool has_buffers_ = false;
  std::vector<Shape> operands_;
  std::vector<Signature> calls_;
  absl::flat_hash_map<const Computation*, std::unique_ptr<Signature>> signatures_;
  const Instruction* all_reduce_ = nullptr;  // the first one
  // By hash: the last one seen; shapes repeat, and looking one up in a set costs more
  std::array<Shape, 256> sound_shapes_;
};

}  // namespace

void VerifyOps(const VerifyContext& context) {
  OpVerifier verifier(context);
  for (const Instruction* instruction : AllInstructions(context.module)) {
    verifier.Verify(*instruction);
    if (context.findings.full()) return;
  }
  if (verifier.has_buffers()) VerifyBuffers(context);
}

}  // namespace hlo::internal
