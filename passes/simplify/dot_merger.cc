#include "passes/simplify/dot_merger.h"

#include <algorithm>
#include <map>
#include <optional>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "lib/analysis/reachability.h"
#include "passes/rewrite.h"

namespace hlo {
namespace {

// A dot seen from one of its operands.
struct SharedDot {
  Instruction* dot;
  int other;     // which operand is not shared
  int own = -1;  // the dimension of it that the result keeps
};

int64_t OwnDimension(const DotAttrs& attrs, int other, Shape shape) {
  const DimVec& batch = other == 0 ? attrs.lhs_batch_dims : attrs.rhs_batch_dims;
  const DimVec& contracted = other == 0 ? attrs.lhs_contracting_dims : attrs.rhs_contracting_dims;
  int64_t own = -1;
  for (int64_t d = 0; d < shape.rank(); ++d) {
    if (absl::c_linear_search(batch, d) || absl::c_linear_search(contracted, d)) continue;
    if (own >= 0) return -1;
    own = d;
  }
  return own;
}

bool IsMergeableDot(const Instruction& dot) {
  return dot.opcode() == Opcode::kDot && dot.operand_count() == 2 && !dot.has_control_edges() &&
         !dot.shape().has_dynamic_dims() && !dot.operand(0)->shape().has_dynamic_dims() &&
         !dot.operand(1)->shape().has_dynamic_dims();
}

// What two dots must have in common, as text: all but the size along the dimension of their own.
std::string MergeKey(const SharedDot& shared) {
  const Instruction& dot = *shared.dot;
  std::string key = fmt::format("{}|{}|", shared.other, Info(Opcode::kDot).text);
  const Shape other = dot.operand(shared.other)->shape().WithDim(shared.own, 1);
  const DotAttrs& attrs = dot.attrs<DotAttrs>();
  for (const DimVec* dims : {&attrs.lhs_batch_dims, &attrs.lhs_contracting_dims,
                             &attrs.rhs_batch_dims, &attrs.rhs_contracting_dims}) {
    for (const int64_t d : *dims) key += fmt::format("{},", d);
    key += '|';
  }
  for (const Precision precision : attrs.operand_precision.values)
    key += fmt::format("{},", Text(precision));
  const Layout* layout = dot.shape().layout_or_null();
  return fmt::format("{}{}|{}|{}|{}", key, Text(attrs.algorithm), other.Text(),
                     Text(dot.shape().element_type()), layout ? layout->ToString() : "");
}

int64_t DotBytes(const Instruction& dot) {
  return dot.shape().byte_size() + dot.operand(0)->shape().byte_size() +
         dot.operand(1)->shape().byte_size();
}

bool IsMatrixTranspose(const Instruction& x) {
  return x.opcode() == Opcode::kTranspose && x.attrs<TransposeAttrs>().dimensions == DimVec{1, 0};
}

// [m,k] x [k,n] => [m,n], as dot_decomposer writes them
bool IsMatrixProduct(const Instruction& dot) {
  const auto& attrs = dot.attrs<DotAttrs>();
  return attrs.lhs_batch_dims.empty() && dot.operand(0)->shape().rank() == 2 &&
         dot.operand(1)->shape().rank() == 2 && attrs.lhs_contracting_dims == DimVec{1} &&
         attrs.rhs_contracting_dims == DimVec{0};
}

// Whether dot(x, y) and dot(z, transpose(x)) can be one.
bool AreAlikeCrossed(const Instruction& a, const Instruction& b) {
  const auto& of_a = a.attrs<DotAttrs>();
  const auto& of_b = b.attrs<DotAttrs>();
  const Layout* layout_a = a.shape().layout_or_null();
  const Layout* layout_b = b.shape().layout_or_null();
  const bool same_layout = layout_a == nullptr || layout_b == nullptr || *layout_a == *layout_b;
  return same_layout && of_a.operand_precision.values == of_b.operand_precision.values &&
         of_a.algorithm == of_b.algorithm && a.shape().element_type() == b.shape().element_type() &&
         a.operand(1)->shape().element_type() == b.operand(0)->shape().element_type() &&
         a.shape().dim(0) == b.shape().dim(1);
}

constexpr size_t kFewDots = 32;  // of which any pair may be asked for

class DotsMerger {
 public:
  DotsMerger(Computation& computation, PassContext& context, int64_t limit)
      : computation_(computation), context_(context), limit_(limit) {}

  absl::StatusOr<bool> Run() {
    Collect();
    bool changed = false;
    for (const auto& [shared, key] : order_) {
      std::vector<SharedDot>& members = groups_[{shared, key}];
      if (members.size() > kFewDots && FollowEachOther(members)) {
        context_.Missed(*members[0].dot,
                        "each of those with its operand depends on the one before");
        continue;
      }
      while (members.size() > 1) {
        const std::vector<SharedDot> chosen = Choose(members);
        if (chosen.size() < 2) continue;
        if (!context_.MayRewrite()) return changed;
        RETURN_IF_ERROR(Merge(chosen));
        context_.Count("merged", static_cast<int64_t>(chosen.size()));
        changed = true;
      }
    }
    ASSIGN_OR_RETURN(const bool crossed, MergeCrossed());
    return changed || crossed;
  }

