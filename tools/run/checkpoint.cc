#include "tools/run/checkpoint.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <memory>
#include <system_error>

#include "lib/support/file.h"
#include "lib/support/hash.h"
#include "lib/support/json_value.h"
#include "lib/support/source.h"
#include "lib/support/status.h"
#include "lib/support/strings.h"
#include "tools/run/npy.h"
#include "tools/support/tool_support.h"

namespace hlo {
namespace {

namespace fs = std::filesystem;

constexpr size_t kKept = 2;
constexpr std::string_view kPrefix = "step-", kUnfinished = ".unfinished-",
                           kIndex = "checkpoint.json";

absl::Status SystemError(std::string_view what, const std::string& path,
                         const std::error_code& error) {
  return Error("cannot {} `{}`: {}", what, path, error.message());
}

std::string ArrayName(size_t number) { return fmt::format("arg{}.npy", number); }

// Whether the folder is that of the module and of just these arrays.
absl::Status CheckIndex(const JsonValue& index, uint64_t module, int64_t step, size_t arrays) {
  ASSIGN_OR_RETURN(const uint64_t found, index.GetUnsigned("module"));
  if (found != module)
    return Error(index.loc(), "the checkpoint is of another module, or another `--feed`");
  ASSIGN_OR_RETURN(const int64_t found_step, index.GetInt("step"));
  if (found_step != step)
    return Error(index.loc(), "`step` is {}, but the folder says {}", found_step, step);
  ASSIGN_OR_RETURN(const JsonValue* files, index.Get("files", JsonValue::Kind::kArray));
  if (files->items().size() == arrays) return absl::OkStatus();
  return Error(files->loc(), "{} files, expected {}", files->items().size(), arrays);
}

absl::StatusOr<Literal> ReadArray(const JsonValue& file, const std::string& folder, size_t number,
                                  Shape shape) {
  const std::string path = fmt::format("{}/{}", folder, ArrayName(number));
  ASSIGN_OR_RETURN(const std::string_view name, file.GetString("name"));
  if (name != ArrayName(number))
    return Error(file.loc(), "file `{}`, expected `{}`", name, ArrayName(number));
  ASSIGN_OR_RETURN(const int64_t bytes, file.GetInt("bytes"));
  ASSIGN_OR_RETURN(const uint64_t hash, file.GetUnsigned("hash"));
  ASSIGN_OR_RETURN(const std::string text, ReadFile(path));
  if (static_cast<int64_t>(text.size()) != bytes || HashBytes(text) != hash)
    return Error("`{}` is damaged: {} bytes, expected {} of another content", path, text.size(),
                 bytes);
  ASSIGN_OR_RETURN(const NpyArray array, ParseNpy(text));
  return ToLiteral(array, shape);
}

}  // namespace

absl::StatusOr<CheckpointFolder> CheckpointFolder::Open(std::string path, uint64_t module) {
  RETURN_IF_ERROR(MakeFolder(path));
  RETURN_IF_ERROR(CheckWritable(fmt::format("{}/{}", path, kIndex)));
  std::error_code error;
  std::vector<fs::path> left;
  for (const fs::directory_entry& entry : fs::directory_iterator(path, error)) {
    if (entry.path().filename().string().starts_with(kUnfinished)) left.push_back(entry.path());
  }
  for (const fs::path& folder : left) fs::remove_all(folder, error);
  if (error) return SystemError("clean", path, error);
  return CheckpointFolder(std::move(path), module);
}

std::string CheckpointFolder::FolderOf(int64_t step) const {
  return fmt::format("{}/{}{}", path_, kPrefix, step);
}

std::vector<int64_t> CheckpointFolder::Steps() const {
  std::vector<int64_t> steps;
  std::error_code error;
  for (const fs::directory_entry& entry : fs::directory_iterator(path_, error)) {
    const std::string name = entry.path().filename().string();
    if (!name.starts_with(kPrefix)) continue;
    int64_t step = 0;
    const auto [end, failure] =
        std::from_chars(name.data() + kPrefix.size(), name.data() + name.size(), step);
    if (failure == std::errc() && end == name.data() + name.size()) steps.push_back(step);
  }
  std::sort(steps.begin(), steps.end());
  return steps;
}

absl::Status CheckpointFolder::Write(const Checkpoint& checkpoint) const {
  const std::string unfinished = fmt::format("{}/{}{}", path_, kUnfinished, checkpoint.step);
  RETURN_IF_ERROR(MakeFolder(unfinished));
  std::string files;
  for (const auto& [number, value] : checkpoint.arrays) {
    const std::string text = NpyText(value), name = ArrayName(number);
    RETURN_IF_ERROR(WriteFile(fmt::format("{}/{}", unfinished, name), text));
    files += fmt::format("{}\n  {{\"name\": {}, \"bytes\": {}, \"hash\": {}}}",
                         files.empty() ? "" : ",", JsonQuoted(name), text.size(), HashBytes(text));
  }
  RETURN_IF_ERROR(
      WriteFile(fmt::format("{}/{}", unfinished, kIndex),
                fmt::format("{{\"schema\": 1, \"step\": {}, \"module\": {}, \"files\": [{}\n]}}\n",
                            checkpoint.step, module_, files)));
  std::error_code error;
  const std::string folder = FolderOf(checkpoint.step);
  fs::remove_all(folder, error);  // of an earlier loop
  if (!error) fs::rename(unfinished, folder, error);
  if (error) return SystemError("write", folder, error);
  std::vector<int64_t> steps = Steps();
  for (size_t i = 0; i + kKept < steps.size(); ++i) fs::remove_all(FolderOf(steps[i]), error);
  return absl::OkStatus();
}

absl::StatusOr<Checkpoint> CheckpointFolder::Read(
    int64_t step, const std::vector<std::pair<size_t, Shape>>& arrays) const {
  const std::string folder = FolderOf(step), path = fmt::format("{}/{}", folder, kIndex);
  ASSIGN_OR_RETURN(std::string text, ReadFile(path));
  const auto source = std::make_shared<const Source>(path, std::move(text));
  Checkpoint checkpoint{step, {}};
  const absl::Status status = [&]() -> absl::Status {
    ASSIGN_OR_RETURN(const JsonDocument document, ParseJson(source));
    RETURN_IF_ERROR(CheckIndex(document.root, module_, step, arrays.size()));
    ASSIGN_OR_RETURN(const JsonValue* files, document.root.Get("files", JsonValue::Kind::kArray));
    for (size_t i = 0; i < arrays.size(); ++i) {
      ASSIGN_OR_RETURN(Literal value,
                       ReadArray(files->items()[i], folder, arrays[i].first, arrays[i].second));
      checkpoint.arrays.emplace_back(arrays[i].first, std::move(value));
    }
    return absl::OkStatus();
  }();
  if (!status.ok()) return WithPlacesInText(status, *source);
  return checkpoint;
}

absl::StatusOr<CheckpointFolder::Found> CheckpointFolder::ReadNewest(
    const std::vector<std::pair<size_t, Shape>>& arrays) const {
  const std::vector<int64_t> steps = Steps();
  absl::Status first;
  Found found;
  for (auto step = steps.rbegin(); step != steps.rend(); ++step) {
    absl::StatusOr<Checkpoint> checkpoint = Read(*step, arrays);
    if (checkpoint.ok()) {
      found.checkpoint = *std::move(checkpoint);
      return found;
    }
    if (first.ok()) first = checkpoint.status();
    found.note += fmt::format("`{}` is not used: {}\n", FolderOf(*step),
                              ToStd(checkpoint.status().message()));
  }
  RETURN_IF_ERROR(first);
  return found;
}

}  // namespace hlo
