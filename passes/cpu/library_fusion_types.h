// Around which operations fusions for libraries begin, as flags of XLA:CPU say it.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>

#include "absl/status/status.h"
#include "lib/ir/instruction.h"
#include "passes/pass.h"

namespace hlo {

// An individual operation is a fusion of its own, which takes in nothing.
enum class LibraryFusionType : uint8_t {
  kDot,
  kEltwise,
  kReduce,
  kIndividualDot,
  kIndividualConvolution
};

class LibraryFusionTypes {
 public:
  constexpr LibraryFusionTypes() = default;
  constexpr LibraryFusionTypes(std::initializer_list<LibraryFusionType> types) {
    for (const LibraryFusionType type : types) Insert(type);
  }
  constexpr void Insert(LibraryFusionType type) { bits_ |= Bit(type); }
  constexpr bool Has(LibraryFusionType type) const { return (bits_ & Bit(type)) != 0; }
  constexpr bool empty() const { return bits_ == 0; }
  // Some type, individual or not, is about this operation.
  bool MayBegin(const Instruction& instruction) const;
  // A fusion that begins with it takes in its neighbours.
  bool Grows(const Instruction& instruction) const;

 private:
  static constexpr uint8_t Bit(LibraryFusionType type) {
    return static_cast<uint8_t>(1U << static_cast<unsigned>(type));
  }
  uint8_t bits_ = 0;
};

// "dot;reduce", or as in XLA's flags: "LIBRARY_FUSION_TYPE_DOT,LIBRARY_FUSION_TYPE_REDUCE".
absl::Status ParseOption(const OptionText& text, LibraryFusionTypes& out);
std::string OptionValue(LibraryFusionTypes types);
std::string OptionType(LibraryFusionTypes);

}  // namespace hlo
