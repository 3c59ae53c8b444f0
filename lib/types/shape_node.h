// lib/types/shape_node.h
//
// The interned body of a Shape. Private to the shape*.cc.
//
// A node is filled by its maker, given to Intern and never changed or freed after. Its text is made
// once, when the node enters the table, so printing a shape is a copy of bytes.
#pragma once

#include <atomic>
#include <optional>
#include <string>
#include <vector>

#include "lib/types/shape.h"

namespace hlo::internal {

struct ShapeNode {
  ElementType type = ElementType::kTuple;
  bool has_dynamic_dims = false;  // here or in an element; derived
  DimVec dims;
  absl::InlinedVector<bool, 6> dynamic;  // one per dimension
  std::optional<Layout> layout;
  std::vector<Shape> elements;  // of tuples and buffers

  // Derived by Intern.
  uint64_t hash = 0;
  int64_t element_count = 0;
  int32_t depth = 0;
  bool has_buffer = false;  // here or in an element
  std::string text;
  // The same shape without layouts, found on first demand.
  mutable std::atomic<const ShapeNode*> without_layout{nullptr};
  // Set once ValidateShape has found it sound.
  mutable std::atomic<bool> sound{false};

  static Shape Wrap(const ShapeNode* node) { return Shape(node); }
  static const ShapeNode* Of(Shape shape) { return shape.node_; }
  // Fields that define the shape, nothing derived.
  bool SameAs(const ShapeNode& other) const;
  // A copy of the defining fields.
  void CopyFrom(const ShapeNode& other);
};

// The one node equal to `candidate`, whose contents are moved from if it is new. Thread-safe.
const ShapeNode* Intern(ShapeNode& candidate);

}  // namespace hlo::internal
