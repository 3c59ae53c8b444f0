// Compares the outputs of two runs, array by array.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/types/span.h"
#include "lib/types/literal.h"
#include "lib/types/literal_compare.h"

namespace hlo {

// What is known of one output, for programs.
struct OutputVerdict {
  size_t number = 0;
  std::string shape;
  bool ok = true;
  bool is_ignored = false;
  int64_t compared = 0, mismatched = 0;  // elements
  int64_t nans = 0;                      // of them, NaN on both sides
  double max_abs_error = 0, max_rel_error = 0;
  Tolerance tolerance;
};

struct Verdict {
  bool ok = true;
  std::string report;    // a line for each output, more for those that do not agree
  int64_t compared = 0;  // elements
  int64_t nans = 0;      // of them, NaN on both sides
  std::vector<OutputVerdict> outputs = {};
  bool only_nans() const { return ok && compared > 0 && nans == compared; }
};

// Adds what is known of output `number` to a verdict.
void AddReport(Verdict& verdict, size_t number, Shape shape, const CompareReport& report,
               const Tolerance& tolerance);

// How one output is compared.
struct OutputRule {
  std::optional<Tolerance> tolerance;  // empty: the default of its type
  bool of_largest = false;             // `rel` is also of the largest expected value
  bool is_ignored = false;
};

// The tolerance of values of this type where nothing else is said.
Tolerance DefaultTolerance(ElementType type);

// Compares array leaf by array leaf. Without `tolerance` the default of each type is used.
Verdict CompareOutputs(const Literal& actual, const Literal& expected,
                       const std::optional<Tolerance>& tolerance);
// The same with a rule for each leaf.
Verdict CompareOutputs(const Literal& actual, const Literal& expected,
                       absl::Span<const OutputRule> rules);

}  // namespace hlo
