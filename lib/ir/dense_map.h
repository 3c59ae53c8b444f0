// A map keyed by instruction: a vector indexed by id. Valid until the next Module::Sweep.
#pragma once

#include <vector>

#include "lib/ir/instruction.h"

namespace hlo {

template <class T>
class InstructionMap {
 public:
  explicit InstructionMap(size_t ids = 0, T initial = T())
      : initial_(initial), values_(ids, initial) {}
  // The value for `instruction`; default-initialised on first access.
  typename std::vector<T>::reference operator[](const Instruction* instruction) {
    const size_t id = instruction->id();
    if (id >= values_.size()) values_.resize(id + 1 + id / 2, initial_);
    return values_[id];
  }
  T Get(const Instruction* instruction) const {
    return instruction->id() < values_.size() ? T(values_[instruction->id()]) : initial_;
  }

 private:
  T initial_;
  std::vector<T> values_;
};

}  // namespace hlo
