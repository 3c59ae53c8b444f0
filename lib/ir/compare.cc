#include "lib/ir/compare.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "lib/ir/call_order.h"
#include "lib/support/hash.h"

namespace hlo {
namespace {

// One comparison of two computations, with all they call.
class Comparison {
 public:
  explicit Comparison(const CompareOptions& options) : options_(options) {}

  bool Nodes(const Instruction& a, const Instruction& b) {
    if (a.opcode() != b.opcode() || a.operand_count() != b.operand_count() ||
        a.call_count() != b.call_count())
      return false;
    if (options_.layout_sensitive ? a.shape() != b.shape() : !Compatible(a.shape(), b.shape()))
      return false;
    if (options_.compare_names && a.name() != b.name()) return false;
    if (!(a.attrs_ptr() == b.attrs_ptr()) || !EqualExtras(a, b)) return false;
    for (int i = 0; i < a.call_count(); ++i) {
      if (!Computations(*a.call(i), *b.call(i))) return false;
    }
    return true;
  }

  // The computations and all they call. Callees are compared first, in the order in which equal
  // ones correspond, so that no walk goes deeper than one call.
  bool Whole(const Computation& a, const Computation& b) {
    const std::vector<const Computation*> in_a = CalleesOf(a);
    const std::vector<const Computation*> in_b = CalleesOf(b);
    for (size_t i = 0; i < std::min(in_a.size(), in_b.size()); ++i)
      Computations(*in_a[i], *in_b[i]);
    return Computations(a, b);
  }

  bool Computations(const Computation& a, const Computation& b) {
    if (&a == &b) return true;
    const auto [it, inserted] = equal_.emplace(std::pair(&a, &b), false);
    if (!inserted) return it->second;
    const bool equal = Bodies(a, b);
    equal_[{&a, &b}] = equal;
    return equal;
  }

 private:
  // Pairs that stand for each other. Walks of callees come in between, so each walk has its own.
  using Match = absl::flat_hash_map<const Instruction*, const Instruction*>;

  bool EqualExtras(const Instruction& a, const Instruction& b) const {
    static const Extras kNone;
    const Extras& x = a.extras() == nullptr ? kNone : *a.extras();
    const Extras& y = b.extras() == nullptr ? kNone : *b.extras();
    if (options_.compare_sharding && x.sharding != y.sharding) return false;
    if (options_.compare_backend_config && x.backend_config != y.backend_config) return false;
    if (options_.compare_metadata && x.metadata != y.metadata) return false;
    if (options_.compare_frontend_attributes && x.frontend_attributes != y.frontend_attributes)
      return false;
    return x.result_accuracy == y.result_accuracy;
  }

  bool Bodies(const Computation& a, const Computation& b) {
    if (a.instruction_count() != b.instruction_count() ||
        a.parameter_count() != b.parameter_count())
      return false;
    if (a.execution_thread() != b.execution_thread()) return false;
    Match match, back;
    match.reserve(static_cast<size_t>(a.instruction_count()));
    back.reserve(static_cast<size_t>(a.instruction_count()));
    for (int i = 0; i < a.parameter_count(); ++i) {
      match[a.parameter(i)] = b.parameter(i);
      back[b.parameter(i)] = a.parameter(i);
      if (!Nodes(*a.parameter(i), *b.parameter(i))) return false;
    }
    if (!Walk(a.root(), b.root(), match, back)) return false;
    if (match.size() == static_cast<size_t>(a.instruction_count())) return true;
    // Instructions that the root does not need, started from those that nobody uses; sorted by what
    // they compute.
    const std::vector<const Instruction*> rest_a = Rest(a, match);
    const std::vector<const Instruction*> rest_b = Rest(b, back);
    if (rest_a.size() != rest_b.size()) return false;
    for (size_t i = 0; i < rest_a.size(); ++i) {
      if (!Walk(rest_a[i], rest_b[i], match, back)) return false;
    }
    return true;
  }

