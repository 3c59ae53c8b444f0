// Custom calls that mean something: linear algebra by the table of its targets, marks of
// frontends, halves of numbers.
#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "lib/linalg/call.h"
#include "lib/linalg/targets.h"
#include "lib/ops/attrs.h"
#include "lib/support/strings.h"
#include "tools/fuzz/programs/rows.h"

namespace hlo {
namespace {

Instruction* Call(Builder& b, std::string_view target, Shape result,
                  absl::Span<Instruction* const> operands, std::string_view config = "",
                  std::optional<std::vector<Shape>> layouts = std::nullopt) {
  CustomCallAttrs attrs;
  attrs.operand_layout_constraints = std::move(layouts);
  attrs.custom_call_target = std::string(target);
  if (!config.empty()) attrs.api_version = ApiVersion::kTypedFfi;
  Instruction* call =
      b.OpWithShape(Opcode::kCustomCall, result, operands, AttrsPtr::Make(std::move(attrs)));
  if (b.status().ok() && !config.empty())
    call->mutable_extras().backend_config = std::string(config);
  return call;
}

// What a row of the table of targets leaves open, chosen: sizes by their letters, attributes.
struct Chosen {
  linalg::Sizes sizes;
  std::string config;
  char type = 's';
};

// The letters and numbers of `name:LETTERS …`.
void ChooseAttributes(Sketch& s, std::string_view attributes, Chosen& chosen) {
  std::string config;
  for (const std::string_view word : Split(attributes, ' ')) {
    const size_t colon = word.find(':');
    if (colon == std::string_view::npos) continue;
    const std::string_view name = word.substr(0, colon), letters = word.substr(colon + 1);
    const char letter = letters[s.random().Below(letters.size())];
    linalg::Sizes& z = chosen.sizes;
    std::string value = fmt::format("{} : ui8", static_cast<int>(letter));
    if (letters == "b") {
      const bool yes = s.random().OneIn(2);
      value = yes ? "true" : "false";
      if (name == "left" && !yes) z['q'] = z['n'];
    } else if (letters == "i") {
      value = fmt::format("{} : i32", name == "low" ? 1 : z['n']);
    }
    if (name == "side" && letter == 'R') z['t'] = z['n'];
    if (name == "mode" && letter != 'A') z['u'] = z['v'] = z['k'];
    config += fmt::format("{}{} = {}", config.empty() ? "" : ", ", name, value);
  }
  chosen.config = fmt::format("{{{}}}", config);
}

Chosen Choose(Sketch& s, const linalg::Target& target) {
  Chosen chosen;
  chosen.type = target.types[s.random().Below(target.types.size())];
  linalg::Sizes& z = chosen.sizes;
  for (char letter = 'a'; letter <= 'z'; ++letter)
    z[letter] = static_cast<int64_t>(s.random().Small(7));
  if (target.limits.find("n<=m") != std::string_view::npos) z['n'] = std::min(z['n'], z['m']);
  z['k'] = std::min(z['m'], z['n']);
  z['p'] = std::max<int64_t>(z['n'] - 1, 0);
  z['t'] = z['q'] = z['u'] = z['m'];
  z['v'] = z['n'];
  z['a'] = z['m'] + 1;
  ChooseAttributes(s, target.attributes, chosen);
  z['r'] = std::min({z['r'], z['k'], z['q'], z['n']});
  return chosen;
}

// `T[m,n]` of a batch.
Shape ShapeOf(std::string_view text, const Chosen& chosen, int64_t batch) {
  const ElementType type = linalg::TypeOfLetter(chosen.type);
  const ElementType element = text.front() == 'R'   ? ComponentType(type)
                              : text.front() == 'C' ? ComplexTypeOf(type)
                              : text.front() == 'T' ? type
                                                    : ElementType::kS32;
  DimVec dims;
  if (batch > 0) dims.push_back(batch);
  for (const char c : text.substr(1)) {
    if (c >= 'a' && c <= 'z') dims.push_back(chosen.sizes[c]);
  }
  return Shape::Array(element, dims);
}

// LAPACK has its matrices column by column.
Shape ByColumns(Shape shape) {
  if (shape.rank() < 2) return shape.WithDefaultLayout();
  Layout layout = shape.WithDefaultLayout().layout();
  std::swap(layout.minor_to_major[0], layout.minor_to_major[1]);
  return shape.WithLayout(layout);
}

std::vector<Shape> ShapesOf(std::string_view text, const Chosen& chosen, int64_t batch,
                            bool by_columns) {
  std::vector<Shape> shapes;
  for (const std::string_view word : Split(text, ' ')) {
    const bool is_matrix = word.find(',') != std::string_view::npos;
    const Shape shape = ShapeOf(word, chosen, batch).WithDefaultLayout();
    shapes.push_back(by_columns && is_matrix ? ByColumns(shape) : shape);
  }
  return shapes;
}

// Integers are pivots, row starts or columns: zeros are all of them.
Instruction* OperandOf(Sketch& s, Shape shape) {
  if (shape.element_type() != ElementType::kS32) return s.Value(shape);
  return s.computation()->AddConstant(Literal(shape));
}

void GrowLinearAlgebra(Sketch& s) {
  const absl::Span<const linalg::Target> targets = linalg::Targets();
  const linalg::Target& target = targets[s.random().Below(targets.size())];
  const Chosen chosen = Choose(s, target);
  std::string name(target.name);
  if (const size_t letter = name.find('?'); letter != std::string::npos) name[letter] = chosen.type;
  const bool is_sparse = name.find("csr") != std::string::npos;
  const int64_t batch =
      is_sparse || s.random().OneIn(2) ? 0 : static_cast<int64_t>(s.random().Small(3));
  const bool by_columns = name.starts_with("lapack_") || name.starts_with("tridiagonal_");
  const std::vector<Shape> layouts = ShapesOf(target.operands, chosen, batch, by_columns);
  std::vector<Instruction*> operands;
  for (const Shape& shape : layouts) operands.push_back(OperandOf(s, shape.WithDefaultLayout()));
  const std::vector<Shape> results = ShapesOf(target.results, chosen, batch, by_columns);
  const bool is_typed = target.attributes.find(':') != std::string_view::npos ||
                        name.find("ffi") != std::string::npos;
  Builder b(s.computation());
  Instruction* call = Call(b, name, results.size() == 1 ? results.front() : Shape::Tuple(results),
                           operands, is_typed ? chosen.config : "lower", layouts);
  if (!b.status().ok()) return;
  if (!linalg::LinalgCall::Make(*call).ok()) return;  // nobody uses it
  if (results.size() == 1) return s.Keep(call);
  for (size_t i = 0; i < results.size(); ++i) {
    s.Make([&](Builder& e) { return e.GetTupleElement(call, static_cast<int64_t>(i)); });
  }
}

// Marks of frontends are the value itself.
void GrowMark(Sketch& s) {
  static constexpr std::string_view kTargets[] = {"Sharding", "MoveToHost", "MoveToDevice",
                                                  "LayoutConstraint", "annotate_device_placement"};
  Instruction* x = s.Any();
  const std::string_view target = kTargets[s.random().Below(std::size(kTargets))];
  s.Make([&](Builder& b) { return Call(b, target, x->shape().WithDefaultLayout(), {x}); });
}

void GrowTopKCall(Sketch& s) {
  Instruction* x = s.AnyWhere([](const Instruction& v) {
    return v.shape().rank() > 0 && !IsComplex(v.shape().element_type()) &&
           v.shape().dim(v.shape().rank() - 1) > 0;
  });
  if (x == nullptr) return;
  const int last = x->shape().rank() - 1;
  const auto k =
      static_cast<int64_t>(1 + s.random().Below(static_cast<size_t>(x->shape().dim(last))));
  const Shape values = x->shape().WithDefaultLayout().WithDim(last, k);
  Builder b(s.computation());
  Instruction* both =
      Call(b, "TopK", Shape::Tuple({values, values.WithElementType(ElementType::kS32)}), {x});
  if (!b.status().ok()) return;
  for (int64_t i = 0; i < 2; ++i) s.Make([&](Builder& e) { return e.GetTupleElement(both, i); });
}

// A number of 64 bits in two halves, and back, perhaps exchanged.
void GrowHalves(Sketch& s) {
  Instruction* x =
      s.Value(Shape::Array(s.random().OneIn(2) ? ElementType::kS64 : ElementType::kU64, s.Dims()));
  const Shape half = x->shape().WithDefaultLayout().WithElementType(
      s.random().OneIn(2) ? ElementType::kS32 : ElementType::kU32);
  Instruction* low = s.Make([&](Builder& b) { return Call(b, "X64SplitLow", half, {x}); });
  Instruction* high = s.Make([&](Builder& b) { return Call(b, "X64SplitHigh", half, {x}); });
  if (low == nullptr || high == nullptr || s.random().OneIn(2)) return;
  if (s.random().OneIn(2)) std::swap(low, high);
  s.Make([&](Builder& b) {
    return Call(b, "X64Combine", x->shape().WithDefaultLayout(), {low, high});
  });
}

constexpr GrowRow kCallRows[] = {
    {"linear-algebra", 3, GrowLinearAlgebra},
    {"mark", 1, GrowMark},
    {"topk-call", 1, GrowTopKCall},
    {"halves", 1, GrowHalves},
};

}  // namespace

std::span<const GrowRow> CallRows() { return kCallRows; }

}  // namespace hlo
