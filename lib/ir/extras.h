// What an instruction may carry besides its meaning: places, names, shardings, free-form
// configuration. Most instructions have none; Instruction keeps one pointer.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "lib/ops/attr_values.h"
#include "lib/support/boxed.h"
#include "lib/support/shared_text.h"
#include "lib/types/metadata.h"
#include "lib/types/shape_util.h"
#include "lib/types/sharding.h"

namespace hlo {

class Instruction;

// Sorted by key; values are plain strings or JSON dicts (kept as text with braces). 8 bytes where
// there are none.
class FrontendAttributes {
 public:
  using Map = std::map<std::string, std::string, std::less<>>;

  bool empty() const { return !map_.has_value() || map_->empty(); }
  size_t size() const { return map().size(); }
  Map::const_iterator begin() const { return map().begin(); }
  Map::const_iterator end() const { return map().end(); }
  Map::const_iterator find(std::string_view key) const { return map().find(key); }
  bool contains(std::string_view key) const { return map().contains(key); }
  const std::string& at(const std::string& key) const { return map().at(key); }
  std::string& operator[](const std::string& key) { return mutable_map()[key]; }
  void insert_or_assign(std::string key, std::string value) {
    mutable_map().insert_or_assign(std::move(key), std::move(value));
  }
  void clear() { map_.reset(); }
  friend bool operator==(const FrontendAttributes& a, const FrontendAttributes& b) {
    return a.map() == b.map();
  }

 private:
  const Map& map() const {
    static const Map kNone;
    return map_.has_value() ? *map_ : kNone;
  }
  Map& mutable_map() { return map_.has_value() ? *map_ : map_.emplace(); }

  Boxed<Map> map_;
};

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

// Control edges in both directions.
struct ControlEdges {
  std::vector<Instruction*> predecessors;
  std::vector<Instruction*> successors;
};

struct Extras {
  Boxed<ControlEdges> control;
  Boxed<Sharding> sharding;
  OpMetadata metadata;
  FrontendAttributes frontend_attributes;
  SharedText backend_config;  // JSON text with its braces, or a plain string
  Boxed<Statistics> statistics;
  Boxed<OriginalValue> origin;
  Boxed<ResultAccuracy> result_accuracy;
};

// Extras stand in the memory of their module, which goes with it.
struct DestroyExtras {
  void operator()(Extras* extras) const { extras->~Extras(); }
};
using ExtrasPtr = std::unique_ptr<Extras, DestroyExtras>;

}  // namespace hlo