 private:
  void Collect() {
    for (Instruction* dot : computation_.PostOrder()) {
      if (!IsMergeableDot(*dot)) continue;
      for (const int other : {1, 0}) {
        SharedDot shared{dot, other};
        shared.own = static_cast<int>(
            OwnDimension(dot->attrs<DotAttrs>(), other, dot->operand(other)->shape()));
        if (shared.own < 0) continue;
        const std::pair<uint32_t, std::string> key{dot->operand(1 - other)->id(), MergeKey(shared)};
        auto& members = groups_[key];
        if (members.empty()) order_.push_back(key);
        members.push_back(shared);
      }
    }
    // As the module lists them.
    absl::c_stable_sort(order_, [](const Key& a, const Key& b) { return a.first < b.first; });
    for (auto& [key, members] : groups_) {
      absl::c_stable_sort(members, [](const SharedDot& a, const SharedDot& b) {
        return a.dot->id() < b.dot->id();
      });
    }
  }

  // Those that `a` = dot(x, y) shares x with, which they have transposed on the right.
  static std::vector<Instruction*> PartnersOf(const Instruction& a) {
    std::vector<Instruction*> partners;
    const auto add_dots = [&](const Instruction& rhs) {
      for (Instruction* user : rhs.users()) {
        if (IsMergeableDot(*user) && user->operand(1) == &rhs && IsMatrixProduct(*user))
          partners.push_back(user);
      }
    };
    if (IsMatrixTranspose(*a.operand(0))) add_dots(*a.operand(0)->operand(0));
    for (const Instruction* user : a.operand(0)->users()) {
      if (IsMatrixTranspose(*user)) add_dots(*user);
    }
    return partners;
  }

  // dot(x, y), dot(z, transpose(x))  =>  slices of dot(x, concatenate(y, transpose(z)))
  absl::StatusOr<bool> MergeCrossed() {
    bool changed = false;
    for (Instruction* a : computation_.PostOrder()) {
      if (a->is_dead() || !a->is_used() || !IsMergeableDot(*a) || !IsMatrixProduct(*a)) continue;
      for (Instruction* b : PartnersOf(*a)) {
        if (b == a || !AreAlikeCrossed(*a, *b) || std::min(DotBytes(*a), DotBytes(*b)) > limit_ ||
            Paths().AreConnected(a, b))
          continue;
        if (!context_.MayRewrite()) return changed;
        RETURN_IF_ERROR(MergeCrossedPair(a, b));
        context_.Count("merged", 2);
        changed = true;
        break;
      }
    }
    return changed;
  }

  absl::Status MergeCrossedPair(Instruction* a, Instruction* b) {
    for (const Instruction* dot : {a, b})
      context_.Passed(*dot, "merged with one that has its operand transposed");
    reachability_->Merge({a, b});
    const uint32_t first_new = computation_.module().id_limit();
    Rewriter builder(&computation_, context_, a);
    const int64_t rows = a->shape().dim(0);
    const int64_t split = a->shape().dim(1);
    const int64_t columns = split + b->shape().dim(0);
    Instruction* other = builder.Transpose(b->operand(0), {1, 0});
    Instruction* joined = builder.Concatenate({a->operand(1), other}, 1);
    Instruction* product = builder.OpWithShape(Opcode::kDot, a->shape().WithDim(1, columns),
                                               {a->operand(0), joined}, a->attrs_ptr());
    Instruction* of_a = builder.Slice(product, {0, 0}, {rows, split});
    builder.set_origin(b);
    Instruction* part = builder.Slice(product, {0, split}, {rows, columns});
    Instruction* of_b = builder.Transpose(part, {1, 0});
    RETURN_IF_ERROR(builder.status());
    reachability_->StandFor({other, joined, product, of_a, part, of_b}, a);
    of_a->set_shape(a->shape());
    of_b->set_shape(b->shape());
    ReplaceKeepingExtras(a, of_a, first_new);
    ReplaceKeepingExtras(b, of_b, first_new);
    return builder.status();
  }

