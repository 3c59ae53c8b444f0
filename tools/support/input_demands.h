// What an entry's parameters have to be for its results to mean something: integers that gather,
// scatter, dynamic-slice, dynamic-update-slice and conditional take as indices are in range, sorted
// and distinct where they promise it, rows that devices exchange lie in their arrays, sizes of
// groups add up to what is grouped, what a reduction starts with leaves its sums alone, what is
// factorised is positive definite, and what roots and logarithms are taken of is positive. Each
// demand is followed backwards through operations that only move values, through calls, fusions,
// loops, branches and asynchronous chains, to the parameters.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "lib/ir/module.h"
#include "lib/types/shape_util.h"

namespace hlo {

// Parameter number and index inside the parameter.
using LeafKey = std::pair<int64_t, std::vector<int64_t>>;

struct InputDemand {
  // The largest value that is in range everywhere (at least 0); values start at 0.
  std::optional<int64_t> index_limit;
  // The opcode of a reduction that starts with it.
  std::optional<Opcode> starts;
  bool is_positive = false;
  bool is_positive_definite = false;  // the matrices of its last two dimensions
  // Index vectors of so many numbers are in order, or all different; 0: no matter.
  int64_t sorted_columns = 0, distinct_columns = 0;
  std::optional<int64_t> sum;  // sizes of groups, which are not negative

  // What is demanded, and by which instruction: "from 0 to 3: an index of dynamic-slice `p`".
  std::vector<std::string> reasons;
};

// What is demanded of the leaves of the parameters; nothing of those that are not there. Calls of
// NVIDIA's libraries demand what the plain operations demand that they stand for.
std::map<LeafKey, InputDemand> InputDemands(const Module& module);

}  // namespace hlo
