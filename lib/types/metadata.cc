// lib/types/metadata.cc
#include "lib/types/metadata.h"

#include <string_view>

#include "lib/support/append_all.h"
#include "lib/types/append.h"

namespace hlo {
namespace {

// `name="value"` and `name=value`, with a blank before all but the first field.
class FieldWriter {
 public:
  explicit FieldWriter(std::string& out) : out_(out) {}

  void Text(std::string_view name, std::string_view value) {
    if (value.empty()) return;
    Name(name);
    AppendQuoted(value, out_);
  }
  void RawText(std::string_view name, std::string_view value) {
    if (value.empty()) return;
    Name(name);
    AppendQuotedRaw(value, out_);
  }
  void Number(std::string_view name, int32_t value) {
    if (value == 0) return;
    Name(name);
    AppendInt(value, out_);
  }
  void Numbers(std::string_view name, const std::vector<int64_t>& values) {
    if (values.empty()) return;
    Name(name);
    out_ += '{';
    AppendInts(values, out_);
    out_ += '}';
  }

 private:
  std::string_view Blank() {
    const std::string_view blank(first_ ? "" : " ");
    first_ = false;
    return blank;
  }
  void Name(std::string_view name) { AppendAll(out_, Blank(), name, "="); }

  std::string& out_;
  bool first_ = true;
};

}  // namespace

bool OpMetadata::IsPrintable() const {
  return !op_type.empty() || !op_name.empty() || !source_file.empty() || !scheduling_name.empty() ||
         stack_frame_id != 0 || !metadata_payload.empty();
}

void OpMetadata::AppendTo(std::string& out, bool op_name_only) const {
  FieldWriter fields(out);
  if (op_name_only) return fields.Text("op_name", op_name);
  fields.Text("op_type", op_type);
  fields.Text("op_name", op_name);
  fields.Text("source_file", source_file);
  fields.Number("source_line", source_line);
  fields.Number("source_end_line", source_end_line);
  fields.Number("source_column", source_column);
  fields.Number("source_end_column", source_end_column);
  if (profile_type.has_value()) fields.Numbers("profile_type", *profile_type);
  fields.Text("deduplicated_name", deduplicated_name);
  fields.RawText("scheduling_name", scheduling_name);  // as XLA: not escaped
  fields.Number("stack_frame_id", stack_frame_id);
  fields.Text("metadata_payload", metadata_payload);
}

std::string OpMetadata::ToString(bool op_name_only) const {
  std::string out;
  AppendTo(out, op_name_only);
  return out;
}

}  // namespace hlo