  // Whether no two of them are independent: there is a path through all of them, as in the steps of
  // a recurrent network, of which there may be so many that asking for each pair takes long.
  // O(instructions).
  bool FollowEachOther(const std::vector<SharedDot>& members) {
    absl::flat_hash_set<const Instruction*> dots;
    for (const SharedDot& member : members) dots.insert(member.dot);
    absl::flat_hash_map<const Instruction*, size_t> on_path;  // most members on a path to here
    size_t longest = 0;
    for (const Instruction* instruction : computation_.PostOrder()) {
      size_t count = 0;
      const auto visit = [&](const Instruction* need) {
        if (const auto it = on_path.find(need); it != on_path.end())
          count = std::max(count, it->second);
      };
      for (const Instruction* operand : instruction->operands()) visit(operand);
      for (const Instruction* before : instruction->control_predecessors()) visit(before);
      count += dots.contains(instruction) ? 1 : 0;
      if (count > 0) on_path[instruction] = count;
      longest = std::max(longest, count);
    }
    return longest == dots.size();
  }

  // Takes from `members` the first one that is left and those that go with it.
  std::vector<SharedDot> Choose(std::vector<SharedDot>& members) {
    std::vector<SharedDot> chosen;
    std::vector<SharedDot> left;
    Reachability::Neighbours connected(Paths());  // with those chosen
    int64_t bytes = 0;
    for (const SharedDot& member : members) {
      if (member.dot->is_dead()) continue;  // merged by its other operand
      const int64_t more = DotBytes(*member.dot);
      if (!chosen.empty() && (std::min(bytes, more) > limit_ || connected.Has(member.dot))) {
        left.push_back(member);
        continue;
      }
      // What they share counts once.
      bytes +=
          chosen.empty() ? more : more - member.dot->operand(1 - member.other)->shape().byte_size();
      chosen.push_back(member);
      connected.Add(member.dot);
    }
    members = std::move(left);
    if (chosen.size() == 1 && !members.empty())
      context_.Missed(*chosen[0].dot, "others with its operand depend on it, or are too large");
    return chosen;
  }

  Reachability& Paths() {
    if (!reachability_)
      reachability_ =
          context_.analyses().Get<Reachabilities>(computation_.module()).Of(computation_);
    return *reachability_;
  }

  // The layout of `like`, of the same number of dimensions.
  static void KeepLayout(Instruction* joined, const Instruction* like) {
    if (like->shape().has_layout())
      joined->set_shape(joined->shape().WithLayout(like->shape().layout()));
  }

  absl::Status Merge(const std::vector<SharedDot>& chosen) {
    std::vector<Instruction*> dots;
    std::vector<Instruction*> parts;
    const int other = chosen[0].other;
    for (const SharedDot& shared : chosen) {
      dots.push_back(shared.dot);
      parts.push_back(shared.dot->operand(other));
      context_.Passed(*shared.dot, "merged with others that share an operand");
    }
    Reachability& paths = Paths();
    paths.Merge(dots);
    const uint32_t first_new = computation_.module().id_limit();
    Rewriter b(&computation_, context_);
    Instruction* const first = dots[0];
    b.set_origin(first);
    Instruction* joined = b.Concatenate(parts, chosen[0].own);
    KeepLayout(joined, parts[0]);
    const DotAttrs& attrs = first->attrs<DotAttrs>();
    // The result: batch, what the left operand keeps, what the right one keeps.
    const int dim =
        other == 1 ? first->shape().rank() - 1 : static_cast<int>(attrs.lhs_batch_dims.size());
    const Shape whole = first->shape().WithDim(dim, joined->shape().dim(chosen[0].own));
    std::vector<Instruction*> operands = first->operand_vector();
    operands[static_cast<size_t>(other)] = joined;
    Instruction* product = b.OpWithShape(Opcode::kDot, whole, operands, first->attrs_ptr());
    std::vector<const Instruction*> made = {joined, product};
    int64_t start = 0;
    for (Instruction* dot : dots) {
      b.set_origin(dot);
      std::vector<int64_t> starts(static_cast<size_t>(whole.rank()), 0);
      std::vector<int64_t> limits(whole.dims().begin(), whole.dims().end());
      starts[static_cast<size_t>(dim)] = start;
      limits[static_cast<size_t>(dim)] = start += dot->shape().dim(dim);
      Instruction* part = b.Slice(product, starts, limits);
      made.push_back(part);
      RETURN_IF_ERROR(b.status());
      part->set_shape(dot->shape());
      ReplaceKeepingExtras(dot, part, first_new);
    }
    paths.StandFor(made, first);
    return b.status();
  }

  using Key = std::pair<uint32_t, std::string>;  // id of the shared operand
  Computation& computation_;
  PassContext& context_;
  int64_t limit_;
  std::vector<Key> order_;
  std::map<Key, std::vector<SharedDot>> groups_;
  std::optional<Reachability> reachability_;
};

}  // namespace

absl::StatusOr<bool> DotMerger::Run(Module& module, PassContext& context) {
  return ChangesAny(context.NonFusionComputations(module, {Opcode::kDot}),
                    [&](Computation& computation) {
                      return DotsMerger(computation, context, options_.max_size_to_merge).Run();
                    });
}

HLO_DEFINE_PASS(DotMerger)

}  // namespace hlo
