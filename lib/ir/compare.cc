#include "lib/ir/compare.h"

#include <algorithm>

#include "absl/container/flat_hash_map.h"
#include "lib/ir/dense_map.h"
#include "lib/support/hash.h"

namespace hlo {
namespace {

// Pairs of computations already found equal (or being compared), so shared callees are compared once.
using Visited = absl::flat_hash_map<const Computation*, const Computation*>;

bool EqualComputations(const Computation& a, const Computation& b, const CompareOptions& options, Visited& visited);

bool EqualExtras(const Instruction& a, const Instruction& b, const CompareOptions& options) {
  static const Extras kNone;
  const Extras& x = a.extras() == nullptr ? kNone : *a.extras();
  const Extras& y = b.extras() == nullptr ? kNone : *b.extras();
  if (options.compare_sharding && x.sharding != y.sharding) return false;
  if (options.compare_backend_config && x.backend_config != y.backend_config) return false;
  if (options.compare_metadata && x.metadata != y.metadata) return false;
  if (options.compare_frontend_attributes && x.frontend_attributes != y.frontend_attributes) return false;
  return x.result_accuracy == y.result_accuracy;
}

bool EqualNodes(const Instruction& a, const Instruction& b, const CompareOptions& options, Visited& visited) {
  if (a.opcode() != b.opcode() || a.operand_count() != b.operand_count() || a.call_count() != b.call_count()) return false;
  if (options.layout_sensitive ? a.shape() != b.shape() : !Compatible(a.shape(), b.shape())) return false;
  if (options.compare_names && a.name() != b.name()) return false;
  if (!(a.attrs_ptr() == b.attrs_ptr()) || !EqualExtras(a, b, options)) return false;
  for (int i = 0; i < a.call_count(); ++i) {
    if (!EqualComputations(*a.call(i), *b.call(i), options, visited)) return false;
  }
  return true;
}

bool EqualComputations(const Computation& a, const Computation& b, const CompareOptions& options, Visited& visited) {
  if (&a == &b) return true;
  if (const auto [it, inserted] = visited.emplace(&a, &b); !inserted) return it->second == &b;
  if (a.instruction_count() != b.instruction_count() || a.parameter_count() != b.parameter_count()) return false;
  if (a.execution_thread() != b.execution_thread()) return false;
  // Match the graphs from the roots (and from other unused instructions in post-order) by walking both post-orders with a map.
  InstructionMap<const Instruction*> match(a.module().id_limit(), nullptr);
  InstructionMap<const Instruction*> back(b.module().id_limit(), nullptr);
  for (int i = 0; i < a.parameter_count(); ++i) {
    match[a.parameter(i)] = b.parameter(i);
    back[b.parameter(i)] = a.parameter(i);
    if (!EqualNodes(*a.parameter(i), *b.parameter(i), options, visited)) return false;
  }
  const auto match_from = [&](const Instruction* x_root, const Instruction* y_root) {
    std::vector<std::pair<const Instruction*, const Instruction*>> stack = {{x_root, y_root}};
    while (!stack.empty()) {
      const auto [x, y] = stack.back();
      stack.pop_back();
      if (match[x] != nullptr || back[y] != nullptr) {
        if (match[x] != y || back[y] != x) return false;
        continue;
      }
      match[x] = y;
      back[y] = x;
      if (!EqualNodes(*x, *y, options, visited)) return false;
      for (int i = 0; i < x->operand_count(); ++i) stack.push_back({x->operand(i), y->operand(i)});
      if (options.compare_control_edges) {
        if (x->control_predecessors().size() != y->control_predecessors().size()) return false;
        for (size_t i = 0; i < x->control_predecessors().size(); ++i) {
          stack.push_back({x->control_predecessors()[i], y->control_predecessors()[i]});
        }
      }
    }
    return true;
  };
  if (!match_from(a.root(), b.root())) return false;
  std::vector<const Instruction*> rest_a, rest_b;
  for (const Instruction* i : a.PostOrder()) {
    if (match[i] == nullptr && !i->has_uses()) rest_a.push_back(i);
  }
  for (const Instruction* i : b.PostOrder()) {
    if (back[i] == nullptr && !i->has_uses()) rest_b.push_back(i);
  }
  if (rest_a.size() != rest_b.size()) return false;
  for (size_t i = 0; i < rest_a.size(); ++i) {
    if (!match_from(rest_a[i], rest_b[i])) return false;
  }
  return true;
}

uint64_t HashText(std::string_view text) { return HashBytes(text); }

using HashMemo = absl::flat_hash_map<const Computation*, uint64_t>;

uint64_t HashComputation(const Computation& computation, HashMemo& memo) {
  if (const auto it = memo.find(&computation); it != memo.end()) return it->second;
  InstructionMap<uint64_t> hashes(computation.module().id_limit(), 0);
  uint64_t unused = 0;  // order of instructions nobody uses does not matter
  for (const Instruction* instruction : computation.PostOrder()) {
    uint64_t hash = HashMix(HashText(instruction->opcode_text()), instruction->shape().Hash());
    hash = HashMix(hash, instruction->attrs_ptr().Hash());
    for (const Instruction* operand : instruction->operands()) hash = HashMix(hash, hashes[operand]);
    for (const Instruction* predecessor : instruction->control_predecessors()) hash = HashMix(hash, ~hashes[predecessor]);
    for (const Computation* callee : instruction->calls()) hash = HashMix(hash, HashComputation(*callee, memo));
    if (const Extras* extras = instruction->extras()) {
      if (extras->sharding) hash = HashMix(hash, HashText(extras->sharding->ToString()));
      if (!extras->backend_config.empty()) hash = HashMix(hash, HashText(extras->backend_config));
      for (const auto& [key, value] : extras->frontend_attributes) hash = HashMix(HashMix(hash, HashText(key)), HashText(value));
    }
    hashes[instruction] = hash;
    if (!instruction->has_uses() && !instruction->is_root()) unused += hash;
  }
  uint64_t result = HashMix(hashes[computation.root()], unused);
  result = HashMix(result, HashText(computation.execution_thread()));
  memo[&computation] = result;
  return result;
}

}  // namespace

bool StructurallyEqual(const Computation& a, const Computation& b, const CompareOptions& options) {
  Visited visited;
  return EqualComputations(a, b, options, visited);
}

bool StructurallyEqual(const Module& a, const Module& b, const CompareOptions& options) {
  if (options.compare_names && a.name() != b.name()) return false;
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
  Visited visited;
  return EqualNodes(a, b, options, visited);
}

uint64_t ContentHash(const Computation& computation) {
  HashMemo memo;
  return HashComputation(computation, memo);
}

uint64_t ContentHash(const Module& module) {
  const ModuleConfig& config = module.config();
  uint64_t hash = ContentHash(*module.entry());
  hash = HashMix(hash, config.entry_layout.result.Hash());
  for (const Shape& shape : config.entry_layout.parameters) hash = HashMix(hash, shape.Hash());
  hash = HashMix(hash, static_cast<uint64_t>(config.replica_count));
  return HashMix(hash, static_cast<uint64_t>(config.num_partitions));
}

}  // namespace hlo
