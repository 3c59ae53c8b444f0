// Pipelines: what to run in which order, as a tree that has a text form.
//
//   pipeline = item { ',' item }
//   item     = name [ '{' option { (',' | ' ') option } '}' ]
//            | 'fix' [ '{' 'limit=' N '}' ] '(' pipeline ')'      until a round changes nothing
//            | 'repeat' '<' N '>' '(' pipeline ')'                N rounds
//            | name of a pipeline (pipelines.h)                   stands for its items
//   option   = name [ '=' value ]
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "passes/pass.h"

namespace hlo {

struct PipelineItem {
  std::string name;  // registered name, "fix" or "repeat"
  OptionTexts options;
  std::vector<PipelineItem> children;  // of fix and repeat
  int64_t limit = 25;                  // of fix: rounds before it is an error; of repeat: rounds
  SourceLoc loc;
  bool is_fix() const { return name == "fix"; }
  bool is_repeat() const { return name == "repeat"; }
};
using Pipeline = std::vector<PipelineItem>;

// Parses the text form; unknown passes and options are errors located in `text` (render them with a
// Source that holds it).
absl::StatusOr<Pipeline> ParsePipeline(std::string_view text);
// The text form, parseable.
std::string ToText(const Pipeline& pipeline);

}  // namespace hlo
