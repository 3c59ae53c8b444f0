// Values and errors as bytes, for processes of the same program.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "lib/types/literal.h"

namespace hlo {

using WireBytes = std::vector<std::byte>;

class WireWriter {
 public:
  void Number(int64_t value);
  void Numbers(const std::vector<int64_t>& values);
  void Text(std::string_view text);
  void Value(const Literal& value);
  // An error with its places.
  void Error(const absl::Status& status);
  WireBytes Finish() && { return std::move(bytes_); }

 private:
  void Raw(const void* data, size_t size);
  WireBytes bytes_;
};

// Reads what a WireWriter wrote, in the same order. What breaks off, or is something else, is an
// error of the reader: from then on it gives nothing but zeros and empty values.
class WireReader {
 public:
  explicit WireReader(const WireBytes& bytes) : bytes_(bytes) {}
  int64_t Number();
  std::vector<int64_t> Numbers();
  std::string Text();
  Literal Value();
  absl::Status Error();
  // Whether all was read, and nothing else.
  absl::Status Finish() const;

 private:
  bool Raw(void* data, size_t size);
  Literal Nested(int depth);

  const WireBytes& bytes_;
  size_t at_ = 0;
  bool is_broken_ = false;
};

}  // namespace hlo
