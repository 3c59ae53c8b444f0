// For tests of shape rules: shapes and signatures from text, and one line per case.
#pragma once

#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "lib/ops/shape_rules.h"

namespace hlo {

// Reads "f32[2,<=3,?]{1,0}", "token[]", "(f32[2], s32[])"; arrays without a layout get the
// row-major one.
class ShapeText {
 public:
  explicit ShapeText(std::string_view text) : text_(text) {}
  Shape Read() {
    Skip();
    if (Take('(')) return ReadTuple();
    std::string word;
    while (at_ < text_.size() && text_[at_] != '[') word += text_[at_++];
    if (word == "token") return at_ += 2, Shape::Token();
    const std::optional<ElementType> type = ElementTypeFromText(word);
    INFO("shape text: " << text_);
    REQUIRE(type.has_value());
    DimVec dims;
    absl::InlinedVector<bool, 6> dynamic;
    Take('[');
    while (!Take(']')) {
      if (Take('?')) {
        dims.push_back(Shape::kUnbounded);
        dynamic.push_back(true);
      } else {
        const bool bounded = Take('<') && Take('=');
        dims.push_back(ReadInt());
        dynamic.push_back(bounded);
      }
      Take(',');
    }
    const Shape shape =
        Shape::Array(*type, dims, absl::MakeConstSpan(dynamic.data(), dynamic.size()));
    if (!Take('{')) return shape;
    DimVec order;
    while (!Take('}')) {
      order.push_back(ReadInt());
      Take(',');
    }
    return shape.WithLayout(Layout::FromMinorToMajor(order));
  }

 private:
  Shape ReadTuple() {
    std::vector<Shape> elements;
    Skip();
    while (!Take(')')) {
      elements.push_back(Read());
      Take(',');
      Skip();
    }
    return Shape::Tuple(elements);
  }
  int64_t ReadInt() {
    int64_t value = 0;
    while (at_ < text_.size() && text_[at_] >= '0' && text_[at_] <= '9')
      value = value * 10 + (text_[at_++] - '0');
    return value;
  }
  bool Take(char c) {
    if (at_ >= text_.size() || text_[at_] != c) return false;
    ++at_;
    return true;
  }
  void Skip() {
    while (Take(' ')) {
    }
  }
  std::string_view text_;
  size_t at_ = 0;
};

inline Shape S(std::string_view text) { return ShapeText(text).Read(); }

// "f: (f32[], f32[]) -> pred[]"
inline Signature Fn(std::string_view text) {
  Signature signature;
  const size_t colon = text.find(':');
  const size_t arrow = text.find("->");
  signature.name = std::string(text.substr(0, colon));
  const Shape parameters = S(text.substr(colon + 1, arrow - colon - 1));
  signature.parameters.assign(parameters.elements().begin(), parameters.elements().end());
  signature.result = S(text.substr(arrow + 2));
  return signature;
}

struct ShapeCase {
  std::string_view opcode;
  std::vector<std::string_view> operands;
  std::string_view expected;  // the shape with its layout, or the message after "`opcode`: "
  AttrsPtr attrs = {};
  std::vector<std::string_view> calls = {};
  std::string_view declared = "";
};

// Runs the rule of the case and compares the result's text or the message.
inline void Check(const ShapeCase& c) {
  const std::optional<Opcode> opcode = OpcodeFromText(c.opcode);
  REQUIRE(opcode.has_value());
  std::vector<Shape> operands;
  for (const std::string_view text : c.operands) operands.push_back(S(text));
  std::vector<Signature> calls;
  for (const std::string_view text : c.calls) calls.push_back(Fn(text));
  std::optional<Shape> declared;
  if (!c.declared.empty()) declared = S(c.declared);
  const AttrsPtr attrs = c.attrs ? c.attrs : Info(*opcode).default_attrs();
  const absl::StatusOr<Shape> result =
      InferShape(ShapeArgs(*opcode, operands, attrs, calls, declared));
  std::string found = result.ok() ? result->ToString() : std::string(result.status().message());
  const std::string prefix = fmt::format("`{}`: ", c.opcode);
  if (found.starts_with(prefix)) found.erase(0, prefix.size());
  INFO(c.opcode << "(" << (c.operands.empty() ? "" : c.operands[0]) << ", …)");
  CHECK(found == c.expected);
}

inline void CheckAll(const std::vector<ShapeCase>& cases) {
  for (const ShapeCase& c : cases) Check(c);
}

}  // namespace hlo
