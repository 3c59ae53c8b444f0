// The opcode table at run time: one constexpr array built from ops.def, and questions about its
// rows.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "absl/status/statusor.h"
#include "lib/ops/attrs_ptr.h"
#include "lib/types/shape.h"

namespace hlo {

enum class Opcode : uint8_t {
#define HLO_OP(Name, ...) k##Name,
#include "lib/ops/ops.def"
};

// Names and number of an opcode's operands. The last name covers all further operands.
struct OperandSpec {
  int min = 0;
  int max = 0;  // -1: no limit
  std::array<std::string_view, 5> names = {};
  int name_count = 0;
};

// The attributes that name called computations.
struct CallSpec {
  std::array<std::string_view, 2> names = {};
  int count = 0;         // computations, when not a list
  bool is_list = false;  // `name={%a, %b}`
};

// Classes of element types, as a set.
enum TypeSet : uint8_t {
  kByRule = 0,  // the shape rule says more than a set can
  kPredTypes = 1 << 0,
  kSignedTypes = 1 << 1,
  kUnsignedTypes = 1 << 2,
  kFloatTypes = 1 << 3,
  kComplexTypes = 1 << 4,
  kIntTypes = kSignedTypes | kUnsignedTypes,
  kBitTypes = kPredTypes | kIntTypes,
  kInexactTypes = kFloatTypes | kComplexTypes,
  kSignedNumberTypes = kSignedTypes | kInexactTypes,
  kNumberTypes = kIntTypes | kInexactTypes,
  kAnyTypes = kPredTypes | kNumberTypes,
};

enum Trait : uint32_t {
  kNoTraits = 0,
  kElementwise = 1 << 0,  // element i of the result depends on element i of the operands only
  kCommutative = 1 << 1,
  kAssociative = 1 << 2,  // mathematically (floats round)
  kSideEffect = 1 << 3,   // must stay even if unused
  kCollective = 1 << 4,
  kMovement = 1 << 5,  // moves elements unchanged
  kControlFlow = 1 << 6,
  kAsyncStart = 1 << 7,
  kAsyncDone = 1 << 8,
  kHasAccuracy = 1 << 9,     // takes result_accuracy
  kExplicitShape = 1 << 10,  // the text must give the shape
  kIgnoresShape = 1 << 11,   // a written shape is replaced by the rule's
  // Owns no memory: the result is its operands, or parts of them, under another name. What else
  // owns none depends on where things lie: see lib/analysis/alias.h.
  kAlias = 1 << 12,
  kKeepsBytes = 1 << 13,      // of dense row-major arrays: the result may be the operand
  kTranscendental = 1 << 14,  // costs a polynomial, a division or a root for each element
};

class ShapeArgs;
using ShapeRule = absl::StatusOr<Shape> (*)(const ShapeArgs&);

struct OpInfo {
  std::string_view name;  // "DynamicSlice"
  std::string_view text;  // "dynamic-slice"
  OperandSpec operands;
  CallSpec calls;
  const AttrsInfo& (*attrs)();
  AttrsPtr (*default_attrs)();  // null pointer for NoAttrs
  ShapeRule shape_rule;
  TypeSet types;
  uint32_t traits;
  std::string_view summary;
};

inline constexpr int kOpcodeCount = 0
#define HLO_OP(...) +1
#include "lib/ops/ops.def"
    ;

const OpInfo& Info(Opcode opcode);
std::span<const OpInfo> AllOpInfos();
inline std::string_view Text(Opcode opcode) { return Info(opcode).text; }
std::optional<Opcode> OpcodeFromText(std::string_view text);
// "; did you mean `cosine`?" or "".
std::string SuggestOpcode(std::string_view text);

inline bool HasTrait(Opcode opcode, Trait trait) { return (Info(opcode).traits & trait) != 0; }
inline bool IsElementwise(Opcode opcode) { return HasTrait(opcode, kElementwise); }
inline bool IsCommutative(Opcode opcode) { return HasTrait(opcode, kCommutative); }
// Name of operand i ("lhs"); operands covered by a variadic name get a number: "inputs[2]".
std::string OperandName(Opcode opcode, int i);

}  // namespace hlo
