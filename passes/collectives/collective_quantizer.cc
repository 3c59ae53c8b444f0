#include "passes/collectives/collective_quantizer.h"

#include <optional>

#include "lib/analysis/replication.h"
#include "lib/match/pattern.h"
#include "passes/collectives/partition_classes.h"
#include "passes/rewrite.h"

namespace hlo {
namespace {

constexpr OpcodeSet kQuantized = {Opcode::kAllGather, Opcode::kAllToAll,
                                  Opcode::kCollectiveBroadcast, Opcode::kCollectivePermute};
constexpr OpcodeSet kKeepsValues = {Opcode::kBitcast, Opcode::kCopy, Opcode::kReshape,
                                    Opcode::kSlice};

bool IsCollective(const Instruction& instruction) {
  return kQuantized.Has(instruction.opcode()) && instruction.operand_count() == 1 &&
         instruction.shape().IsArray() && !instruction.has_control_edges() &&
         instruction.shape().element_type() == instruction.operand(0)->shape().element_type();
}

// A conversion, the scale that goes with it, and what stands between them and the collective.
struct Conversion {
  Instruction* convert = nullptr;
  Instruction* scaled = nullptr;      // multiply or divide; null: only converted
  Instruction* scale = nullptr;       // the broadcast of a scalar
  Instruction* clamp = nullptr;       // to a narrower type, with a scale
  std::vector<Instruction*> between;  // the first that is computed first
};

// Of an element.
int Width(const Instruction& value) { return ByteSize(value.shape().element_type()); }
bool Widens(const Instruction& x) {
  return x.opcode() == Opcode::kConvert && Width(x) > Width(*x.operand(0));
}
bool Narrows(const Instruction& x) {
  return x.opcode() == Opcode::kConvert && Width(x) < Width(*x.operand(0));
}

bool IsScalarBroadcast(const Instruction& x) {
  return x.opcode() == Opcode::kBroadcast && x.operand(0)->shape().rank() == 0;
}

// Which operand of `scaled` is the value, the other being the scale; -1: neither.
int ValueOperand(const Instruction& scaled) {
  if (scaled.opcode() != Opcode::kMultiply && scaled.opcode() != Opcode::kDivide) return -1;
  for (const Instruction* operand : scaled.operands()) {
    if (operand->shape().element_type() != scaled.shape().element_type()) return -1;
  }
  if (IsScalarBroadcast(*scaled.operand(1))) return 0;
  return scaled.opcode() == Opcode::kMultiply && IsScalarBroadcast(*scaled.operand(0)) ? 1 : -1;
}

bool KeepsType(const Instruction& x) {
  return kKeepsValues.Has(x.opcode()) &&
         x.shape().element_type() == x.operand(0)->shape().element_type();
}

// What makes `value` of something narrower.
std::optional<Conversion> WideningOf(Instruction* value) {
  Conversion found;
  while (KeepsType(*value)) {
    found.between.push_back(value);
    value = value->operand(0);
  }
  absl::c_reverse(found.between);
  if (const int at = ValueOperand(*value); at >= 0) {
    found.scaled = value;
    found.scale = value->operand(1 - at);
    value = value->operand(at);
  }
  if (!Widens(*value)) return std::nullopt;
  found.convert = value;
  return found;
}

// What makes something narrower of `value`, which nothing else reads.
std::optional<Conversion> NarrowingOf(Instruction* value) {
  Conversion found;
  const auto only_user = [](const Instruction& x) {
    return x.uses().size() == 1 && !x.is_root() ? x.uses()[0].user : nullptr;
  };
  Instruction* user = only_user(*value);
  while (user != nullptr && KeepsType(*user)) {
    found.between.push_back(user);
    value = user;
    user = only_user(*user);
  }
  if (user == nullptr) return std::nullopt;
  if (const int at = ValueOperand(*user); at >= 0 && user->operand(at) == value) {
    found.scaled = user;
    found.scale = user->operand(1 - at);
    found.clamp = only_user(*user);
    if (found.clamp == nullptr ||
        !Match(found.clamp, m::Clamp(m::Broadcast(m::ConstantScalar()), m::Same(&found.scaled),
                                     m::Broadcast(m::ConstantScalar()))))
      return std::nullopt;
    user = only_user(*found.clamp);
    if (user == nullptr) return std::nullopt;
  }
  if (!Narrows(*user) || user->users().size() > 1) return std::nullopt;
  found.convert = user;
  return found;
}

class Quantizer {
 public:
  Quantizer(Module& module, PassContext& context)
      : module_(module),
        context_(context),
        partitions_(context.analyses().Get<Values>(module), Replication::Across::kPartitions) {}

