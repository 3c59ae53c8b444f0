// Stack frame tables.
//
//   FileNames      { INT STR }
//   FunctionNames  { INT STR }
//   FileLocations  { INT '{' file_name_id= function_name_id= line= end_line= column=
//                  end_column= '}' }
//   StackFrames    { INT '{' file_location_id= parent_frame_id= '}' }
//
// The numbers in front are ignored: entries count by position, from 1. The parent in the text is
// the real one plus one.
#include <algorithm>

#include "lib/ir/any_instruction.h"
#include "parser/parser_internal.h"

namespace hlo {
namespace {

constexpr std::string_view kLocationFields[] = {"file_name_id", "function_name_id", "line",
                                                "end_line",     "column",           "end_column"};
constexpr std::string_view kFrameFields[] = {"file_location_id", "parent_frame_id"};

// Copies the frames that are used, numbered by first use, ancestors first.
class FrameInterner {
 public:
  FrameInterner(const StackFrames& from, StackFrames& to)
      : from_(from),
        to_(to),
        frames_(from.frames.size() + 1, kUnseen),
        locations_(from.locations.size() + 1, 0) {}

  // The new number of frame `id`; 0 when it or an ancestor is not sound.
  int32_t Frame(int32_t id) {
    if (id > 0 && static_cast<size_t>(id) < frames_.size() && frames_[static_cast<size_t>(id)] > 0)
      return frames_[static_cast<size_t>(id)];
    std::vector<int32_t> chain;
    int32_t at = id;
    while (at != 0) {
      if (at < 0 || static_cast<size_t>(at) > from_.frames.size()) return Mark(chain, 0);
      if (frames_[static_cast<size_t>(at)] == kBad) return Mark(chain, kBad);
      if (frames_[static_cast<size_t>(at)] > 0) break;
      if (chain.size() > from_.frames.size()) return Mark(chain, kBad);  // a cycle
      chain.push_back(at);
      at = from_.frames[static_cast<size_t>(at) - 1].parent_id;
    }
    int32_t parent = at == 0 ? 0 : frames_[static_cast<size_t>(at)];
    for (const int32_t frame : chain) {
      if (!Sound(from_.frames[static_cast<size_t>(frame) - 1].location_id))
        return Mark(chain, kBad);
    }
    for (auto it = chain.rbegin(); it != chain.rend(); ++it) {
      const StackFrames::Frame frame{
          Location(from_.frames[static_cast<size_t>(*it) - 1].location_id), parent};
      parent = frames_[static_cast<size_t>(*it)] =
          Number(frame_numbers_, std::pair(frame.location_id, frame.parent_id), to_.frames, frame);
    }
    return parent;
  }

 private:
  static constexpr int32_t kUnseen = 0;
  static constexpr int32_t kBad = -1;

  int32_t Mark(const std::vector<int32_t>& chain, int32_t value) {
    for (const int32_t frame : chain)
      frames_[static_cast<size_t>(frame)] = value == 0 ? kBad : value;
    return 0;
  }
  bool Sound(int32_t location) const {
    if (location < 1 || static_cast<size_t>(location) > from_.locations.size()) return false;
    const StackFrames::Location& at = from_.locations[static_cast<size_t>(location) - 1];
    return at.file_name_id >= 1 &&
           static_cast<size_t>(at.file_name_id) <= from_.file_names.size() &&
           at.function_name_id >= 1 &&
           static_cast<size_t>(at.function_name_id) <= from_.function_names.size();
  }
  template <class Map, class Key, class Vec, class Value>
  static int32_t Number(Map& map, Key key, Vec& values, const Value& value) {
    const auto [it, fresh] = map.try_emplace(key, static_cast<int32_t>(values.size()) + 1);
    if (fresh) values.push_back(value);
    return it->second;
  }
  int32_t Location(int32_t id) {
    int32_t& number = locations_[static_cast<size_t>(id)];
    if (number != 0) return number;
    StackFrames::Location at = from_.locations[static_cast<size_t>(id) - 1];
    const std::string& file = from_.file_names[static_cast<size_t>(at.file_name_id) - 1];
    const std::string& function =
        from_.function_names[static_cast<size_t>(at.function_name_id) - 1];
    at.file_name_id = Number(files_, std::string_view(file), to_.file_names, file);
    at.function_name_id =
        Number(functions_, std::string_view(function), to_.function_names, function);
    const std::array<int32_t, 6> key = {at.file_name_id, at.function_name_id, at.line,
                                        at.end_line,     at.column,           at.end_column};
    return number = Number(location_numbers_, key, to_.locations, at);
  }

