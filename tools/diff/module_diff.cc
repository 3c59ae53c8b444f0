#include "tools/diff/module_diff.h"

#include <fmt/format.h>

#include <algorithm>
#include <deque>
#include <functional>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "lib/ir/call_order.h"
#include "lib/support/hash.h"

namespace hlo {
namespace {

class Differ {
 public:
  explicit Differ(const CompareOptions& options) : options_(options) {}

  ModuleDiff Run(const Module& before, const Module& after) {
    // Callees first, so that hashes of computations go no deeper than one call.
    for (const Module* module : {&before, &after}) {
      for (const Computation* computation : CalleesFirst(module->PostOrder())) Hash(*computation);
    }
    Declare(before, after);
    Pair(before.entry(), after.entry());
    while (!waiting_.empty()) {
      const auto [a, b] = waiting_.front();
      waiting_.pop_front();
      Diff(*a, *b);
    }
    AddWhole(before, /*is_before=*/true);
    AddWhole(after, /*is_before=*/false);
    diff_.equal = diff_.declarations.empty() && StructurallyEqual(before, after, options_);
    return std::move(diff_);
  }

 private:
  using Partners = absl::flat_hash_map<const Instruction*, const Instruction*>;

  // ---- what an instruction is ----

  Shape ShapeOf(const Instruction& instruction) const {
    return options_.layout_sensitive ? instruction.shape() : instruction.shape().WithoutLayout();
  }
  bool SameExtras(const Instruction& a, const Instruction& b) const {
    static const Extras kNone;
    const Extras& x = a.extras() == nullptr ? kNone : *a.extras();
    const Extras& y = b.extras() == nullptr ? kNone : *b.extras();
    return x.sharding == y.sharding && x.backend_config == y.backend_config &&
           x.frontend_attributes == y.frontend_attributes &&
           (!options_.compare_metadata || x.metadata == y.metadata);
  }

  // Of the operation alone.
  uint64_t Label(const Instruction& instruction) const {
    uint64_t hash = HashMix(HashBytes(instruction.opcode_text()), ShapeOf(instruction).Hash());
    hash = HashMix(hash, instruction.attrs_ptr().Hash());
    if (const Extras* extras = instruction.extras(); extras != nullptr) {
      if (extras->sharding) hash = HashMix(hash, HashBytes(extras->sharding->ToString()));
      if (!extras->backend_config.empty()) hash = HashMix(hash, HashBytes(extras->backend_config));
    }
    return hash;
  }

  // Of a computation: that of its root. Of an instruction: with all it is computed from.
  uint64_t Hash(const Computation& computation) {
    if (const auto it = computation_hashes_.find(&computation); it != computation_hashes_.end())
      return it->second;
    for (const Instruction* instruction : computation.PostOrder()) {
      uint64_t hash = Label(*instruction);
      for (const Instruction* operand : instruction->operands())
        hash = HashMix(hash, hashes_.at(operand));
      for (const Computation* callee : instruction->calls()) hash = HashMix(hash, Hash(*callee));
      hashes_[instruction] = hash;
    }
    return computation_hashes_[&computation] = hashes_.at(computation.root());
  }

  // ---- pairs ----

  void Pair(const Computation* a, const Computation* b) {
    if (!paired_.insert(a).second || !paired_.insert(b).second) return;
    waiting_.emplace_back(a, b);
  }

  void Join(const Instruction* x, const Instruction* y) {
    to_after_[x] = y;
    to_before_[y] = x;
  }
  bool IsFree(const Instruction* x, const Instruction* y) const {
    return !to_after_.contains(x) && !to_before_.contains(y);
  }

  // Those of one key, in their order.
  void JoinByKey(const Computation& a, const Computation& b,
                 const std::function<uint64_t(const Instruction&)>& key_of) {
    absl::flat_hash_map<uint64_t, std::deque<const Instruction*>> by_key;
    for (const Instruction* y : b.PostOrder()) {
      if (!to_before_.contains(y)) by_key[key_of(*y)].push_back(y);
    }
    for (const Instruction* x : a.PostOrder()) {
      if (to_after_.contains(x)) continue;
      const auto it = by_key.find(key_of(*x));
      if (it == by_key.end() || it->second.empty()) continue;
      Join(x, it->second.front());
      it->second.pop_front();
    }
  }

  // From users to operands.
  void JoinOperands(const Computation& a) {
    const std::vector<Instruction*> order = a.PostOrder();
    for (auto it = order.rbegin(); it != order.rend(); ++it) {
      const auto partner = to_after_.find(*it);
      if (partner == to_after_.end()) continue;
      const Instruction& y = *partner->second;
      for (int i = 0; i < std::min((*it)->operand_count(), y.operand_count()); ++i) {
        const Instruction *x_operand = (*it)->operand(i), *y_operand = y.operand(i);
        if (x_operand->opcode() == y_operand->opcode() && IsFree(x_operand, y_operand))
          Join(x_operand, y_operand);
      }
    }
  }

