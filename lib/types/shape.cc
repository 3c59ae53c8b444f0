// lib/types/shape.cc
//
// Making shapes and asking them. The table behind is in shape_intern.cc.
#include "lib/types/shape.h"

#include <algorithm>

#include "lib/support/check.h"
#include "lib/types/shape_node.h"

namespace hlo {

using internal::Intern;
using internal::ShapeNode;

namespace {

const ShapeNode* EmptyTuple() {
  static const ShapeNode* const node = [] {
    ShapeNode empty;
    return Intern(empty);
  }();
  return node;
}

Shape MakeSimple(ElementType type) {
  ShapeNode node;
  node.type = type;
  return ShapeNode::Wrap(Intern(node));
}

// The tuple or buffer of the same kind whose elements are `fn` of the elements.
template <class Fn>
Shape MapElements(Shape shape, Fn fn) {
  ShapeNode node;
  node.type = shape.element_type();
  node.elements.reserve(shape.elements().size());
  for (const Shape element : shape.elements()) node.elements.push_back(fn(element));
  return ShapeNode::Wrap(Intern(node));
}

bool HasElements(Shape shape) { return shape.IsTuple() || shape.IsBuffer(); }

// Walks two trees of the same structure; `same` decides for everything but tuples and buffers.
template <class Fn>
bool AllLeaves(Shape a, Shape b, Fn same) {
  if (a == b) return true;
  if (!HasElements(a) || !HasElements(b)) return !HasElements(a) && !HasElements(b) && same(a, b);
  if (a.element_type() != b.element_type()) return false;
  if (a.elements().size() != b.elements().size()) return false;
  for (size_t i = 0; i < a.elements().size(); ++i) {
    if (!AllLeaves(a.elements()[i], b.elements()[i], same)) return false;
  }
  return true;
}

}  // namespace

Shape::Shape() : node_(EmptyTuple()) {}

Shape Shape::Array(ElementType type, absl::Span<const int64_t> dims) {
  return Array(type, dims, {});
}

Shape Shape::Array(ElementType type, absl::Span<const int64_t> dims,
                   absl::Span<const bool> dynamic) {
  ShapeNode node;
  node.type = type;
  node.dims.assign(dims.begin(), dims.end());
  node.dynamic.resize(dims.size());
  for (size_t i = 0; i < dims.size(); ++i) {
    node.dynamic[i] = dims[i] == kUnbounded || (i < dynamic.size() && dynamic[i]);
  }
  node.layout = Layout::RowMajor(static_cast<int>(dims.size()));
  return Shape(Intern(node));
}

Shape Shape::Tuple(absl::Span<const Shape> elements) {
  ShapeNode node;
  node.elements.assign(elements.begin(), elements.end());
  return Shape(Intern(node));
}

Shape Shape::Token() {
  static const Shape shape = MakeSimple(ElementType::kToken);
  return shape;
}

Shape Shape::Opaque() {
  static const Shape shape = MakeSimple(ElementType::kOpaque);
  return shape;
}

Shape Shape::Buffer(Shape array) {
  ShapeNode node;
  node.type = ElementType::kBuffer;
  node.elements.push_back(array);
  return Shape(Intern(node));
}

ElementType Shape::element_type() const { return node_->type; }
int Shape::rank() const { return static_cast<int>(node_->dims.size()); }
absl::Span<const int64_t> Shape::dims() const { return node_->dims; }
bool Shape::is_dynamic(int i) const { return node_->dynamic[i]; }
bool Shape::has_dynamic_dims() const { return node_->has_dynamic_dims; }
bool Shape::IsEffectiveScalar() const { return IsArray() && node_->element_count == 1; }
bool Shape::IsZeroSized() const {
  return IsArray() && std::find(node_->dims.begin(), node_->dims.end(), 0) != node_->dims.end();
}
int64_t Shape::element_count() const { return node_->element_count; }
bool Shape::has_layout() const { return node_->layout.has_value(); }
const Layout& Shape::layout() const {
  HLO_DCHECK(has_layout());
  return *node_->layout;
}
const Layout* Shape::layout_or_null() const { return has_layout() ? &*node_->layout : nullptr; }
absl::Span<const Shape> Shape::elements() const { return node_->elements; }

Shape Shape::WithElementType(ElementType type) const {
  ShapeNode node;
  node.CopyFrom(*node_);
  node.type = type;
  // A packed size belongs to the old type.
  if (node.layout.has_value() && node.layout->element_size_in_bits != BitWidth(type)) {
    node.layout->element_size_in_bits = 0;
  }
  return Shape(Intern(node));
}

Shape Shape::WithDimensions(absl::Span<const int64_t> dims) const {
  return Array(element_type(), dims);
}

Shape Shape::WithDim(int i, int64_t size) const {
  ShapeNode node;
  node.CopyFrom(*node_);
  node.dims[i] = size;
  node.dynamic[i] = node.dynamic[i] || size == kUnbounded;
  return Shape(Intern(node));
}

Shape Shape::WithSizes(absl::Span<const int64_t> sizes) const {
  ShapeNode node;
  node.CopyFrom(*node_);
  for (size_t i = 0; i < sizes.size(); ++i) {
    node.dims[i] = sizes[i];
    node.dynamic[i] = node.dynamic[i] || sizes[i] == kUnbounded;
  }
  return Shape(Intern(node));
}

Shape Shape::WithDynamic(int i, bool dynamic) const {
  ShapeNode node;
  node.CopyFrom(*node_);
  node.dynamic[i] = dynamic || node.dims[i] == kUnbounded;
  return Shape(Intern(node));
}

Shape Shape::WithLayout(const Layout& layout) const {
  if (has_layout() && this->layout() == layout) return *this;
  ShapeNode node;
  node.CopyFrom(*node_);
  node.layout = layout;
  return Shape(Intern(node));
}

Shape Shape::WithoutLayout() const {
  const ShapeNode* known = node_->without_layout.load(std::memory_order_acquire);
  if (known != nullptr) return Shape(known);
  Shape result = *this;
  if (HasElements(*this)) {
    result = MapElements(*this, [](Shape element) { return element.WithoutLayout(); });
  } else if (IsScalar()) {
    result = Scalar(element_type());
  } else if (has_layout()) {
    ShapeNode node;
    node.CopyFrom(*node_);
    node.layout.reset();
    result = Shape(Intern(node));
  }
  node_->without_layout.store(result.node_, std::memory_order_release);
  return result;
}

Shape Shape::WithDefaultLayout() const {
  if (HasElements(*this)) {
    return MapElements(*this, [](Shape element) { return element.WithDefaultLayout(); });
  }
  return IsArray() ? WithLayout(Layout::RowMajor(rank())) : *this;
}

Shape Shape::WithMissingLayoutsFilled() const {
  if (HasElements(*this)) {
    return MapElements(*this, [](Shape element) { return element.WithMissingLayoutsFilled(); });
  }
  return IsArray() && !has_layout() ? WithLayout(Layout::RowMajor(rank())) : *this;
}

Shape Shape::WithElement(int i, Shape element) const {
  ShapeNode node;
  node.CopyFrom(*node_);
  node.elements[i] = element;
  return Shape(Intern(node));
}

Shape Shape::WithoutDynamic() const {
  if (!has_dynamic_dims()) return *this;
  if (HasElements(*this)) {
    return MapElements(*this, [](Shape element) { return element.WithoutDynamic(); });
  }
  ShapeNode node;
  node.CopyFrom(*node_);
  for (size_t i = 0; i < node.dims.size(); ++i) node.dynamic[i] = node.dims[i] == kUnbounded;
  return Shape(Intern(node));
}

std::string_view Shape::Text(bool with_layout) const {
  return with_layout ? node_->text : WithoutLayout().node_->text;
}
std::string Shape::ToString(bool with_layout) const { return std::string(Text(with_layout)); }
void Shape::AppendTo(std::string& out, bool with_layout) const { out += Text(with_layout); }
uint64_t Shape::Hash() const { return node_->hash; }

bool Compatible(Shape a, Shape b) { return a == b || a.WithoutLayout() == b.WithoutLayout(); }

bool SameDimensions(Shape a, Shape b) { return a.IsArray() && b.IsArray() && a.dims() == b.dims(); }

bool CompatibleUpToBounds(Shape a, Shape b) {
  return AllLeaves(a, b, [](Shape x, Shape y) {
    return x.element_type() == y.element_type() &&
           (x.IsArray() ? SameDimensions(x, y) : Compatible(x, y));
  });
}

bool CompatibleIgnoringDynamic(Shape a, Shape b) {
  return AllLeaves(a, b, [](Shape x, Shape y) {
    if (x.element_type() != y.element_type() || x.rank() != y.rank()) return false;
    for (int i = 0; i < x.rank(); ++i) {
      if (x.dim(i) != y.dim(i) && !x.is_dynamic(i) && !y.is_dynamic(i)) return false;
    }
    return true;
  });
}

}  // namespace hlo
