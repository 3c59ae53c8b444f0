// What hlo-opt tells about a run of passes: remarks, counts, times; as text, YAML and JSON.
#pragma once

#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "lib/support/line_table.h"
#include "lib/support/source.h"
#include "passes/pass_manager.h"

namespace hlo {

// `passed,missed,analysis` or `all`, then perhaps `:` and a text that the pass or the message
// contains.
class RemarkFilter {
 public:
  static absl::StatusOr<RemarkFilter> Parse(std::string_view text);
  bool Shows(const PassContext::RemarkEntry& remark) const;

 private:
  bool passed_ = false, missed_ = false, analysis_ = false;
  std::string contains_;
};

// `file:2:3: remark: cse: done `x`: message`.
std::string RemarkText(const PassContext::RemarkEntry& remark, const Source& source,
                       const LineTable& lines);
// A document `--- !Passed` in the form of LLVM's optimization records.
std::string RemarkYaml(const PassContext::RemarkEntry& remark, const Source& source,
                       const LineTable& lines);

std::string StatsText(const PassContext& context);
// {"pass": {"what": count}}
std::string StatsJson(const PassContext& context);
// [{"pass": …, "ms": …, "changed": …, "instructions_before": …, "instructions_after": …,
//   "peak_bytes": …, "file": …}]; the file, of the dump, only where there is one
std::string TimesJson(const PipelineResult& result);
std::string RemarksJson(const PassContext& context);
// Everything, with a schema number.
std::string ReportJson(const PipelineResult& result, const PassContext& context);

}  // namespace hlo