  // Equal operations on operands that are paired, whatever is different further up.
  void JoinOnOperands(const Computation& a, const Computation& b) {
    absl::flat_hash_map<uint64_t, std::deque<const Instruction*>> by_key;
    const auto key_of = [&](const Instruction& instruction, bool is_before) -> uint64_t {
      uint64_t key = Label(instruction);
      for (const Instruction* operand : instruction.operands()) {
        const Instruction* known = operand;
        if (is_before) {
          const auto it = to_after_.find(operand);
          if (it == to_after_.end()) return 0;
          known = it->second;
        } else if (!to_before_.contains(operand)) {
          return 0;
        }
        key = HashMix(key, known->id());
      }
      return key;
    };
    for (const Instruction* y : b.PostOrder()) {
      if (!to_before_.contains(y) && y->operand_count() > 0) by_key[key_of(*y, false)].push_back(y);
    }
    for (const Instruction* x : a.PostOrder()) {
      if (to_after_.contains(x) || x->operand_count() == 0) continue;
      const uint64_t key = key_of(*x, true);
      const auto it = by_key.find(key);
      if (key == 0 || it == by_key.end() || it->second.empty()) continue;
      Join(x, it->second.front());
      it->second.pop_front();
    }
  }

  void JoinAll(const Computation& a, const Computation& b) {
    for (int i = 0; i < std::min(a.parameter_count(), b.parameter_count()); ++i)
      Join(a.parameter(i), b.parameter(i));
    JoinByKey(a, b, [this](const Instruction& i) { return hashes_.at(&i); });
    if (IsFree(a.root(), b.root())) Join(a.root(), b.root());
    JoinOperands(a);
    JoinOnOperands(a, b);
    JoinByKey(a, b, [](const Instruction& i) {
      return HashMix(HashBytes(i.opcode_text()), HashBytes(i.name()));
    });
    JoinOperands(a);
  }

  // ---- edits ----

  std::vector<std::string> DifferencesOf(const Instruction& x, const Instruction& y) const {
    std::vector<std::string> what;
    if (x.opcode_text() != y.opcode_text()) what.emplace_back("opcode");
    if (ShapeOf(x) != ShapeOf(y)) what.emplace_back("shape");
    if (!(x.attrs_ptr() == y.attrs_ptr()) || !SameExtras(x, y)) what.emplace_back("attributes");
    if (options_.compare_names && x.name() != y.name()) what.emplace_back("name");
    if (x.operand_count() != y.operand_count()) what.emplace_back("number of operands");
    for (int i = 0; i < std::min(x.operand_count(), y.operand_count()); ++i) {
      const auto it = to_after_.find(x.operand(i));
      if (it == to_after_.end() || it->second != y.operand(i))
        what.push_back(fmt::format("operand {}", i));
    }
    if (x.call_count() != y.call_count()) what.emplace_back("number of computations");
    return what;
  }

  void Diff(const Computation& a, const Computation& b) {
    JoinAll(a, b);
    ComputationDiff diff{&a, &b, {}};
    for (const Instruction* x : a.SequenceOrPostOrder()) {
      if (!to_after_.contains(x)) diff.edits.push_back({x, nullptr, {}});
    }
    diff_.removed += std::ssize(diff.edits);
    for (const Instruction* x : a.SequenceOrPostOrder()) {
      const auto it = to_after_.find(x);
      if (it == to_after_.end()) continue;
      const Instruction& y = *it->second;
      std::vector<std::string> what = DifferencesOf(*x, y);
      for (int i = 0; i < std::min(x->call_count(), y.call_count()); ++i)
        Pair(x->call(i), y.call(i));
      if (what.empty()) {
        ++diff_.same;
        continue;
      }
      ++diff_.changed;
      diff.edits.push_back({x, &y, std::move(what)});
    }
    for (const Instruction* y : b.SequenceOrPostOrder()) {
      if (to_before_.contains(y)) continue;
      ++diff_.added;
      diff.edits.push_back({nullptr, y, {}});
    }
    if (!diff.edits.empty()) diff_.computations.push_back(std::move(diff));
  }

  // Computations that nothing pairs.
  void AddWhole(const Module& module, bool is_before) {
    for (const Computation* computation : module.PostOrder()) {
      if (paired_.contains(computation)) continue;
      ComputationDiff diff;
      (is_before ? diff.before : diff.after) = computation;
      for (const Instruction* instruction : computation->SequenceOrPostOrder()) {
        diff.edits.push_back(is_before ? Edit{instruction, nullptr, {}}
                                       : Edit{nullptr, instruction, {}});
      }
      (is_before ? diff_.removed : diff_.added) += std::ssize(diff.edits);
      diff_.computations.push_back(std::move(diff));
    }
  }

  void Declare(const Module& before, const Module& after) {
    const ModuleConfig &x = before.config(), &y = after.config();
    const auto add = [this](bool differs, std::string_view what) {
      if (differs) diff_.declarations.emplace_back(what);
    };
    add(x.replica_count != y.replica_count, "number of replicas");
    add(x.num_partitions != y.num_partitions, "number of partitions");
    add(!(x.aliases == y.aliases), "aliases of inputs and outputs");
    add(options_.layout_sensitive && !(x.entry_layout == y.entry_layout), "layout of the entry");
    add(options_.compare_names && before.name() != after.name(), "name");
  }

  const CompareOptions& options_;
  ModuleDiff diff_;
  absl::flat_hash_map<const Instruction*, uint64_t> hashes_;
  absl::flat_hash_map<const Computation*, uint64_t> computation_hashes_;
  Partners to_after_, to_before_;
  absl::flat_hash_set<const Computation*> paired_;
  std::deque<std::pair<const Computation*, const Computation*>> waiting_;
};

}  // namespace

ModuleDiff DiffModules(const Module& before, const Module& after, const CompareOptions& options) {
  return Differ(options).Run(before, after);
}

}  // namespace hlo
