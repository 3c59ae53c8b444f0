// Rules of single instructions, on top of the opcode table and the shape rules (lib/ops):
//
//   every opcode     has the attribute struct, the number of operands and the called computations of its table row
//   shapes           sizes are not negative, layouts are permutations; no dimension is unbounded
//   results          the declared shape is the inferred one; dynamic dimensions match static ones; floats of different width
//                    are tolerated with allow_mixed_precision, but for opcodes that pass values through unchanged
//   operands         without allow_mixed_precision have floats of one width, but for opcodes that take several
//   layouts          with layout_sensitive: those opcodes' result layouts are exact, opcodes that cannot change the layout keep that
//                    of operands of equal rank, a bitcast keeps the number of bytes
//   result_accuracy  stands only on opcodes that have one
//   sharding         fits the shape and the number of partitions
//   origin           is a tree of the shape's form
//   all-reduce       all constrain their layout or none does
//   buffers          have one user that writes
#include <algorithm>
#include <array>
#include <memory>

#include "absl/container/flat_hash_map.h"
#include "lib/ir/verify_internal.h"
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
constexpr auto kStrict = SetOf(
    {Opcode::kBitcast, Opcode::kCall, Opcode::kConditional, Opcode::kConstant, Opcode::kCopyDone,
     Opcode::kCopyStart, Opcode::kCustomCall, Opcode::kGetTupleElement, Opcode::kInfeed,
     Opcode::kOptimizationBarrier, Opcode::kOutfeed, Opcode::kParameter, Opcode::kRecv,
     Opcode::kRecvDone, Opcode::kSend, Opcode::kSendDone, Opcode::kTuple, Opcode::kWhile});

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

// Opcodes whose result may be laid out unlike their operands.
constexpr auto kChangesLayout = SetOf({Opcode::kAsyncStart,
                                       Opcode::kAsyncUpdate,
                                       Opcode::kAsyncDone,
                                       Opcode::kBatchNormGrad,
                                       Opcode::kBatchNormInference,
                                       Opcode::kBatchNormTraining,
                                       Opcode::kBitcast,
                                       Opcode::kBroadcast,
                                       Opcode::kCall,
                                       Opcode::kCollectivePermuteStart,
                                       Opcode::kCollectivePermuteDone,
                                       Opcode::kConditional,
                                       Opcode::kConstant,
                                       Opcode::kConvolution,
                                       Opcode::kCopy,
                                       Opcode::kCopyStart,
                                       Opcode::kCopyDone,
                                       Opcode::kCustomCall,
                                       Opcode::kDomain,
                                       Opcode::kDot,
                                       Opcode::kDynamicReshape,
                                       Opcode::kFusion,
                                       Opcode::kGather,
                                       Opcode::kGetDimensionSize,
                                       Opcode::kGetTupleElement,
                                       Opcode::kInfeed,
                                       Opcode::kIota,
                                       Opcode::kOutfeed,
                                       Opcode::kParameter,
                                       Opcode::kPartitionId,
                                       Opcode::kRaggedDot,
                                       Opcode::kRecv,
                                       Opcode::kRecvDone,
                                       Opcode::kReduce,
                                       Opcode::kReplicaId,
                                       Opcode::kReshape,
                                       Opcode::kRng,
                                       Opcode::kRngBitGenerator,
                                       Opcode::kRngGetAndUpdateState,
                                       Opcode::kScaledDot,
                                       Opcode::kSend,
                                       Opcode::kSendDone,
                                       Opcode::kAfterAll,
                                       Opcode::kTranspose,
                                       Opcode::kTuple});

