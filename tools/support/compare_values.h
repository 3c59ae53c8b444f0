// Compares the outputs of two runs, array by array.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "lib/types/literal.h"
#include "lib/types/literal_compare.h"

namespace hlo {

struct Verdict {
  bool ok = true;
  std::string report;    // a line for each output, more for those that do not agree
  int64_t compared = 0;  // elements
  int64_t nans = 0;      // of them, NaN on both sides
  bool only_nans() const { return ok && compared > 0 && nans == compared; }
};

// Adds what is known of output `number` to a verdict.
void AddReport(Verdict& verdict, size_t number, Shape shape, const CompareReport& report);

// The tolerance of values of this type where nothing else is said.
Tolerance DefaultTolerance(ElementType type);

// Compares array leaf by array leaf. Without `tolerance` the default of each type is used.
Verdict CompareOutputs(const Literal& actual, const Literal& expected,
                       const std::optional<Tolerance>& tolerance);

}  // namespace hlo
