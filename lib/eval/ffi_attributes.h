// lib/eval/ffi_attributes.h
//
// The attributes of a typed custom call: from the text of its backend_config to what a
// handler reads.
#pragma once

#include <deque>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "lib/eval/ffi_abi.h"
#include "lib/support/source.h"

namespace hlo::ffi {

// A dictionary and all it points to; stays where it is.
class AttributeTable {
 public:
  // `text`: `{name = 1 : i32, f = 2.5 : f32, b = true, s = "x", a = array<i64: 1, 2>, d = {…}}`, or
  // nothing.
  static absl::StatusOr<std::unique_ptr<AttributeTable>> Parse(std::string_view text,
                                                               SourceLoc loc);
  Attributes* attributes() { return &attributes_; }

 private:
  friend class AttributeParser;
  struct Item {
    std::string text;
    std::vector<char> bytes;
    ScalarAttribute scalar = {};
    ArrayAttribute array = {};
    Bytes span = {};
    std::unique_ptr<AttributeTable> table;
    AttributeKind kind = kScalar;
    void* value = nullptr;
    Bytes name = {};
  };
  void Finish();

  std::map<std::string, Item> items_;  // by name
  std::vector<int32_t> kinds_;
  std::vector<Bytes*> names_;
  std::vector<void*> values_;
  Attributes attributes_ = {};
};

}  // namespace hlo::ffi
