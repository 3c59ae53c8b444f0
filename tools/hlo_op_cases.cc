// Evaluates modules on given inputs for scripts/check_cases.py: reads cases from standard input,
// writes one line for each.
//
// A case is a list of fields "LENGTH DATA\n": id, HLO text, number of devices, number of inputs of
// one device, and for each input (device by device) its bytes as hex digits, element by element as
// they lie in a literal. A line of output is the id, a tab, and either `error`, a tab and the
// message, or `ok` and one field "TYPE DIMS HEX" per output leaf, tabs between.
#include <fmt/core.h>

#include <cstdio>
#include <iostream>
#include <iterator>
#include <optional>
#include <string>
#include <vector>

#include "lib/eval/device_group.h"
#include "lib/eval/evaluator.h"
#include "lib/support/strings.h"
#include "parser/parser.h"

namespace hlo {
namespace {

// The fields of standard input, one after the other.
class Fields {
 public:
  explicit Fields(std::string text) : text_(std::move(text)) {}
  bool done() const { return at_ >= text_.size(); }
  std::string Next() {
    const size_t blank = text_.find(' ', at_);
    if (blank == std::string::npos) return Fail();
    const size_t length = std::stoul(text_.substr(at_, blank - at_));
    std::string field = text_.substr(blank + 1, length);
    at_ = blank + 1 + length + 1;
    return field;
  }
  int64_t NextNumber() { return std::stoll(Next()); }

 private:
  std::string Fail() {
    at_ = text_.size();
    return "0";
  }
  std::string text_;
  size_t at_ = 0;
};

absl::StatusOr<Literal> FromHex(Shape shape, const std::string& hex) {
  Literal literal(shape.WithoutDynamic());
  if (static_cast<int64_t>(hex.size()) != 2 * literal.byte_size()) {
    return Error("{} hex digits for `{}` of {} bytes", hex.size(), shape, literal.byte_size());
  }
  uint8_t* data = literal.mutable_data();
  for (int64_t i = 0; i < literal.byte_size(); ++i) {
    const size_t at = static_cast<size_t>(2 * i);
    data[i] = static_cast<uint8_t>(16 * HexDigit(hex[at]) + HexDigit(hex[at + 1]));
  }
  return literal;
}

// The argument of one parameter: its leaves in order.
absl::StatusOr<Literal> NextArgument(Shape shape, Fields& fields) {
  if (shape.IsToken()) return Literal::Token();
  if (!shape.IsTuple()) return FromHex(shape, fields.Next());
  std::vector<Literal> elements;
  for (Shape element : shape.elements()) {
    ASSIGN_OR_RETURN(Literal part, NextArgument(element, fields));
    elements.push_back(std::move(part));
  }
  return Literal::Tuple(std::move(elements));
}

void AppendLeaves(const Literal& value, std::string& out) {
  if (value.shape().IsTuple()) {
    for (const Literal& element : value.elements()) AppendLeaves(element, out);
    return;
  }
  if (!value.shape().IsArray()) return;
  out += fmt::format("\t{} {} ", Text(value.element_type()), Join(value.shape().dims(), ","));
  for (int64_t i = 0; i < value.byte_size(); ++i) out += fmt::format("{:02x}", value.data()[i]);
}

absl::StatusOr<std::string> RunCase(const std::string& text, int64_t devices, int64_t inputs,
                                    Fields& fields) {
  absl::StatusOr<std::unique_ptr<Module>> module = ParseModule(text);
  std::vector<std::vector<Literal>> arguments(static_cast<size_t>(devices));
  if (!module.ok()) {
    for (int64_t i = 0; i < devices * inputs; ++i) fields.Next();
    return module.status();
  }
  for (auto& own : arguments) {
    for (const Instruction* parameter : (*module)->entry()->parameters()) {
      ASSIGN_OR_RETURN(Literal argument, NextArgument(parameter->shape(), fields));
      own.push_back(std::move(argument));
    }
  }
  std::string out;
  if (devices > 1) {
    ASSIGN_OR_RETURN(const std::vector<Literal> values,
                     EvaluateOnDevices(**module, arguments, EvalOptions()));
    for (const Literal& value : values) AppendLeaves(value, out);
  } else {
    Evaluator evaluator;
    ASSIGN_OR_RETURN(const Literal value, evaluator.Run(**module, arguments[0]));
    AppendLeaves(value, out);
  }
  return out;
}

int Main() {
  std::ios::sync_with_stdio(false);
  Fields fields(
      std::string(std::istreambuf_iterator<char>(std::cin), std::istreambuf_iterator<char>()));
  while (!fields.done()) {
    const std::string id = fields.Next(), text = fields.Next();
    const int64_t devices = fields.NextNumber(), inputs = fields.NextNumber();
    const absl::StatusOr<std::string> result = RunCase(text, devices, inputs, fields);
    if (result.ok()) {
      fmt::print("{}\tok{}\n", id, *result);
    } else {
      std::string message(ToStd(result.status().message()));
      for (char& ch : message) ch = ch == '\n' || ch == '\t' ? ' ' : ch;
      fmt::print("{}\terror\t{}\n", id, message);
    }
    std::fflush(stdout);
  }
  return 0;
}

}  // namespace
}  // namespace hlo

int main() { return hlo::Main(); }
