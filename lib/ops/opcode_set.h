// A set of opcodes, usable in constants:
//
//   constexpr OpcodeSet kLogical = {Opcode::kAnd, Opcode::kOr, Opcode::kNot};
//
// Sets that several files need stand in opcode_groups.h.
#pragma once

#include <array>
#include <cstdint>
#include <initializer_list>

#include "lib/ops/ops.h"

namespace hlo {

class OpcodeSet {
 public:
  constexpr OpcodeSet() = default;
  constexpr OpcodeSet(std::initializer_list<Opcode> opcodes) {
    for (const Opcode opcode : opcodes) Insert(opcode);
  }
  constexpr void Insert(Opcode opcode) { words_[Word(opcode)] |= Bit(opcode); }
  constexpr bool Has(Opcode opcode) const { return (words_[Word(opcode)] & Bit(opcode)) != 0; }
  constexpr bool Intersects(const OpcodeSet& other) const {
    uint64_t common = 0;
    for (size_t i = 0; i < words_.size(); ++i) common |= words_[i] & other.words_[i];
    return common != 0;
  }

 private:
  static constexpr size_t Word(Opcode opcode) { return static_cast<size_t>(opcode) / 64; }
  static constexpr uint64_t Bit(Opcode opcode) {
    return uint64_t{1} << (static_cast<size_t>(opcode) % 64);
  }
  std::array<uint64_t, (kOpcodeCount + 63) / 64> words_ = {};
};

}  // namespace hlo
