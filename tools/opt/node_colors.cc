#include "tools/opt/node_colors.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "lib/analysis/program_cost.h"
#include "lib/ir/printer.h"
#include "lib/support/hash.h"

namespace hlo {
namespace {

constexpr std::string_view kWhite = "#ffffff";

std::string ColorOfKind(const Instruction& instruction) {
  struct Row {
    Opcode opcode;
    std::string_view color;
  };
  constexpr Row kRows[] = {
      {Opcode::kParameter, "#ffcc80"},   {Opcode::kConstant, "#e0e0e0"},
      {Opcode::kDot, "#90caf9"},         {Opcode::kConvolution, "#90caf9"},
      {Opcode::kFusion, "#ce93d8"},      {Opcode::kWhile, "#a5d6a7"},
      {Opcode::kConditional, "#a5d6a7"}, {Opcode::kCall, "#a5d6a7"},
  };
  for (const Row& row : kRows) {
    if (row.opcode == instruction.opcode()) return std::string(row.color);
  }
  return std::string(kWhite);
}

// From white to red; small shares are still told from none.
std::string Heat(double share) {
  const double heat = std::sqrt(std::clamp(share, 0.0, 1.0));
  const auto towards = [heat](int last) { return static_cast<int>(255 - heat * (255 - last)); };
  return fmt::format("#{:02x}{:02x}{:02x}", towards(0xe5), towards(0x39), towards(0x35));
}

// Light colours, so that black text can be read on them.
std::string ColorOfText(std::string_view text) {
  const uint64_t hash = HashBytes(text);
  return fmt::format("#{:02x}{:02x}{:02x}", 0x90 + hash % 0x70, 0x90 + (hash >> 16) % 0x70,
                     0x90 + (hash >> 32) % 0x70);
}

std::string ColorOfSharding(const Instruction& instruction) {
  return instruction.sharding() == nullptr ? std::string(kWhite)
                                           : ColorOfText(instruction.sharding()->ToString());
}

struct Measure {
  std::string_view word;
  double (*of)(const Cost& cost);
};
constexpr Measure kMeasures[] = {
    {"time",
     [](const Cost& cost) {
       const PlatformRates& rates = RatesOf("cpu");
       return SecondsOf(cost, rates, rates.lanes);
     }},
    {"bytes", [](const Cost& cost) { return cost.bytes; }},
    {"flops", [](const Cost& cost) { return cost.flops + cost.transcendentals; }},
};
struct Look {
  std::string_view word;
  std::string (*of)(const Instruction& instruction);
};
constexpr Look kLooks[] = {{"kind", ColorOfKind}, {"sharding", ColorOfSharding}};

}  // namespace

std::vector<std::string_view> NodeColors::Words() {
  std::vector<std::string_view> words;
  for (const Look& look : kLooks) words.push_back(look.word);
  for (const Measure& measure : kMeasures) words.push_back(measure.word);
  return words;
}

NodeColors::NodeColors(const Module& module, std::string_view word)
    : colors_(static_cast<size_t>(module.id_limit()), std::string(kWhite)) {
  const auto for_each = [&module](const auto& visit) {
    for (const Computation* computation : module.computations())
      for (const Instruction* instruction : computation->instructions()) visit(*instruction);
  };
  for (const Look& look : kLooks) {
    if (look.word != word) continue;
    for_each(
        [&](const Instruction& one) { colors_[static_cast<size_t>(one.id())] = look.of(one); });
  }
  for (const Measure& measure : kMeasures) {
    if (measure.word != word) continue;
    const ProgramCost cost(module);
    double largest = 0;
    for_each(
        [&](const Instruction& one) { largest = std::max(largest, measure.of(cost.Of(one))); });
    if (largest == 0) return;
    for_each([&](const Instruction& one) {
      colors_[static_cast<size_t>(one.id())] = Heat(measure.of(cost.Of(one)) / largest);
    });
  }
}

}  // namespace hlo
