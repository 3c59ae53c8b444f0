#include "passes/simplify/reshape_mover.h"

#include "absl/container/flat_hash_set.h"
#include "lib/ir/elementwise.h"
#include "passes/rewrite.h"

namespace hlo {
namespace {

// Reshapes and transposes of one computation.
class Rearranges {
 public:
  Rearranges(Computation& computation, const ReshapeMoverOptions& options, PassContext& context)
      : computation_(computation), options_(options), context_(context) {}

  absl::StatusOr<bool> Move() {
    Collect();
    KeepThoseWithAllUsers();
    bool changed = false;
    for (Instruction* candidate : candidates_) {
      if (!chosen_.contains(candidate)) continue;
      if (!context_.MayRewrite()) return changed;
      context_.Passed(*candidate, "the reshapes of its operands move after it");
      RETURN_IF_ERROR(Sink(candidate));
      context_.Count("moved");
      changed = true;
    }
    return changed;
  }

 private:
  static bool IsRearrange(const Instruction& x) {
    return (x.opcode() == Opcode::kReshape || x.opcode() == Opcode::kTranspose) &&
           !x.shape().has_dynamic_dims() && !x.operand(0)->shape().has_dynamic_dims() &&
           !x.has_control_edges();
  }
  static const DimVec& Permutation(const Instruction& transpose) {
    return transpose.attrs<TransposeAttrs>().dimensions;
  }
  static bool DoesNothing(const Instruction& rearrange) {
    if (rearrange.opcode() == Opcode::kReshape)
      return SameDimensions(rearrange.shape(), rearrange.operand(0)->shape());
    const DimVec& permutation = Permutation(rearrange);
    return absl::c_is_sorted(permutation);
  }

  // Whether `x`, which has the result's dimensions, can be brought into those of the operand of
  // `rearrange` for nothing.
  bool IsCheap(const Instruction& x, const Instruction& rearrange) const {
    if (DoesNothing(rearrange) || x.IsConstant()) return true;
    if (x.opcode() == Opcode::kRng) return x.has_one_user();
    if (x.opcode() != Opcode::kBroadcast || x.shape().has_dynamic_dims()) return false;
    const DimVec& dims = x.attrs<BroadcastAttrs>().dimensions;
    if (!absl::c_is_sorted(dims)) return false;
    const Shape source = x.operand(0)->shape();
    if (rearrange.opcode() == Opcode::kReshape) {
      if (source.IsScalar()) return true;
      if (!options_.reshape_of_1d_broadcast_is_cheap) return false;
      const auto larger = absl::c_count_if(source.dims(), [](int64_t size) { return size != 1; });
      return larger <= 1 || LeavesAlone(rearrange, dims);
    }
    DimVec moved;
    for (int64_t dim : dims) {
      if (dim >= static_cast<int64_t>(Permutation(rearrange).size())) return false;
      moved.push_back(Permutation(rearrange)[static_cast<size_t>(dim)]);
    }
    return absl::c_is_sorted(moved);
  }

  // Whether each of the result's `dims` is one dimension of the operand of `reshape`.
  static bool LeavesAlone(const Instruction& reshape, const DimVec& dims) {
    const auto factors = CommonFactors(reshape.shape().dims(), reshape.operand(0)->shape().dims());
    return absl::c_all_of(dims, [&](int64_t dim) {
      for (size_t i = 0; i + 1 < factors.size(); ++i) {
        if (factors[i].first == dim && factors[i + 1].first == dim + 1 &&
            factors[i + 1].second == factors[i].second + 1)
          return true;
      }
      return false;
    });
  }

  // Where types are lenient, it may be declared with floats of another width than its operand's.
  static bool ConvertsBesides(const Instruction& rearrange) {
    return rearrange.shape().element_type() != rearrange.operand(0)->shape().element_type();
  }

  static bool AreAlike(const Instruction& a, const Instruction& b) {
    if (a.opcode() != b.opcode() || !SameDimensions(a.shape(), b.shape())) return false;
    if (a.opcode() == Opcode::kTranspose) return Permutation(a) == Permutation(b);
    return SameDimensions(a.operand(0)->shape(), b.operand(0)->shape());
  }

  // The first operand that is a rearrangement worth moving.
  const Instruction* FirstOf(const Instruction& op) const {
    for (const Instruction* operand : op.operands()) {
      if (IsRearrange(*operand) && !IsCheap(*operand->operand(0), *operand)) return operand;
    }
    return nullptr;
  }

