#include "passes/simplify/cse.h"

#include <algorithm>

#include "absl/container/flat_hash_map.h"
#include "lib/analysis/side_effects.h"
#include "lib/ir/compare.h"
#include "lib/support/hash.h"
#include "passes/util/frontend_attribute.h"
#include "passes/util/layout_copy.h"
#include "passes/util/origins.h"

namespace hlo {
namespace {

constexpr std::string_view kShardyKey = "xla.sdy.sharding";

class Finder {
 public:
  Finder(Computation& computation, PassContext& context, const CseOptions& options)
      : computation_(computation),
        context_(context),
        options_(options),
        effects_(context.analyses().Get<SideEffects>(computation.module())) {
    compare_.layout_sensitive = options.layout_sensitive;
    compare_.compare_frontend_attributes = false;
    compare_.compare_control_edges = false;
  }

  bool Run() {
    bool changed = MergeConstants();
    changed |= UnifyFusionOutputs();  // before merging: get-tuple-elements become equal
    changed |= MergeInstructions();
    changed |= UnifyIotaOperands();
    return changed;
  }

 private:
  // ---- constants ----

  bool MergeConstants() {
    // Shardings of constants tell apart nothing but the two sides of a domain.
    const bool has_domains = HasDomains();
    absl::flat_hash_map<uint64_t, std::vector<Instruction*>> seen;
    bool changed = false;
    for (Instruction* constant : computation_.instruction_vector()) {
      if (!constant->IsConstant() || constant->literal().is_elided()) continue;
      std::vector<Instruction*>& bucket = seen[constant->literal().Hash()];
      const auto same = absl::c_find_if(bucket, [&](const Instruction* other) {
        return SameShape(*other, *constant) && other->literal() == constant->literal() &&
               (!has_domains || SameSharding(*other, *constant));
      });
      if (same == bucket.end()) {
        bucket.push_back(constant);
      } else if (Removable(*constant) && context_.MayRewrite()) {
        Merge(constant, *same);
        changed = true;
      }
    }
    return changed;
  }

  bool HasDomains() const {
    for (const Instruction* instruction : computation_.instructions()) {
      if (instruction->opcode() == Opcode::kDomain) return true;
    }
    return false;
  }

  static bool SameSharding(const Instruction& a, const Instruction& b) {
    if (a.sharding() == nullptr || b.sharding() == nullptr) return a.sharding() == b.sharding();
    return *a.sharding() == *b.sharding();
  }

  bool SameShape(const Instruction& a, const Instruction& b) const {
    return options_.layout_sensitive ? a.shape() == b.shape() : Compatible(a.shape(), b.shape());
  }

  // ---- instructions with operands ----

  bool MergeInstructions() {
    absl::flat_hash_map<uint64_t, std::vector<Instruction*>> seen;
    bool changed = false;
    for (Instruction* instruction : computation_.PostOrder()) {
      if (instruction->is_dead() || !IsCandidate(*instruction)) continue;
      std::vector<Instruction*>& bucket = seen[HashOf(*instruction)];
      const auto same = absl::c_find_if(bucket, [&](const Instruction* other) {
        return !other->is_dead() && Equal(*other, *instruction);
      });
      if (same == bucket.end()) {
        bucket.push_back(instruction);
      } else if (context_.MayRewrite()) {
        Merge(instruction, *same);
        changed = true;
      }
    }
    return changed;
  }

  bool IsCandidate(const Instruction& instruction) {
    const bool pure_source =
        instruction.opcode() == Opcode::kPartitionId ||
        instruction.opcode() == Opcode::kReplicaId ||
        (instruction.opcode() == Opcode::kCustomCall &&
         FrontendAttribute(instruction, "_xla_cse_safe_zero_operand") == "true");
    if (instruction.operand_count() == 0 && !pure_source) return false;
    if (!FrontendAttribute(instruction, "MUST_FUSE").empty()) return false;
    // A chain goes on in one way; both halves of a pair are merged, or none.
    if (HasTrait(instruction.opcode(), kAsyncStart) || HasTrait(instruction.opcode(), kAsyncDone) ||
        instruction.opcode() == Opcode::kAsyncUpdate)
      return false;
    return Removable(instruction) && !effects_.Of(instruction);
  }

  bool Removable(const Instruction& instruction) const {
    return options_.ignore_control_dependencies || !instruction.has_control_edges();
  }

  // The number that stands for an operand: equal iotas have the same.
  static uint64_t OperandKey(const Instruction& operand) {
    if (operand.opcode() != Opcode::kIota) return operand.id();
    return HashMix(HashBytes(operand.shape().Text(/*with_layout=*/false)),
                   operand.attrs_ptr().Hash());
  }

  // What the computation is made of, in any order. Asked once for each: most are called often.
  uint64_t HashOfBody(const Computation& body) {
    const auto [at, is_new] = body_hashes_.try_emplace(&body, 0);
    if (!is_new) return at->second;
    uint64_t hash = 0;
    for (const Instruction* instruction : body.instructions())
      hash += HashMix(static_cast<uint64_t>(instruction->opcode()),
                      instruction->IsConstant() ? instruction->literal().Hash()
                                                : instruction->attrs_ptr().Hash());
    return at->second = hash;
  }