  // Whether something moved.
  bool Visit(Instruction* collective) {
    const auto widening = WideningOf(collective->operand(0));
    if (widening && IsSame(*widening, *collective)) {
      if (!context_.MayRewrite()) return false;
      context_.Passed(*collective, "comes before `{}`", widening->convert->name());
      Widen(collective, *widening);
      context_.Count("moved");
      return true;
    }
    const auto narrowing = NarrowingOf(collective);
    if (!narrowing || !IsSame(*narrowing, *collective) || !context_.MayRewrite()) return false;
    context_.Passed(*collective, "comes after `{}`", narrowing->convert->name());
    Narrow(collective, *narrowing);
    context_.Count("moved");
    return true;
  }

 private:
  // Whether the devices that take part in `collective` together have the same scale.
  bool IsSame(const Conversion& conversion, const Instruction& collective) const {
    if (conversion.scale == nullptr) return true;
    const ModuleConfig& config = module_.config();
    if (config.replica_count > 1) return false;
    if (config.num_partitions == 1) return true;
    return PartitionClasses(module_, partitions_)
        .IsSameInGroups(*conversion.scale->operand(0), collective);
  }

  // A copy with other operands, of the dimensions of `like` and its own element type.
  static Instruction* Again(const Instruction& x, Shape like,
                            const std::vector<Instruction*>& operands) {
    return x.parent()->AddClone(x, like.WithElementType(x.shape().element_type()), operands);
  }

  // `between` after `x`, in the element type of `x`.
  static Instruction* Applied(const std::vector<Instruction*>& between, Instruction* x) {
    for (const Instruction* step : between)
      x = step->parent()->AddClone(*step, step->shape().WithElementType(x->shape().element_type()),
                                   {{x}});
    return x;
  }

  static Instruction* Scaled(const Conversion& c, Instruction* value) {
    Instruction* const scale = Again(*c.scale, value->shape(), {c.scale->operand(0)});
    return Again(*c.scaled, value->shape(), {value, scale});
  }

  void Widen(Instruction* collective, const Conversion& c) {
    const uint32_t first_new = module_.id_limit();
    Instruction* const narrow = Applied(c.between, c.convert->operand(0));
    Instruction* moved = collective->parent()->AddClone(
        *collective, collective->shape().WithElementType(narrow->shape().element_type()),
        {{narrow}});
    moved = Again(*c.convert, moved->shape(), {moved});
    if (c.scaled != nullptr) moved = Scaled(c, moved);
    Instruction* const wide = collective->operand(0);
    ReplaceKeepingExtras(collective, moved, first_new);
    if (!wide->is_dead() && !wide->is_used()) wide->parent()->RemoveUnused(wide);
  }

  void Narrow(Instruction* collective, const Conversion& c) {
    const uint32_t first_new = module_.id_limit();
    Instruction* value = collective->operand(0);
    const Shape shape = value->shape();
    if (c.scaled != nullptr) {
      value = Scaled(c, value);
      const auto bound = [&](int i) {
        return Again(*c.clamp->operand(i), shape, {c.clamp->operand(i)->operand(0)});
      };
      value = Again(*c.clamp, shape, {bound(0), value, bound(2)});
    }
    value = Again(*c.convert, shape, {value});
    value = collective->parent()->AddClone(
        *collective, collective->shape().WithElementType(value->shape().element_type()), {{value}});
    Instruction* const wide = c.convert->operand(0);
    ReplaceKeepingExtras(c.convert, Applied(c.between, value), first_new);
    // A collective with a channel has effects, which the new one has now.
    for (Instruction* const old : {wide, collective}) {
      if (!old->is_dead() && !old->is_used()) old->parent()->RemoveUnused(old);
    }
  }

  Module& module_;
  PassContext& context_;
  Replication partitions_;
};

}  // namespace

absl::StatusOr<bool> CollectiveQuantizer::Run(Module& module, PassContext& context) {
  const std::vector<Computation*> computations = context.NonFusionComputations(module, kQuantized);
  if (computations.empty()) return false;
  Quantizer quantizer(module, context);
  bool changed = false;
  for (Computation* computation : computations) {
    for (Instruction* instruction : computation->PostOrder()) {
      if (!instruction->is_dead() && IsCollective(*instruction))
        changed |= quantizer.Visit(instruction);
    }
  }
  return changed;
}

HLO_DEFINE_PASS(CollectiveQuantizer)

}  // namespace hlo
