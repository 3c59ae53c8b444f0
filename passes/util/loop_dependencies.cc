#include "passes/util/loop_dependencies.h"

#include <algorithm>

#include "absl/container/flat_hash_map.h"
#include "passes/util/loop_state.h"

namespace hlo {
namespace {

// A set of elements of the state.
using ElementSet = std::vector<uint64_t>;

void Unite(ElementSet& into, const ElementSet& from) {
  for (size_t i = 0; i < into.size(); ++i) into[i] |= from[i];
}

bool HasElement(const ElementSet& set, size_t i) { return (set[i / 64] >> (i % 64) & 1) != 0; }

// What each instruction of one iteration depends on.
class Dependencies {
 public:
  Dependencies(const Computation& computation, size_t count) : words_((count + 63) / 64) {
    for (const Instruction* instruction : computation.PostOrder()) {
      ElementSet set(words_, 0);
      if (instruction->opcode() == Opcode::kGetTupleElement &&
          instruction->operand(0)->opcode() == Opcode::kParameter) {
        const auto index = static_cast<size_t>(instruction->tuple_index());
        set[index / 64] |= uint64_t{1} << (index % 64);
      } else {
        for (const Instruction* operand : instruction->operands()) Unite(set, sets_.at(operand));
        for (const Instruction* before : instruction->control_predecessors())
          Unite(set, sets_.at(before));
      }
      sets_.emplace(instruction, std::move(set));
    }
  }

  const ElementSet& Of(const Instruction* instruction) const { return sets_.at(instruction); }

 private:
  size_t words_;
  absl::flat_hash_map<const Instruction*, ElementSet> sets_;
};

bool HoldsOnlyData(Shape shape) {
  bool data = true;
  ForEachLeaf(shape, [&data](Shape leaf, const ShapeIndex&) {
    data &= leaf.IsToken() || (leaf.IsArray() && !leaf.has_dynamic_dims());
  });
  return data;
}

}  // namespace

std::vector<bool> UnneededElements(const Instruction& loop, SideEffects& effects) {
  const auto count = static_cast<size_t>(loop.shape().element_count_of_tuple());
  const Instruction* root = loop.while_body()->root();
  std::vector<bool> read_after(count, loop.is_root());
  for (const Use& use : loop.uses()) {
    if (use.user->opcode() == Opcode::kGetTupleElement) {
      read_after[static_cast<size_t>(use.user->tuple_index())] = true;
    } else {
      read_after.assign(count, true);
    }
  }
  std::vector<bool> passes(count);
  bool candidates = false;
  for (size_t i = 0; i < count; ++i) {
    passes[i] = IsParameterElement(*root->operand(static_cast<int>(i)), static_cast<int64_t>(i));
    candidates |= passes[i] || !read_after[i];
  }
  std::vector<bool> unneeded(count, false);
  if (!candidates) return unneeded;

  // Needed: read after the loop unless it passes through; read by what happens in an iteration.
  // What needed elements depend on in one iteration is needed, and so on.
  const Dependencies body(*loop.while_body(), count);
  const Dependencies condition(*loop.while_condition(), count);
  ElementSet happens((count + 63) / 64, 0);
  Unite(happens, condition.Of(loop.while_condition()->root()));
  for (const Computation* computation : loop.calls()) {
    const Dependencies& sets = computation == loop.while_body() ? body : condition;
    for (const Instruction* instruction : computation->instructions()) {
      if (instruction == computation->root()) continue;
      if (effects.Of(*instruction) || instruction->has_control_edges())
        Unite(happens, sets.Of(instruction));
    }
  }
  std::vector<bool> needed(count, false);
  std::vector<size_t> worklist;
  const auto need = [&](size_t i) {
    if (needed[i]) return;
    needed[i] = true;
    worklist.push_back(i);
  };
  for (size_t i = 0; i < count; ++i) {
    if (HasElement(happens, i) || (read_after[i] && !passes[i]) ||
        !HoldsOnlyData(loop.shape().element(static_cast<int>(i))))
      need(i);
  }
  while (!worklist.empty()) {
    const ElementSet& set = body.Of(root->operand(static_cast<int>(worklist.back())));
    worklist.pop_back();
    for (size_t i = 0; i < count; ++i) {
      if (HasElement(set, i)) need(i);
    }
  }
  for (size_t i = 0; i < count; ++i) unneeded[i] = !needed[i];
  return unneeded;
}

}  // namespace hlo
