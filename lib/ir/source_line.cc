#include "lib/ir/source_line.h"

#include <fmt/core.h>

namespace hlo {
namespace {

// The item of this 1-based number, or null.
template <class T>
const T* Numbered(const std::vector<T>& items, int32_t number) {
  const bool exists = number > 0 && static_cast<size_t>(number) <= items.size();
  return exists ? &items[static_cast<size_t>(number) - 1] : nullptr;
}

std::string PlaceText(std::string_view file, int32_t line) {
  if (file.empty()) return "";
  return line > 0 ? fmt::format("{}:{}", file, line) : std::string(file);
}

}  // namespace

const StackFrames::Location* LocationOfFrame(const StackFrames& frames, int32_t frame) {
  const StackFrames::Frame* const found = Numbered(frames.frames, frame);
  return found == nullptr ? nullptr : Numbered(frames.locations, found->location_id);
}

std::string_view FileOf(const StackFrames& frames, const StackFrames::Location& location) {
  const std::string* const file = Numbered(frames.file_names, location.file_name_id);
  return file == nullptr ? std::string_view() : std::string_view(*file);
}

std::string SourceLineOf(const Instruction& instruction) {
  if (instruction.extras() == nullptr) return "";
  const OpMetadata& metadata = instruction.metadata();
  if (!metadata.source_file.empty())
    return PlaceText(std::string_view(metadata.source_file), metadata.source_line);
  const StackFrames& frames = instruction.module().config().stack_frames;
  const StackFrames::Location* const place = LocationOfFrame(frames, metadata.stack_frame_id);
  return place == nullptr ? "" : PlaceText(FileOf(frames, *place), place->line);
}

}  // namespace hlo
