#include "tools/fuzz/programs/census.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "lib/ops/opcode_groups.h"
#include "lib/ops/opcode_set.h"
#include "lib/types/shape_util.h"
#include "parser/parser.h"
#include "tools/fuzz/programs/computed_types.h"

namespace hlo {
namespace {

// What no row grows, and why.
struct NotGrown {
  OpcodeSet opcodes;
  bool (*types)(ElementType type);
  std::string_view reason;
};

constexpr auto kAll = [](ElementType) { return true; };
constexpr auto kComplexOnly = [](ElementType type) { return IsComplex(type); };
constexpr auto kPredOrComplex = [](ElementType type) { return IsPred(type) || IsComplex(type); };
constexpr auto kNoFloats = [](ElementType type) { return !IsFloat(type); };
constexpr auto kNoInexact = [](ElementType type) { return !IsFloat(type) && !IsComplex(type); };
constexpr auto kNotWide = [](ElementType type) {
  return !IsComplex(type) && type != ElementType::kF32 && type != ElementType::kF64;
};

constexpr NotGrown kNotGrown[] = {
    {{Opcode::kInfeed, Opcode::kOutfeed, Opcode::kSend, Opcode::kSendDone, Opcode::kRecv,
      Opcode::kRecvDone},
     kAll,
     "nobody is at the other end"},
    {kDeviceIds, [](ElementType type) { return type != ElementType::kU32; }, "its result is `u32`"},
    {{Opcode::kRngGetAndUpdateState},
     [](ElementType type) { return type != ElementType::kU64; },
     "its result is `u64`"},
    {{Opcode::kIota}, [](ElementType type) { return IsPred(type); }, "its rule takes numbers"},
    {{Opcode::kRng, Opcode::kRngBitGenerator}, kPredOrComplex, "there are none of these"},
    {{Opcode::kSelectAndScatter, Opcode::kTopK}, kComplexOnly, "complex numbers have no order"},
    {{Opcode::kBatchNormGrad, Opcode::kBatchNormInference, Opcode::kBatchNormTraining,
      Opcode::kScaledDot},
     kNoFloats,
     "it is about floats"},
    {{Opcode::kCholesky, Opcode::kTriangularSolve}, kNoInexact, "it is about floats"},
    {{Opcode::kFft, Opcode::kComplex}, kNotWide, "complex numbers have parts of f32 or f64"},
};

std::string_view ReasonFor(Opcode opcode, ElementType type) {
  for (const NotGrown& row : kNotGrown) {
    if (row.opcodes.Has(opcode) && row.types(type)) return row.reason;
  }
  return "";
}

// The element types of what an instruction takes and gives.
std::set<ElementType> TypesOf(const Instruction& instruction) {
  std::set<ElementType> types;
  const auto add = [&](Shape shape) {
    ForEachLeaf(shape, [&](Shape leaf, const ShapeIndex&) {
      if (leaf.IsArray()) types.insert(leaf.element_type());
    });
  };
  for (const Instruction* operand : instruction.operands()) add(operand->shape());
  add(instruction.shape());
  return types;
}

}  // namespace

void Census::Add(std::string_view text) {
  const absl::StatusOr<std::unique_ptr<Module>> module = ParseModule(std::string(text));
  if (!module.ok()) return;
  ++programs_;
  for (const Computation* computation : (*module)->computations()) {
    for (const Instruction* instruction : computation->instructions())
      for (const ElementType type : TypesOf(*instruction))
        ++counts_[static_cast<size_t>(instruction->opcode())][static_cast<size_t>(type)];
  }
}

bool Census::Has(Opcode opcode) const {
  const auto& counts = counts_[static_cast<size_t>(opcode)];
  return std::any_of(counts.begin(), counts.end(), [](int64_t count) { return count > 0; });
}

std::vector<ElementType> Census::Holes(Opcode opcode) const {
  std::vector<ElementType> holes;
  for (const ElementType type : ArrayTypes()) {
    if (Count(opcode, type) == 0 && Computes(opcode, type) && ReasonFor(opcode, type).empty())
      holes.push_back(type);
  }
  return holes;
}

std::string Census::ToText() const {
  std::string text = fmt::format("{} programs\n", programs_);
  for (int i = 0; i < kOpcodeCount; ++i) {
    const auto opcode = static_cast<Opcode>(i);
    int64_t all = 0;
    int types = 0;
    for (int t = 0; t < kElementTypeCount; ++t) {
      const int64_t count = Count(opcode, static_cast<ElementType>(t));
      all += count;
      types += count > 0 ? 1 : 0;
    }
    text += fmt::format("{:<26} {:>8} of {:>2} types", Text(opcode), all, types);
    std::string_view reason;
    for (const ElementType type : ArrayTypes()) {
      if (Count(opcode, type) == 0 && reason.empty()) reason = ReasonFor(opcode, type);
    }
    if (!reason.empty()) text += fmt::format("; others not: {}", reason);
    const std::vector<ElementType> holes = Holes(opcode);
    if (!holes.empty()) text += "; never";
    for (const ElementType type : holes) text += fmt::format(" {}", Text(type));
    text += "\n";
  }
  return text;
}

}  // namespace hlo