struct RuleRow {
  Opcode opcode;
  OpcodeRule rule;
};
constexpr RuleRow kRuleRows[] = {
    {Opcode::kFusion, VerifyFusion},
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

// `origin={}` says nothing.
bool IsEmpty(const OriginalValue::Node& tree) { return tree.is_tuple && tree.children.empty(); }

bool SameForm(Shape shape, const OriginalValue::Node& node) {
  if (shape.IsTuple() != node.is_tuple) return false;
  if (!node.is_tuple) return true;
  if (shape.elements().size() != node.children.size()) return false;
  for (size_t i = 0; i < node.children.size(); ++i) {
    if (!SameForm(shape.elements()[i], node.children[i])) return false;
  }
  return true;
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
      : context_(context), findings_(context.findings) {}

  void Verify(const Instruction& instruction) {
    if (!CheckAttributes(instruction) || !CheckShape(instruction) || !CheckResult(instruction))
      return;
    if (instruction.extras() != nullptr) CheckExtras(instruction);
    if (!context_.options.allow_mixed_precision) CheckOneFloatWidth(instruction);
    if (context_.options.layout_sensitive) CheckLayouts(instruction);
    if (instruction.shape().IsBuffer()) CheckOneWriter(instruction);
    if (IsAllReduce(instruction.opcode())) CheckConstraint(instruction);
    if (const OpcodeRule rule = kRules[static_cast<size_t>(instruction.opcode())])
      rule(context_, instruction);
  }

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
    if (!HasUnboundedDimension(shape)) {
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
    agreement.float_width = kStrict[opcode] || !context_.options.allow_mixed_precision;
    if (Agree(instruction.shape(), *inferred, agreement)) {
      if (!kStrict[opcode] || !context_.options.layout_sensitive) return true;
      agreement.layout = true;
      agreement.layout_details = !kOrderOnly[opcode];
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
    if (extras.sharding.has_value()) CheckSharding(instruction, *extras.sharding);
    if (extras.origin.has_value() && !extras.origin->synthetic_call &&
        !IsEmpty(extras.origin->tree) && !SameForm(instruction.shape(), extras.origin->tree)) {
      findings_.Add(instruction.loc(),
                    "the tree of `origin` of `{}` differs from that of shape `{}`",
                    instruction.name(), instruction.shape());
    }
  }

  void CheckSharding(const Instruction& instruction, const Sharding& sharding) {
    const Shape shape = instruction.shape();
    if (!sharding.is_tuple) {
      if (!shape.IsTuple()) CheckLeaf(instruction, shape, sharding.leaves[0]);
      return;
    }
    if (!shape.IsTuple()) {
      return findings_.Add(instruction.loc(), "`{}` has a tuple as sharding, but its shape is `{}`",
                           instruction.name(), shape);
    }
    std::vector<Shape> leaves;
    ForEachLeaf(shape, [&leaves](Shape leaf, const ShapeIndex&) { leaves.push_back(leaf); });
    if (leaves.empty() && sharding.leaves.size() == 1) return;  // an empty tuple may have one
    if (sharding.leaves.size() != leaves.size()) {
      return findings_.Add(instruction.loc(),
                           "the sharding of `{}` has {} leaves, but its shape `{}` has {}",
                           instruction.name(), sharding.leaves.size(), shape, leaves.size());
    }
    for (size_t i = 0; i < leaves.size(); ++i)
      CheckLeaf(instruction, leaves[i], sharding.leaves[i]);
  }

  void CheckLeaf(const Instruction& instruction, Shape shape, const Sharding::Leaf& leaf) {
    if (const auto* named = std::get_if<NamedSharding>(&leaf)) {
      if (shape.IsArray() && !named->dims.empty() &&
          static_cast<int>(named->dims.size()) != shape.rank()) {
        findings_.Add(instruction.loc(),
                      "the sharding of `{}` has {} dimensions, but `{}` has rank {}",
                      instruction.name(), named->dims.size(), shape, shape.rank());
      }
      return;
    }
    const TiledSharding& tiled = std::get<TiledSharding>(leaf);
    const int64_t devices = context_.module.config().num_partitions;
    if (tiled.kind == TiledSharding::Kind::kMaximal && devices > 1 &&
        tiled.maximal_device >= devices) {
      findings_.Add(instruction.loc(),
                    "the sharding of `{}` names device {}, but there are {} partitions",
                    instruction.name(), tiled.maximal_device, devices);
    }
    if (tiled.kind != TiledSharding::Kind::kTiled) return;
    if (shape.IsArray() && tiled.data_rank() != shape.rank()) {
      return findings_.Add(instruction.loc(),
                           "the sharding of `{}` tiles {} dimensions, but `{}` has rank {}",
                           instruction.name(), tiled.data_rank(), shape, shape.rank());
    }
    const std::optional<int64_t> tiles = CheckedProduct(tiled.tile_dims);
    if (devices > 1 && (!tiles.has_value() || *tiles > devices)) {
      findings_.Add(instruction.loc(), "the sharding of `{}` has more tiles than the {} partitions",
                    instruction.name(), devices);
    }
  }

  void CheckOneFloatWidth(const Instruction& instruction) {
    if (kTakesMixedFloats[static_cast<size_t>(instruction.opcode())]) return;
    ElementType type = ElementType::kTuple;
    bool mixed = false;
    for (const Instruction* operand : instruction.operands())
      CollectFloats(operand->shape(), type, mixed);
    if (!mixed) return;
    findings_.Add(instruction.loc(), "`{}` mixes floats of several widths: `{}` of {}",
                  instruction.name(), instruction.opcode_text(), OperandShapes(instruction, false));
    findings_.NoteOperands(instruction);
  }

  void CheckLayouts(const Instruction& instruction) {
    const Shape shape = instruction.shape();
    if (instruction.opcode() == Opcode::kBitcast) {
      const Shape operand = instruction.operand(0)->shape();
      if (shape.byte_size() != operand.byte_size()) {
        findings_.Add(instruction.loc(),
                      "bitcast `{}` from `{}` to `{}` changes the number of bytes from {} to {}",
                      instruction.name(), operand, shape, operand.byte_size(), shape.byte_size());
      }
    }
    if (instruction.opcode() == Opcode::kScan &&
        instruction.attrs<ScanAttrs>().is_associative != true) {
      findings_.Add(instruction.loc(),
                    "scan `{}` is not associative; it is expanded before layouts are assigned",
                    instruction.name());
    }
    if (kChangesLayout[static_cast<size_t>(instruction.opcode())] || !shape.IsArray() ||
        !shape.has_layout())
      return;
    for (const Instruction* operand : instruction.operands()) {
      const Shape from = operand->shape();
      if (!from.IsArray() || from.rank() != shape.rank() || !from.has_layout()) continue;
      if (from.layout().minor_to_major == shape.layout().minor_to_major) continue;
      findings_.Add(
          instruction.loc(),
          "`{}` has shape `{:l}`, but `{}` cannot change the layout of operand `{}`, `{:l}`",
          instruction.name(), shape, instruction.opcode_text(), operand->name(), from);
      return findings_.NoteDefinition(*operand);
    }
  }

  // Tuples and their elements only pass a buffer on; every other user writes.
  void CheckOneWriter(const Instruction& buffer) {
    const Instruction* writer = nullptr;
    for (const Instruction* user : buffer.users()) {
      if (user->opcode() == Opcode::kTuple || user->opcode() == Opcode::kGetTupleElement) continue;
      if (writer == nullptr) {
        writer = user;
        continue;
      }
      findings_.Add(buffer.loc(), "buffer `{}` is written by both `{}` and `{}`", buffer.name(),
                    writer->name(), user->name());
      return findings_.NoteDefinition(*user);
    }
  }

  static bool IsAllReduce(Opcode opcode) {
    return opcode == Opcode::kAllReduce || opcode == Opcode::kAllReduceStart;
  }

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
  for (const Computation* computation : context.module.computations()) {
    for (const Instruction* instruction : computation->instructions()) {
      verifier.Verify(*instruction);
      if (context.findings.full()) return;
    }
  }
}

}  // namespace hlo::internal
