// All instructions of a module.
//
//   for (const Instruction* instruction : AllInstructions(module)) …
//   AnyInstruction(module, [](const Instruction& i) { return i.opcode() == Opcode::kSend; })
#pragma once

#include <optional>

#include "lib/ir/module.h"

namespace hlo {

// Of one computation after the other, those that nobody calls, too; instructions that are appended
// meanwhile are visited, but no computation may come or go.
class AllInstructions {
 public:
  class Iterator {
   public:
    explicit Iterator(const std::vector<Computation*>& computations)
        : computations_(&computations) {
      FindFirst();
    }
    Instruction* operator*() const { return **at_; }
    Iterator& operator++() {
      ++*at_;
      if (*at_ != nullptr) return *this;
      ++number_;
      FindFirst();
      return *this;
    }
    bool operator!=(std::nullptr_t) const { return number_ < computations_->size(); }

   private:
    // Of the next computation that has some.
    void FindFirst() {
      for (; number_ < computations_->size(); ++number_) {
        at_ = (*computations_)[number_]->instructions().begin();
        if (*at_ != nullptr) return;
      }
    }
    const std::vector<Computation*>* computations_;
    size_t number_ = 0;
    std::optional<Computation::Range::Iterator> at_;
  };
  explicit AllInstructions(const Module& module) : computations_(module.computations()) {}
  Iterator begin() const { return Iterator(computations_); }
  std::nullptr_t end() const { return nullptr; }

 private:
  const std::vector<Computation*>& computations_;
};

template <class Predicate>
bool AnyInstruction(const Module& module, const Predicate& predicate) {
  for (const Instruction* instruction : AllInstructions(module)) {
    if (predicate(*instruction)) return true;
  }
  return false;
}

}  // namespace hlo
