// What an instruction may carry besides its meaning: places, names, shardings, free-form
// configuration. Most instructions have none; Instruction keeps one pointer.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "lib/ops/attr_values.h"
#include "lib/support/boxed.h"
#include "lib/types/metadata.h"
#include "lib/types/shape_util.h"
#include "lib/types/sharding.h"

namespace hlo {

class Instruction;

// Sorted by key; values are plain strings or JSON dicts (kept as text with braces).
using FrontendAttributes = std::map<std::string, std::string, std::less<>>;

// `statistics={visualizing_index=0,name=1.5}`
struct Statistics {
  int64_t visualizing_index = 0;
  std::vector<std::pair<std::string, double>> values;
  friend bool operator==(const Statistics&, const Statistics&) = default;
};

// The array of the source program that a value stands for.
struct OriginalArray {
  std::string name;  // empty: unknown
  ShapeIndex index;
  friend bool operator==(const OriginalArray&, const OriginalArray&) = default;
  friend auto operator<=>(const OriginalArray& a, const OriginalArray& b) {
    if (const auto c = a.name <=> b.name; c != 0) return c;
    return std::vector<int64_t>(a.index.begin(), a.index.end()) <=>
           std::vector<int64_t>(b.index.begin(), b.index.end());
  }
};

// `origin={…}`: a tree of original arrays shaped like the value, or the mark of a synthetic call.
struct OriginalValue {
  struct Node {
    bool is_tuple = false;
    OriginalArray leaf;
    std::vector<Node> children;
    friend bool operator==(const Node&, const Node&) = default;
  };
  bool synthetic_call = false;
  Node tree;
  friend bool operator==(const OriginalValue&, const OriginalValue&) = default;
};

struct Extras {
  std::vector<Instruction*> control_predecessors;
  std::vector<Instruction*> control_successors;
  Boxed<Sharding> sharding;
  OpMetadata metadata;
  FrontendAttributes frontend_attributes;
  std::string backend_config;  // JSON text with its braces, or a plain string
  Boxed<Statistics> statistics;
  Boxed<OriginalValue> origin;
  Boxed<ResultAccuracy> result_accuracy;
};

}  // namespace hlo