  // Matches everything that x and y need.
  bool Walk(const Instruction* x_root, const Instruction* y_root, Match& match, Match& back) {
    std::vector<std::pair<const Instruction*, const Instruction*>> stack = {{x_root, y_root}};
    while (!stack.empty()) {
      const auto [x, y] = stack.back();
      stack.pop_back();
      const auto [at, inserted] = match.emplace(x, y);
      const bool back_inserted = back.emplace(y, x).second;
      if (!inserted || !back_inserted) {
        if (inserted || back_inserted || at->second != y) return false;
        continue;
      }
      if (!Nodes(*x, *y)) return false;
      for (int i = 0; i < x->operand_count(); ++i) stack.push_back({x->operand(i), y->operand(i)});
      if (options_.compare_control_edges) {
        if (x->control_predecessors().size() != y->control_predecessors().size()) return false;
        for (size_t i = 0; i < x->control_predecessors().size(); ++i) {
          stack.push_back({x->control_predecessors()[i], y->control_predecessors()[i]});
        }
      }
    }
    return true;
  }

  std::vector<const Instruction*> Rest(const Computation& computation, const Match& matched);

  const CompareOptions& options_;
  absl::flat_hash_map<std::pair<const Computation*, const Computation*>, bool> equal_;
};

// Hashes of instructions by what they compute, equal for instructions that compare equal under the
// options.
class Hasher {
 public:
  explicit Hasher(const CompareOptions& options) : options_(options) {}

  // Looks at callees first, so that no walk goes deeper than one call.
  uint64_t OfWhole(const Computation& computation) {
    for (const Computation* callee : CalleesOf(computation)) Of(*callee);
    return Of(computation);
  }

  uint64_t Of(const Computation& computation) {
    if (const auto it = memo_.find(&computation); it != memo_.end()) return it->second;
    const absl::flat_hash_map<const Instruction*, uint64_t> hashes = OfInstructions(computation);
    uint64_t unused = 0;  // order of instructions nobody uses does not matter
    for (const Instruction* instruction : computation.instructions()) {
      if (!instruction->is_used()) unused += hashes.at(instruction);
    }
    uint64_t result = HashMix(hashes.at(computation.root()), unused);
    result = HashMix(result, HashBytes(computation.execution_thread()));
    memo_[&computation] = result;
    return result;
  }

  absl::flat_hash_map<const Instruction*, uint64_t> OfInstructions(const Computation& computation) {
    absl::flat_hash_map<const Instruction*, uint64_t> hashes;
    hashes.reserve(static_cast<size_t>(computation.instruction_count()));
    for (const Instruction* instruction : computation.PostOrder()) {
      const Shape shape =
          options_.layout_sensitive ? instruction->shape() : instruction->shape().WithoutLayout();
      uint64_t hash = HashMix(HashBytes(instruction->opcode_text()), shape.Hash());
      hash = HashMix(hash, instruction->attrs_ptr().Hash());
      for (const Instruction* operand : instruction->operands())
        hash = HashMix(hash, hashes.at(operand));
      if (options_.compare_control_edges) {
        for (const Instruction* before : instruction->control_predecessors())
          hash = HashMix(hash, ~hashes.at(before));
      }
      for (int i = 0; i < instruction->call_count(); ++i)
        hash = HashMix(hash, Of(*instruction->call(i)));
      if (instruction->extras() != nullptr) hash = AddExtras(hash, *instruction->extras());
      hashes[instruction] = hash;
    }
    return hashes;
  }

 private:
  uint64_t AddExtras(uint64_t hash, const Extras& extras) const {
    if (options_.compare_sharding && extras.sharding)
      hash = HashMix(hash, HashBytes(extras.sharding->ToString()));
    if (options_.compare_backend_config && !extras.backend_config.empty()) {
      hash = HashMix(hash, HashBytes(extras.backend_config));
    }
    if (!options_.compare_frontend_attributes) return hash;
    for (const auto& [key, value] : extras.frontend_attributes) {
      hash = HashMix(HashMix(hash, HashBytes(key)), HashBytes(value));
    }
    return hash;
  }

