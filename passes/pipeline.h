// Pipelines: what to run in which order, as a tree that has a text form.
//
//   pipeline = item { ',' item }
//   item     = name [ '{' option { (',' | ' ') option } '}' ]  |  'fix' [ '{' 'limit=' N '}' ] '(' pipeline ')'
//   option   = name [ '=' value ]
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "passes/pass.h"

namespace hlo {

struct PipelineItem {
  std::string name;  // registered name, or "fix"
  OptionTexts options;
  std::vector<PipelineItem> children;  // of fix
  int64_t limit = 25;                  // of fix: rounds before it is an error
  SourceLoc loc;
  bool is_fix() const { return name == "fix"; }
};
using Pipeline = std::vector<PipelineItem>;

// Parses the text form; unknown passes and options are errors located in `text` (render them with a
// Source that holds it).
absl::StatusOr<Pipeline> ParsePipeline(std::string_view text);
// The text form, parseable.
std::string ToText(const Pipeline& pipeline);

}  // namespace hlo