  uint64_t HashOf(const Instruction& instruction) {
    uint64_t hash =
        HashMix(static_cast<uint64_t>(instruction.opcode()), instruction.attrs_ptr().Hash());
    hash = HashMix(hash, HashBytes(instruction.shape().Text(/*with_layout=*/false)));
    for (const Computation* callee : instruction.calls()) hash = HashMix(hash, HashOfBody(*callee));
    if (IsCommutative(instruction.opcode()) && instruction.operand_count() == 2) {
      const uint64_t a = OperandKey(*instruction.operand(0));
      const uint64_t b = OperandKey(*instruction.operand(1));
      return HashMix(HashMix(hash, std::min(a, b)), std::max(a, b));
    }
    for (const Instruction* operand : instruction.operands())
      hash = HashMix(hash, OperandKey(*operand));
    return hash;
  }

  bool SameOperand(const Instruction* a, const Instruction* b) const {
    if (a == b) return true;
    return a->opcode() == Opcode::kIota && b->opcode() == Opcode::kIota && SameShape(*a, *b) &&
           a->attrs_ptr() == b->attrs_ptr();
  }

  bool Equal(const Instruction& a, const Instruction& b) const {
    if (!SameNode(a, b, compare_)) return false;
    if (FrontendAttribute(a, kShardyKey) != FrontendAttribute(b, kShardyKey)) return false;
    bool same = true;
    for (int i = 0; i < a.operand_count() && same; ++i)
      same = SameOperand(a.operand(i), b.operand(i));
    if (same) return true;
    return IsCommutative(a.opcode()) && a.operand_count() == 2 &&
           SameOperand(a.operand(0), b.operand(1)) && SameOperand(a.operand(1), b.operand(0));
  }

  void Merge(Instruction* instruction, Instruction* same) {
    context_.Count("merged");
    context_.Passed(*instruction, "`{}` is the same", same->name());
    const std::vector<Instruction*> operands = instruction->operand_vector();
    // Edges that do not count go with it: handed on they might lead in a circle.
    if (options_.ignore_control_dependencies) instruction->DropControlEdges();
    PassOnOrigin(*instruction, same);
    computation_.Replace(instruction, CopyIfLayoutIsRead(same, *instruction));
    for (Instruction* operand : operands) {
      if (!operand->is_dead() && !operand->has_uses() && !operand->has_control_edges() &&
          !effects_.Of(*operand)) {
        computation_.RemoveUnused(operand);
      }
    }
  }

  // ---- within one instruction ----

  // tuple(iota, iota')  =>  tuple(iota, iota)
  bool UnifyIotaOperands() {
    bool changed = false;
    for (Instruction* instruction : computation_.instruction_vector()) {
      if (instruction->is_dead()) continue;
      std::vector<Instruction*> iotas;
      for (int i = 0; i < instruction->operand_count(); ++i) {
        Instruction* operand = instruction->operand(i);
        if (operand->opcode() != Opcode::kIota) continue;
        const auto same = absl::c_find_if(
            iotas, [&](const Instruction* other) { return SameOperand(other, operand); });
        if (same == iotas.end()) {
          iotas.push_back(operand);
        } else if (*same != operand && context_.MayRewrite()) {
          instruction->ReplaceOperand(i, *same);
          if (!operand->has_uses() && Removable(*operand)) computation_.RemoveUnused(operand);
          context_.Count("iota operands");
          changed = true;
        }
      }
    }
    return changed;
  }

  // fusion -> (x, y, x): get-tuple-element of output 2 reads output 0
  bool UnifyFusionOutputs() {
    bool changed = false;
    for (Instruction* gte : computation_.instruction_vector()) {
      if (gte->opcode() != Opcode::kGetTupleElement || !gte->operand(0)->IsFusion()) continue;
      const Instruction* root = gte->operand(0)->fused_computation()->root();
      if (root->opcode() != Opcode::kTuple) continue;
      const int64_t index = gte->tuple_index();
      for (int64_t first = 0; first < index; ++first) {
        if (root->operand(static_cast<int>(first)) != root->operand(static_cast<int>(index)))
          continue;
        if (!context_.MayRewrite()) break;
        gte->SetAttrs(GetTupleElementAttrs{first});
        context_.Count("fusion outputs");
        changed = true;
        break;
      }
    }
    return changed;
  }

  Computation& computation_;
  PassContext& context_;
  const CseOptions& options_;
  CompareOptions compare_;
  SideEffects& effects_;
  absl::flat_hash_map<const Computation*, uint64_t> body_hashes_;
};

}  // namespace

absl::StatusOr<bool> Cse::RunOnComputation(Computation& computation, PassContext& context) {
  return Finder(computation, context, options_).Run();
}

HLO_DEFINE_PASS(Cse)

}  // namespace hlo