  const StackFrames& from_;
  StackFrames& to_;
  std::vector<int32_t> frames_;
  std::vector<int32_t> locations_;
  absl::flat_hash_map<std::string_view, int32_t> files_, functions_;
  absl::flat_hash_map<std::array<int32_t, 6>, int32_t> location_numbers_;
  absl::flat_hash_map<std::pair<int32_t, int32_t>, int32_t> frame_numbers_;
};

}  // namespace

// '{' { NAME '=' INT [','] } '}' with every name of `names` once
bool Parser::ParseSubInts(std::span<const std::string_view> names, std::span<int32_t> values) {
  const SourceLoc loc = token().loc();
  if (!Expect(Tok::kLBrace, "`{` of an entry of the table")) return false;
  uint32_t seen = 0;
  while (!Is(Tok::kRBrace)) {
    if (Take(Tok::kComma) && Is(Tok::kRBrace)) return Unexpected("a field after the comma");
    if (!Is(Tok::kAttr)) return Unexpected("a field such as `line=`, or `}`");
    const auto found = std::find(names.begin(), names.end(), token().text);
    if (found == names.end())
      return Fail(token().loc(), "there is no field `{}` here{}", token().text,
                  DidYouMean(token().text, names));
    const auto index = static_cast<size_t>(found - names.begin());
    if ((seen >> index & 1) != 0) return Fail(token().loc(), "`{}` is given twice", token().text);
    seen |= 1u << index;
    lex_.Next();
    if (!ReadValue(values[index])) return false;
  }
  lex_.Next();
  for (size_t i = 0; i < names.size(); ++i) {
    if ((seen >> i & 1) == 0) return Fail(loc, "field `{}` is missing", names[i]);
  }
  return true;
}

bool Parser::ParseStackFrames() {
  StackFrames& frames = module_->config().stack_frames;
  const auto section = [&](std::string_view title) {
    if (!Is(Tok::kKeyword) || token().text != title) return Unexpected(fmt::format("`{}`", title));
    lex_.Next();
    return true;
  };
  const auto names = [&](std::vector<std::string>& out) {
    while (Take(Tok::kInt)) {
      if (!ReadValue(out.emplace_back())) return false;
    }
    return true;
  };
  if (!section("FileNames") || !names(frames.file_names) || !section("FunctionNames") ||
      !names(frames.function_names))
    return false;
  if (!section("FileLocations")) return false;
  while (Take(Tok::kInt)) {
    int32_t values[6] = {};
    if (!ParseSubInts(kLocationFields, values)) return false;
    frames.locations.push_back({values[0], values[1], values[2], values[3], values[4], values[5]});
  }
  if (!section("StackFrames")) return false;
  while (Take(Tok::kInt)) {
    int32_t values[2] = {};
    if (!ParseSubInts(kFrameFields, values)) return false;
    // 1 is no parent; anything below is out of range and stays so.
    frames.frames.push_back({values[0], values[1] < 1 ? INT32_MAX : values[1] - 1});
  }
  return true;
}

void Parser::RenumberStackFrames() {
  StackFrames& frames = module_->config().stack_frames;
  StackFrames used;
  FrameInterner interner(frames, used);
  const Instruction* first_lost = nullptr;  // of those whose frame the tables lack
  int32_t first_id = 0;
  int64_t lost = 0;
  for (Instruction* instruction : AllInstructions(*module_)) {
    const Extras* extras = instruction->extras();
    if (extras == nullptr || extras->metadata.stack_frame_id == 0) continue;
    int32_t& id = instruction->mutable_extras().metadata.stack_frame_id;
    const int32_t written = id;
    id = interner.Frame(id);
    if (id != 0) continue;
    ++lost;
    if (first_lost != nullptr && first_lost->loc().offset < instruction->loc().offset) continue;
    first_lost = instruction;
    first_id = written;
  }
  if (lost == 1) {
    Warn(first_lost->loc(), "stack frame {} is not in the tables, or they are broken there",
         first_id);
  } else if (lost > 1) {
    Warn(first_lost->loc(),
         "{} instructions name stack frames that are not in the tables, or where those are broken; "
         "the first is frame {}",
         lost, first_id);
  }
  frames = std::move(used);
}

}  // namespace hlo
