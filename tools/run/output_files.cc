#include "tools/run/output_files.h"

#include <fmt/format.h>

#include "lib/proto/literals.h"
#include "lib/support/file.h"
#include "lib/support/file_set.h"
#include "lib/support/read_number.h"
#include "lib/support/status.h"
#include "lib/support/strings.h"
#include "tools/run/devices.h"
#include "tools/run/npy.h"
#include "tools/run/value_words.h"
#include "tools/support/leaves.h"
#include "tools/support/tool_support.h"

namespace hlo {
namespace {

constexpr std::string_view kOutputEnds[] = {".npz", ".npy", ".txt", ".bin", ".pb", ".pbtxt"};

struct OutputFile {
  int64_t number = -1;  // all
  std::string path;
  std::string_view end;  // one of kOutputEnds; empty: standard output
  bool holds_one_array() const { return end == ".npy" || end == ".bin"; }
};

// Nothing where the end of the name is not known.
std::optional<OutputFile> ReadOutputWord(std::string_view word) {
  OutputFile file;
  std::string_view rest = word;
  if (const auto number = TakeNumber<int64_t>(rest); number && rest.starts_with(':')) {
    file.number = *number;
    word = rest.substr(1);
  }
  if (word.starts_with('@')) word.remove_prefix(1);
  file.path = std::string(word);
  if (word == "-") return file;
  for (const std::string_view known : kOutputEnds) {
    if (word.ends_with(known) && word.size() > known.size()) file.end = known;
  }
  if (file.end.empty()) return std::nullopt;
  return file;
}

absl::StatusOr<std::string> TextOf(const OutputFile& file, const Literal& result) {
  const std::vector<Literal> leaves = ArrayLeaves(result);
  const Literal& value = file.number < 0 ? result : leaves[static_cast<size_t>(file.number)];
  const std::vector<Literal> arrays = ArrayLeaves(value);
  if (file.end == ".npy") return NpyText(arrays.front());
  if (file.end == ".bin") return BytesOfArray(arrays.front());
  if (file.end == ".pb") return SerializeLiteral(value, SerialForm::kBinary);
  if (file.end == ".pbtxt") return SerializeLiteral(value, SerialForm::kText);
  if (file.end == ".npz") {
    std::vector<NpzMember> members;
    for (size_t i = 0; i < arrays.size(); ++i)
      members.push_back({fmt::format("out{}", i), NpyText(arrays[i])});
    return NpzText(members);
  }
  std::string text;
  for (const Literal& array : arrays)
    text += fmt::format("{} {}\n", array.shape(), array.ToString());
  return text;
}

}  // namespace

std::string OutputFileMistake(const std::string& word) {
  if (ReadOutputWord(word)) return "";
  return fmt::format(
      "expects [N:]FILE with a name that ends in {}, or -, found `{}`",
      Join(std::vector<std::string_view>(std::begin(kOutputEnds), std::end(kOutputEnds)), ", "),
      word);
}

absl::Status CheckOutputFiles(const std::vector<std::string>& words, Shape result_shape) {
  int64_t count = 0;
  ForEachLeaf(result_shape, [&count](Shape leaf, const ShapeIndex&) { count += leaf.IsArray(); });
  for (const std::string& word : words) {
    const OutputFile file = *ReadOutputWord(word);  // checked with the flag
    if (file.number >= count) {
      return Error("`--output={}`: the module has {} output{}, numbered from 0", word, count,
                   count == 1 ? "" : "s");
    }
    if (file.number < 0 && file.holds_one_array() && count != 1) {
      return Error(
          "`--output={}`: {} files hold one array, the module has {} outputs; write N:FILE", word,
          file.end, count);
    }
    if (!file.end.empty()) RETURN_IF_ERROR(CheckWritable(file.path));
  }
  return absl::OkStatus();
}

absl::Status WriteOutputFiles(const std::vector<std::string>& words,
                              absl::Span<const Literal> results, const DeviceMesh& mesh) {
  FileSet files;
  for (const std::string& word : words) {
    const OutputFile file = *ReadOutputWord(word);
    for (size_t device = 0; device < results.size(); ++device) {
      ASSIGN_OR_RETURN(const std::string text, TextOf(file, results[device]));
      if (file.end.empty()) {
        WriteStdout(text);
      } else {
        RETURN_IF_ERROR(files.Add(DeviceFile(file.path, mesh, static_cast<int64_t>(device)), text));
      }
    }
  }
  return files.Commit();
}

}  // namespace hlo
