#include "passes/simplify/scatter_slice_simplifier.h"

#include <optional>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "passes/rewrite.h"

namespace hlo {
namespace {

// Where an instruction stands among those of its computation, operands first.
using Positions = absl::flat_hash_map<const Instruction*, size_t>;

// What reads a scatter, and how much of it.
struct ScatterReaders {
  std::vector<Instruction*> between;  // operands first
  std::vector<Instruction*> slices;
  std::vector<int64_t> sizes;
};

bool CutsEnds(const Instruction& slice) {
  const SliceRanges& ranges = slice.attrs<SliceAttrs>().slice;
  return absl::c_all_of(ranges, [](const SliceRange& r) { return r.start == 0 && r.stride == 1; });
}

// Whether it can be done on less: each element of the result is made of elements at its place.
bool IsBetween(const Instruction& user, Shape scattered) {
  if (user.is_root() || user.has_control_edges() || !user.has_uses() || !user.shape().IsArray() ||
      user.shape().has_dynamic_dims())
    return false;
  if (user.opcode() == Opcode::kGetTupleElement) return true;
  return IsElementwise(user.opcode()) && SameDimensions(user.shape(), scattered);
}

std::optional<ScatterReaders> FindReaders(Instruction* scatter, const Positions& positions) {
  const Shape scattered = scatter->operand(0)->shape();
  ScatterReaders readers;
  absl::flat_hash_set<const Instruction*> seen;
  std::vector<Instruction*> pending = {scatter};
  while (!pending.empty()) {
    const std::vector<Instruction*> users = pending.back()->users();
    pending.pop_back();
    for (Instruction* user : users) {
      if (!seen.insert(user).second) continue;
      if (user->opcode() == Opcode::kSlice) {
        const ElementType type = user->operand(0)->shape().element_type();
        if (!CutsEnds(*user) || user->shape().element_type() != type) return std::nullopt;
        if (readers.slices.empty()) {
          readers.sizes.assign(user->shape().dims().begin(), user->shape().dims().end());
        } else if (!SameDimensions(user->shape(), readers.slices.front()->shape())) {
          return std::nullopt;
        }
        readers.slices.push_back(user);
      } else if (IsBetween(*user, scattered) && positions.contains(user)) {
        readers.between.push_back(user);
        pending.push_back(user);
      } else {
        return std::nullopt;
      }
    }
  }
  absl::c_sort(readers.between, [&](const Instruction* a, const Instruction* b) {
    return positions.at(a) < positions.at(b);
  });
  return readers;
}

bool HasDim(const DimVec& dims, int64_t dim) { return absl::c_linear_search(dims, dim); }

// How far an update extends over each dimension of the result; 0 where indices have it, too.
std::vector<int64_t> UpdateSizes(const Instruction& scatter) {
  const auto& attrs = scatter.attrs<ScatterAttrs>();
  const int arrays = scatter.operand_count() / 2;
  const Shape update = scatter.operand(arrays + 1)->shape();
  std::vector<int64_t> sizes;
  size_t next = 0;
  for (int64_t d = 0; d < scatter.operand(0)->shape().rank(); ++d) {
    if (HasDim(attrs.inserted_window_dims, d)) {
      sizes.push_back(1);
    } else if (HasDim(attrs.input_batching_dims, d) || next == attrs.update_window_dims.size()) {
      sizes.push_back(0);  // also where the lists overlap, so that a dimension is in none
    } else {
      sizes.push_back(update.dim(static_cast<int>(attrs.update_window_dims[next++])));
    }
  }
  return sizes;
}

// Whether no update that is inside of the whole is half inside of what is read of it, and less than
// the whole is read.
bool CanBeCut(const Instruction& scatter, const std::vector<int64_t>& sizes) {
  const auto& attrs = scatter.attrs<ScatterAttrs>();
  const Shape whole = scatter.operand(0)->shape();
  const std::vector<int64_t> windows = UpdateSizes(scatter);
  bool is_less = false;
  for (size_t d = 0; d < sizes.size(); ++d) {
    if (sizes[d] == whole.dim(static_cast<int>(d))) continue;
    const bool is_indexed = HasDim(attrs.scatter_dims_to_operand_dims, static_cast<int64_t>(d));
    if (windows[d] == 0 || windows[d] > (is_indexed ? 1 : sizes[d])) return false;
    is_less = true;
  }
  return is_less;
}

class ScatterCutter {
 public:
  ScatterCutter(Computation& computation, PassContext& context)
      : computation_(computation), context_(context) {}

