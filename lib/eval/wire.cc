#include "lib/eval/wire.h"

#include "lib/support/diagnostic.h"
#include "lib/support/status.h"

namespace hlo {
namespace {

enum class Part : int64_t { kArray, kTuple, kToken };
constexpr int kDeepest = 64;  // tuples in tuples
constexpr int64_t kMostDims = 64;

}  // namespace

void WireWriter::Raw(const void* data, size_t size) {
  const auto* bytes = static_cast<const std::byte*>(data);
  bytes_.insert(bytes_.end(), bytes, bytes + size);
}

void WireWriter::Number(int64_t value) { Raw(&value, sizeof value); }

void WireWriter::Numbers(const std::vector<int64_t>& values) {
  Number(std::ssize(values));
  for (const int64_t value : values) Number(value);
}

void WireWriter::Text(std::string_view text) {
  Number(std::ssize(text));
  Raw(text.data(), text.size());
}

void WireWriter::Value(const Literal& value) {
  if (value.shape().IsTuple()) {
    Number(static_cast<int64_t>(Part::kTuple));
    Number(std::ssize(value.elements()));
    for (const Literal& element : value.elements()) Value(element);
  } else if (!value.shape().IsArray()) {
    Number(static_cast<int64_t>(Part::kToken));
  } else {
    Number(static_cast<int64_t>(Part::kArray));
    Number(static_cast<int64_t>(value.element_type()));
    Number(value.shape().rank());
    for (const int64_t size : value.shape().dims()) Number(size);
    Raw(value.data(), static_cast<size_t>(value.byte_size()));
  }
}

void WireWriter::Error(const absl::Status& status) {
  Number(static_cast<int64_t>(status.code()));
  const std::vector<Diagnostic> diagnostics = DiagnosticsOf(status);
  Number(std::ssize(diagnostics));
  for (const Diagnostic& diagnostic : diagnostics) {
    Number(static_cast<int64_t>(diagnostic.severity));
    Number(diagnostic.loc.offset);
    Number(diagnostic.loc.length);
    Text(diagnostic.message);
  }
}

bool WireReader::Raw(void* data, size_t size) {
  is_broken_ = is_broken_ || size > bytes_.size() - at_;
  if (is_broken_ || size == 0) return !is_broken_;
  std::memcpy(data, bytes_.data() + at_, size);
  at_ += size;
  return true;
}

int64_t WireReader::Number() {
  int64_t value = 0;
  Raw(&value, sizeof value);
  return value;
}

std::vector<int64_t> WireReader::Numbers() {
  const auto size = static_cast<uint64_t>(Number());
  is_broken_ = is_broken_ || size > (bytes_.size() - at_) / sizeof(int64_t);
  std::vector<int64_t> values(is_broken_ ? 0 : size);
  for (int64_t& value : values) value = Number();
  return values;
}

std::string WireReader::Text() {
  const auto size = static_cast<uint64_t>(Number());
  is_broken_ = is_broken_ || size > bytes_.size() - at_;
  std::string text(is_broken_ ? 0 : size, '\0');
  Raw(text.data(), text.size());
  return text;
}

Literal WireReader::Value() { return Nested(0); }

Literal WireReader::Nested(int depth) {
  const auto part = static_cast<Part>(Number());
  is_broken_ = is_broken_ || depth > kDeepest;
  if (is_broken_) return Literal();
  if (part == Part::kToken) return Literal::Token();
  if (part == Part::kTuple) {
    std::vector<Literal> elements;
    for (int64_t left = Number(); left > 0 && !is_broken_; --left)
      elements.push_back(Nested(depth + 1));
    return Literal::Tuple(std::move(elements));
  }
  const auto type = static_cast<ElementType>(Number());
  const int64_t rank = Number();
  is_broken_ = is_broken_ || part != Part::kArray || rank < 0 || rank > kMostDims;
  if (is_broken_) return Literal();
  DimVec dims(static_cast<size_t>(rank));
  for (int64_t& size : dims) size = Number();
  const Shape shape = Shape::Array(type, dims);
  is_broken_ = is_broken_ || static_cast<uint64_t>(shape.byte_size()) > bytes_.size() - at_;
  if (is_broken_) return Literal();
  Literal value(shape);
  if (value.byte_size() > 0) Raw(value.mutable_data(), static_cast<size_t>(value.byte_size()));
  return value;
}

absl::Status WireReader::Error() {
  const auto code = static_cast<absl::StatusCode>(Number());
  std::vector<Diagnostic> diagnostics;
  for (int64_t left = Number(); left > 0 && !is_broken_; --left) {
    Diagnostic diagnostic;
    diagnostic.severity = static_cast<Severity>(Number());
    diagnostic.loc.offset = static_cast<uint32_t>(Number());
    diagnostic.loc.length = static_cast<uint32_t>(Number());
    diagnostic.message = Text();
    diagnostics.push_back(std::move(diagnostic));
  }
  if (is_broken_ || diagnostics.empty() || code == absl::StatusCode::kOk)
    return hlo::Error("another process failed, and its message is broken");
  return StatusOf(code, diagnostics);
}

absl::Status WireReader::Finish() const {
  RET_CHECK(!is_broken_ && at_ == bytes_.size(), "a message of another process is broken");
  return absl::OkStatus();
}

}  // namespace hlo