  const CompareOptions& options_;
  absl::flat_hash_map<const Computation*, uint64_t> memo_;
};

std::vector<const Instruction*> Comparison::Rest(const Computation& computation,
                                                 const Match& matched) {
  const absl::flat_hash_map<const Instruction*, uint64_t> hashes =
      Hasher(options_).OfInstructions(computation);
  std::vector<const Instruction*> rest;
  for (const Instruction* instruction : computation.instructions()) {
    if (!instruction->has_uses() && !matched.contains(instruction)) rest.push_back(instruction);
  }
  std::stable_sort(rest.begin(), rest.end(), [&](const Instruction* x, const Instruction* y) {
    return hashes.at(x) < hashes.at(y);
  });
  return rest;
}

}  // namespace

bool StructurallyEqual(const Computation& a, const Computation& b, const CompareOptions& options) {
  return Comparison(options).Whole(a, b);
}

bool StructurallyEqual(const Module& a, const Module& b, const CompareOptions& options) {
  if (options.compare_names && a.name() != b.name()) return false;
  const ModuleConfig& x = a.config();
  const ModuleConfig& y = b.config();
  if (x.replica_count != y.replica_count || x.num_partitions != y.num_partitions ||
      x.aliases != y.aliases)
    return false;
  if (options.layout_sensitive && !(x.entry_layout == y.entry_layout)) return false;
  return StructurallyEqual(*a.entry(), *b.entry(), options);
}

bool SameOperation(const Instruction& a, const Instruction& b, const CompareOptions& options) {
  if (a.operand_count() != b.operand_count()) return false;
  for (int i = 0; i < a.operand_count(); ++i) {
    if (a.operand(i) != b.operand(i)) return false;
  }
  return SameNode(a, b, options);
}

bool SameNode(const Instruction& a, const Instruction& b, const CompareOptions& options) {
  return Comparison(options).Nodes(a, b);
}

uint64_t ContentHash(const Computation& computation) {
  return Hasher(CompareOptions()).OfWhole(computation);
}

std::vector<std::pair<Computation*, uint64_t>> ContentHashes(const Module& module) {
  const CompareOptions options;
  Hasher hasher(options);
  std::vector<std::pair<Computation*, uint64_t>> hashes;
  for (Computation* computation : module.PostOrder())
    hashes.emplace_back(computation, hasher.Of(*computation));
  return hashes;
}

std::vector<Computation*> ComputationsByContent(const Module& module) {
  const CompareOptions options;
  Hasher hasher(options);
  struct Keyed {
    int count;
    uint64_t hash;
    Computation* computation;
  };
  std::vector<Keyed> keyed;
  for (Computation* computation : module.PostOrder())
    keyed.push_back({computation->instruction_count(), hasher.Of(*computation), computation});
  std::stable_sort(keyed.begin(), keyed.end(), [](const Keyed& a, const Keyed& b) {
    return std::tie(a.count, a.hash) < std::tie(b.count, b.hash);
  });
  std::vector<Computation*> result;
  for (const Keyed& entry : keyed) result.push_back(entry.computation);
  return result;
}

uint64_t ContentHash(const Module& module) {
  const ModuleConfig& config = module.config();
  const CompareOptions options;
  Hasher hasher(options);
  for (const Computation* computation : module.PostOrder())
    hasher.Of(*computation);  // callees first
  uint64_t hash = hasher.Of(*module.entry());
  hash = HashMix(hash, config.entry_layout.result.Hash());
  for (const Shape& shape : config.entry_layout.parameters) hash = HashMix(hash, shape.Hash());
  hash = HashMix(hash, static_cast<uint64_t>(config.replica_count));
  return HashMix(hash, static_cast<uint64_t>(config.num_partitions));
}

}  // namespace hlo
