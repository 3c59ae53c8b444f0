// lib/types/shape_intern.cc
//
// The table of all shapes of the process. It is split by hash so that threads seldom wait for each
// other.
#include <algorithm>
#include <mutex>

#include "absl/container/flat_hash_set.h"
#include "lib/support/hash.h"
#include "lib/types/append.h"
#include "lib/types/shape_limits.h"
#include "lib/types/shape_node.h"

namespace hlo::internal {
namespace {

struct NodeHash {
  size_t operator()(const ShapeNode* node) const { return node->hash; }
};
struct NodeEqual {
  bool operator()(const ShapeNode* a, const ShapeNode* b) const { return a->SameAs(*b); }
};

struct alignas(64) Shard {
  std::mutex mutex;
  absl::flat_hash_set<const ShapeNode*, NodeHash, NodeEqual> nodes;
};

constexpr int kShardBits = 5;

Shard& ShardOf(uint64_t hash) {
  static auto* const shards = new Shard[1 << kShardBits];
  return shards[hash >> (64 - kShardBits)];
}

uint64_t HashOf(const ShapeNode& node) {
  uint64_t h = HashMix(static_cast<uint64_t>(node.type), node.dims.size());
  for (size_t i = 0; i < node.dims.size(); ++i)
    h = HashMix(h, static_cast<uint64_t>(node.dims[i]) * 2 + node.dynamic[i]);
  if (node.layout.has_value()) h = HashMix(h, node.layout->Hash());
  for (const Shape element : node.elements) h = HashMix(h, element.Hash());
  return h;
}

// Bounds count for dynamic dimensions, nothing for unbounded ones; huge products stop at INT64_MAX.
int64_t CountElements(const ShapeNode& node) {
  if (!IsArrayType(node.type)) return 0;
  int64_t count = 1;
  for (const int64_t dim : node.dims) {
    if (dim <= 0) return 0;
    if (__builtin_mul_overflow(count, dim, &count)) count = INT64_MAX;
  }
  return count;
}

void AppendDims(const ShapeNode& node, std::string& out) {
  out += '[';
  for (size_t i = 0; i < node.dims.size(); ++i) {
    if (i > 0) out += ',';
    if (node.dims[i] == Shape::kUnbounded) {
      out += '?';
      continue;
    }
    if (node.dynamic[i]) out += "<=";
    AppendInt(node.dims[i], out);
  }
  out += ']';
}

// XLA numbers every fifth element of a tuple in a comment.
void AppendElements(const std::vector<Shape>& elements, std::string& out) {
  out += '(';
  for (size_t i = 0; i < elements.size(); ++i) {
    if (i > 0) out += ", ";
    if (i > 0 && i % 5 == 0) {
      out += "/*index=";
      AppendInt(i, out);
      out += "*/";
    }
    out += elements[i].Text();
  }
  out += ')';
}

std::string MakeText(const ShapeNode& node) {
  std::string out;
  if (node.type == ElementType::kTuple) {
    AppendElements(node.elements, out);
    return out;
  }
  if (node.type == ElementType::kBuffer) {
    out += "b(";
    out += node.elements[0].Text();
    out += ')';
    return out;
  }
  out += Text(node.type);
  AppendDims(node, out);
  if (node.layout.has_value() && (!node.dims.empty() || node.layout->HasProperties())) {
    node.layout->AppendTo(out);
  }
  return out;
}

}  // namespace

bool ShapeNode::SameAs(const ShapeNode& other) const {
  return hash == other.hash && type == other.type && dims == other.dims &&
         dynamic == other.dynamic && layout == other.layout && elements == other.elements;
}

void ShapeNode::CopyFrom(const ShapeNode& other) {
  type = other.type;
  dims = other.dims;
  dynamic = other.dynamic;
  layout = other.layout;
  elements = other.elements;
}

const ShapeNode* Intern(ShapeNode& candidate) {
  candidate.hash = HashOf(candidate);
  Shard& shard = ShardOf(candidate.hash);
  const std::lock_guard lock(shard.mutex);
  const auto found = shard.nodes.find(&candidate);
  if (found != shard.nodes.end()) return *found;
  auto* node = new ShapeNode;
  node->type = candidate.type;
  node->dims = std::move(candidate.dims);
  node->dynamic = std::move(candidate.dynamic);
  node->layout = std::move(candidate.layout);
  node->elements = std::move(candidate.elements);
  node->hash = candidate.hash;
  node->element_count = CountElements(*node);
  node->has_buffer = node->type == ElementType::kBuffer;
  for (const bool dynamic : node->dynamic) node->has_dynamic_dims |= dynamic;
  for (const Shape element : node->elements) {
    const ShapeNode& inner = *ShapeNode::Of(element);
    node->depth = std::max(node->depth, inner.depth + 1);
    node->has_buffer |= inner.has_buffer;
    node->has_dynamic_dims |= inner.has_dynamic_dims;
  }
  node->text = MakeText(*node);
  shard.nodes.insert(node);
  return node;
}

}  // namespace hlo::internal

namespace hlo {

int NestingDepth(Shape shape) { return internal::ShapeNode::Of(shape)->depth; }
bool HasBuffer(Shape shape) { return internal::ShapeNode::Of(shape)->has_buffer; }

}  // namespace hlo
