#include "passes/util/call_metadata.h"

#include <fmt/core.h>

#include <vector>

namespace hlo {
namespace {

constexpr size_t kLongestName = 1024;

std::string_view WithoutOuterSlashes(std::string_view name) {
  if (name.starts_with('/')) name.remove_prefix(1);
  if (name.ends_with('/')) name.remove_suffix(1);
  return name;
}

std::string_view WithoutLastSlash(std::string_view name) {
  if (name.ends_with('/')) name.remove_suffix(1);
  return name;
}

}  // namespace

CallMetadata::CallMetadata(const Instruction& call)
    : frames_(call.module().config().stack_frames),
      prefix_(WithoutLastSlash(call.metadata().op_name.view())),
      frame_(call.metadata().stack_frame_id) {}

bool CallMetadata::PassOn(Instruction& inner) {
  OpMetadata metadata = inner.metadata();
  const bool is_renamed = PassOnName(metadata);
  const int32_t frame = Joined(metadata.stack_frame_id);
  if (!is_renamed && frame == metadata.stack_frame_id) return false;
  metadata.stack_frame_id = frame;
  inner.mutable_extras().metadata = std::move(metadata);
  return true;
}

bool CallMetadata::PassOnName(OpMetadata& metadata) const {
  const std::string_view name = WithoutOuterSlashes(metadata.op_name.view());
  if (prefix_.empty() || name.starts_with(prefix_) || prefix_.size() + name.size() >= kLongestName)
    return false;
  metadata.op_name = name.empty() ? prefix_ : fmt::format("{}/{}", prefix_, name);
  return true;
}

int32_t CallMetadata::Joined(int32_t frame) {
  if (frame_ <= 0 || frame > static_cast<int32_t>(frames_.frames.size())) return frame;
  std::vector<int32_t> locations;  // the innermost first
  for (int32_t at = frame; at > 0;) {
    // On top of the call's already, or a circle.
    if (at == frame_ || locations.size() > frames_.frames.size()) return frame;
    const StackFrames::Frame& known = frames_.frames[static_cast<size_t>(at) - 1];
    locations.push_back(known.location_id);
    at = known.parent_id;
  }
  int32_t joined = frame_;
  for (size_t i = locations.size(); i-- > 0;) joined = FrameOf(locations[i], joined);
  return joined;
}

int32_t CallMetadata::FrameOf(int32_t location, int32_t parent) {
  int32_t& frame = known_[{location, parent}];
  if (frame == 0) {
    frames_.frames.push_back({location, parent});
    frame = static_cast<int32_t>(frames_.frames.size());
  }
  return frame;
}

}  // namespace hlo