  bool IsCandidate(const Instruction& op) const {
    if (!WorksByElement(op) || !op.shape().IsArray() || op.shape().has_dynamic_dims()) return false;
    const Instruction* first = FirstOf(op);
    if (first == nullptr || !SameDimensions(first->shape(), op.shape())) return false;
    for (const Instruction* operand : op.operands()) {
      if (!SameDimensions(operand->shape(), op.shape())) return false;
      if (IsRearrange(*operand) && ConvertsBesides(*operand)) return false;
      if (IsRearrange(*operand) ? !AreAlike(*operand, *first) : !IsCheap(*operand, *first))
        return false;
    }
    return true;
  }

  void Collect() {
    for (Instruction* op : computation_.PostOrder()) {
      if (!IsCandidate(*op)) continue;
      candidates_.push_back(op);
      chosen_.insert(op);
    }
  }

  // A rearrangement that somebody else still reads is not worth moving.
  void KeepThoseWithAllUsers() {
    for (bool changed = true; changed;) {
      changed = false;
      for (const Instruction* candidate : candidates_) {
        if (!chosen_.contains(candidate)) continue;
        for (const Instruction* operand : candidate->operands()) {
          if (!IsRearrange(*operand)) continue;
          const bool all =
              !operand->is_root() && absl::c_all_of(operand->uses(), [&](const Use& use) {
                return chosen_.contains(use.user);
              });
          if (all) continue;
          for (const Use& use : operand->uses()) chosen_.erase(use.user);
          changed = true;
          break;
        }
      }
    }
  }

  // `x` in the dimensions of the operand of `rearrange`. What is made says of itself what `x` does.
  static Instruction* Undo(Builder& builder, Instruction* x, const Instruction& rearrange) {
    const auto made_of_x = [&](Instruction* made) {
      PassOnFrontendAttributes(*x, made);
      return made;
    };
    builder.set_origin(x);
    const Shape wanted = rearrange.operand(0)->shape();
    if (rearrange.opcode() == Opcode::kTranspose)
      return made_of_x(builder.Transpose(x, InversePermutation(Permutation(rearrange))));
    for (Instruction* inner = x; inner->opcode() == Opcode::kReshape;) {
      inner = inner->operand(0);
      if (SameDimensions(inner->shape(), wanted)) return inner;
    }
    return SameDimensions(x->shape(), wanted) ? x : made_of_x(builder.Reshape(x, wanted.dims()));
  }

  absl::Status Sink(Instruction* op) {
    const uint32_t first_new = computation_.module().id_limit();
    const Instruction& rearrange = *FirstOf(*op);
    Builder builder(&computation_);
    std::vector<Instruction*> operands;
    for (Instruction* operand : op->operands())
      operands.push_back(Undo(builder, operand, rearrange));
    const Shape shape = rearrange.operand(0)->shape().WithElementType(op->shape().element_type());
    Instruction* moved = computation_.AddClone(*op, shape, operands);
    moved->clear_sharding();
    moved->set_loc(op->loc());
    builder.set_origin(op);
    Instruction* result =
        builder.OpWithShape(rearrange.opcode(), op->shape(), {moved}, rearrange.attrs_ptr());
    RETURN_IF_ERROR(builder.status());
    const std::vector<Instruction*> before = op->operand_vector();
    if (context_.rule_trace()) context_.rule_trace()(context_.pass(), *op, *result);
    ReplaceKeepingExtras(op, result, first_new);
    for (Instruction* operand : before) {
      if (!operand->is_dead() && !operand->is_used() && !operand->has_control_edges() &&
          operand->opcode() != Opcode::kParameter && !operand->HasSideEffect())
        computation_.RemoveUnused(operand);
    }
    return absl::OkStatus();
  }

  Computation& computation_;
  const ReshapeMoverOptions& options_;
  PassContext& context_;
  std::vector<Instruction*> candidates_;  // in post-order
  absl::flat_hash_set<const Instruction*> chosen_;
};

}  // namespace

absl::StatusOr<bool> ReshapeMover::Run(Module& module, PassContext& context) {
  return ChangesAny(context.NonFusionComputations(module), [&](Computation& computation) {
    return Rearranges(computation, options_, context).Move();
  });
}

HLO_DEFINE_PASS(ReshapeMover)

}  // namespace hlo
