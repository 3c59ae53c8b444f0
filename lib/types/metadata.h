// Where an instruction comes from: names and places of the source program.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "lib/support/boxed.h"
#include "lib/support/shared_text.h"

namespace hlo {

struct OpMetadata {
  SharedText op_type;
  SharedText op_name;
  SharedText source_file;
  int32_t source_line = 0;
  int32_t source_end_line = 0;
  int32_t source_column = 0;
  int32_t source_end_column = 0;
  Boxed<std::vector<int64_t>> profile_type;
  SharedText deduplicated_name;
  SharedText scheduling_name;
  int32_t stack_frame_id = 0;  // 1-based index into the module's frames; 0: none
  SharedText metadata_payload;
  friend bool operator==(const OpMetadata&, const OpMetadata&) = default;

  // Whether XLA would print it at all.
  bool IsPrintable() const;
  // The fields between the braces: `op_name="a" source_line=3`.
  std::string ToString(bool op_name_only = false) const;
  void AppendTo(std::string& out, bool op_name_only = false) const;
};

}  // namespace hlo