  absl::StatusOr<bool> Run() {
    const std::vector<Instruction*> order = computation_.PostOrder();
    Positions positions;
    for (size_t i = 0; i < order.size(); ++i) positions[order[i]] = i;
    bool changed = false;
    for (Instruction* scatter : order) {
      if (scatter->is_dead() || scatter->opcode() != Opcode::kScatter || scatter->is_root() ||
          !scatter->has_uses() || scatter->has_control_edges() ||
          scatter->operand(0)->shape().has_dynamic_dims())
        continue;
      const std::optional<ScatterReaders> readers = FindReaders(scatter, positions);
      if (!readers || !CanBeCut(*scatter, readers->sizes)) {
        context_.Missed(*scatter, "not only slices that cut off the same ends read it");
        continue;
      }
      if (!context_.MayRewrite()) return changed;
      context_.Passed(*scatter, "scatters into what is read");
      RETURN_IF_ERROR(Cut(scatter, *readers));
      context_.Count("simplified");
      changed = true;
    }
    return changed;
  }

 private:
  absl::Status Cut(Instruction* scatter, const ScatterReaders& readers) const {
    const uint32_t first_new = computation_.module().id_limit();
    const std::vector<int64_t> starts(readers.sizes.size(), 0);
    Rewriter b(&computation_, context_, scatter);
    absl::flat_hash_map<const Instruction*, Instruction*> less;  // looked up only
    const auto cut = [&](Instruction* value) {
      Instruction*& found = less[value];
      if (found == nullptr) found = b.Slice(value, starts, readers.sizes);
      return found;
    };
    std::vector<Instruction*> operands = scatter->operand_vector();
    for (int i = 0; i < scatter->operand_count() / 2; ++i)
      operands[static_cast<size_t>(i)] = cut(scatter->operand(i));
    Shape shape = scatter->shape();
    if (shape.IsArray()) shape = shape.WithSizes(readers.sizes);
    for (int i = 0; i < shape.element_count_of_tuple(); ++i)
      shape = shape.WithElement(i, shape.element(i).WithSizes(readers.sizes));
    less[scatter] = b.OpWithShape(Opcode::kScatter, shape, operands, scatter->attrs_ptr(),
                                  {scatter->to_apply()});
    for (Instruction* old : readers.between) {
      operands = old->operand_vector();
      for (Instruction*& operand : operands) {
        // Others are one element for all.
        if (operand->shape().IsTuple() || SameDimensions(operand->shape(), old->shape()))
          operand = cut(operand);
      }
      less[old] = computation_.AddClone(*old, old->shape().WithSizes(readers.sizes), operands);
    }
    RETURN_IF_ERROR(b.status());
    for (Instruction* slice : readers.slices)
      ReplaceKeepingExtras(slice, less.at(slice->operand(0)), first_new);
    for (auto old = readers.between.rbegin(); old != readers.between.rend(); ++old)
      computation_.Remove(*old);
    computation_.RemoveUnused(scatter);
    return absl::OkStatus();
  }

  Computation& computation_;
  PassContext& context_;
};

}  // namespace

absl::StatusOr<bool> ScatterSliceSimplifier::Run(Module& module, PassContext& context) {
  return ChangesAny(
      context.NonFusionComputations(module, {Opcode::kScatter}),
      [&](Computation& computation) { return ScatterCutter(computation, context).Run(); });
}

HLO_DEFINE_PASS(ScatterSliceSimplifier)

}  // namespace hlo
