#include "passes/fusion/index_evaluation.h"

#include <algorithm>
#include <iterator>

namespace hlo {
namespace {

constexpr int64_t kCountless = int64_t{1} << 40;  // what doubles at each link of a chain stops here

constexpr Opcode kForgetful[] = {Opcode::kConcatenate, Opcode::kDot,    Opcode::kDynamicUpdateSlice,
                                 Opcode::kPad,         Opcode::kReduce, Opcode::kReduceWindow};

// The same dimensions in the same layout; of whatever elements.
bool HasIndicesOf(const Instruction& a, const Instruction& b) {
  if (!a.shape().IsArray() || !b.shape().IsArray()) return a.shape() == b.shape();
  return a.shape().WithElementType(b.shape().element_type()) == b.shape();
}

}  // namespace

bool IsForgetful(Opcode opcode) {
  return std::find(std::begin(kForgetful), std::end(kForgetful), opcode) != std::end(kForgetful);
}

IndexEvaluation::IndexEvaluation(const Instruction& fusion) {
  const Computation& body = *fusion.fused_computation();
  absl::flat_hash_map<const Instruction*, Makers> inside;
  inside[body.root()] = {&fusion};
  indices_[&fusion] = 1;
  const std::vector<Instruction*> order = body.PostOrder();
  for (size_t i = order.size(); i-- > 0;) {
    const Instruction& instruction = *order[i];
    const Makers makers = inside[&instruction];
    if (instruction.opcode() == Opcode::kParameter) {
      const Instruction* operand = fusion.operand(static_cast<int>(instruction.parameter_number()));
      makers_[operand].insert(makers.begin(), makers.end());
      continue;
    }
    indices_[&instruction] = Sum(makers);
    for (const Instruction* operand : instruction.operands())
      PassOn(instruction, makers, *operand, inside[operand]);
  }
}

void IndexEvaluation::PassOn(const Instruction& instruction, const Makers& makers,
                             const Instruction& operand, Makers& of_operand) const {
  if (instruction.opcode() == Opcode::kTranspose || HasIndicesOf(instruction, operand)) {
    of_operand.insert(makers.begin(), makers.end());
  } else {
    of_operand.insert(&instruction);
  }
}

int64_t IndexEvaluation::Sum(const Makers& makers) const {
  int64_t sum = 0;
  for (const Instruction* maker : makers) sum = std::min(sum + indices_.at(maker), kCountless);
  return sum;
}

int64_t IndexEvaluation::IndicesOf(const Instruction& producer) const {
  const auto at = makers_.find(&producer);
  return at == makers_.end() ? 0 : Sum(at->second);
}

int64_t IndexEvaluation::MostIndices() const {
  int64_t most = 0;
  for (const auto& [instruction, indices] : indices_) {
    const Shape shape = instruction->shape();
    const bool is_scalar = shape.IsArray() && shape.element_count() == 1;  // has one index
    if (!is_scalar) most = std::max(most, indices);
  }
  return most;
}

bool IndexEvaluation::IsTooOften(const Instruction& producer) const {
  if (producer.opcode() == Opcode::kBroadcast) return false;
  const int64_t indices = IndicesOf(producer);
  return indices > kMostIndices || (indices > 1 && IsForgetful(producer.opcode()));
}

void IndexEvaluation::TakenIn(const Instruction& producer, const Instruction& inside) {
  const Makers makers = makers_[&producer];
  makers_.erase(&producer);
  indices_[&inside] = Sum(makers);
  for (const Instruction* operand : producer.operands())
    PassOn(inside, makers, *operand, makers_[operand]);
}

}  // namespace hlo
