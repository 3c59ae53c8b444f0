// Named pipelines: what runs in which order and why, as readable lists. A name stands wherever a
// pass may stand in a pipeline text.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace hlo {

struct PipelineStep {
  std::string_view text;    // of one item: `dce`, `cse{layout_sensitive}`, another pipeline's name
  std::string_view reason;  // why it stands here
};

struct NamedPipeline {
  std::string_view name;
  std::string_view summary;
  std::span<const PipelineStep> steps;
  // The steps with commas between them.
  std::string Text() const;
};

// Sorted by name.
std::span<const NamedPipeline> AllPipelines();
// The pipeline of this name, or null.
const NamedPipeline* FindPipeline(std::string_view name);

}  // namespace hlo
