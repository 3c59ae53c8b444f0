#include "tools/run/checkpoint.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <system_error>

#include "lib/support/file.h"
#include "lib/support/hash.h"
#include "lib/support/json_value.h"
#include "lib/support/read_number.h"
#include "lib/support/source.h"
#include "lib/support/status.h"
#include "lib/support/strings.h"
#include "tools/run/npy.h"
#include "tools/support/tool_support.h"

namespace hlo {
namespace {

namespace fs = std::filesystem;

using ArrayNumbers = std::vector<std::pair<size_t, Shape>>;

constexpr size_t kKept = 2;
constexpr std::string_view kArgument = "arg", kResult = "out";
constexpr std::string_view kPrefix = "step-", kUnfinished = ".unfinished-",
                           kIndex = "checkpoint.json";

absl::Status SystemError(std::string_view what, const std::string& path,
                         const std::error_code& error) {
  return Error("cannot {} `{}`: {}", what, path, error.message());
}

std::string Amount(int64_t count, std::string_view what) {
  return fmt::format("{} {}{}", count, what, count == 1 ? "" : "s");
}
// "2 replicas of 1 partition"
std::string MeshText(const DeviceMesh& mesh) {
  return fmt::format("{} of {}", Amount(mesh.replicas, "replica"),
                     Amount(mesh.partitions, "partition"));
}

// Of a checkpoint from before there were several devices: one.
absl::StatusOr<int64_t> CountOf(const JsonValue& index, std::string_view key) {
  if (index.Find(key) == nullptr) return 1;
  return index.GetInt(key);
}

// Whether the folder is that of the module, and on as many devices.
absl::Status CheckIndex(const JsonValue& index, const CheckpointForm& form, int64_t step) {
  DeviceMesh mesh;
  ASSIGN_OR_RETURN(mesh.replicas, CountOf(index, "replicas"));
  ASSIGN_OR_RETURN(mesh.partitions, CountOf(index, "partitions"));
  if (mesh.replicas != form.mesh.replicas || mesh.partitions != form.mesh.partitions) {
    return Error(index.loc(),
                 "the checkpoint is of {}, but the run has {}; --num-replicas={} and "
                 "--num-partitions={} go on with it",
                 MeshText(mesh), MeshText(form.mesh), mesh.replicas, mesh.partitions);
  }
  ASSIGN_OR_RETURN(const uint64_t found, index.GetUnsigned("module"));
  if (found != form.module)
    return Error(index.loc(), "the checkpoint is of another module, or another `--feed`");
  ASSIGN_OR_RETURN(const int64_t found_step, index.GetInt("step"));
  if (found_step != step)
    return Error(index.loc(), "`step` is {}, but the folder says {}", found_step, step);
  return absl::OkStatus();
}

// Whether the results are among the files, beside the arrays.
absl::StatusOr<bool> HoldsResults(const JsonValue& files, const CheckpointForm& form) {
  const auto devices = static_cast<size_t>(form.mesh.devices());
  const size_t without = form.arrays.size() * devices, found = files.items().size();
  const size_t with = without + form.results.size() * devices;
  if (found == with) return true;
  if (found == without) return false;
  return Error(files.loc(), "{} files, expected {}", found, without);
}

struct FeedNumber {
  std::string_view name;
  int64_t FeedPosition::*value;
};
constexpr FeedNumber kFeedNumbers[] = {{"word", &FeedPosition::word},
                                       {"literal", &FeedPosition::literal},
                                       {"taken", &FeedPosition::taken},
                                       {"given", &FeedPosition::given},
                                       {"arrays", &FeedPosition::arrays}};

std::string FeedsText(const std::vector<FeedPosition>& feeds) {
  if (feeds.empty()) return "";
  std::string text;
  for (const FeedPosition& feed : feeds) {
    std::string numbers;
    for (const FeedNumber& number : kFeedNumbers) {
      numbers +=
          fmt::format("{}\"{}\": {}", numbers.empty() ? "" : ", ", number.name, feed.*number.value);
    }
    text += fmt::format("{}{{{}}}", text.empty() ? "" : ", ", numbers);
  }
  return fmt::format("\"feeds\": [{}], ", text);
}

absl::StatusOr<std::vector<FeedPosition>> ReadFeeds(const JsonValue& index,
                                                    const CheckpointForm& form) {
  std::vector<FeedPosition> feeds;
  if (!form.feeds) return feeds;
  ASSIGN_OR_RETURN(const JsonValue* found, index.Get("feeds", JsonValue::Kind::kArray));
  if (std::ssize(found->items()) != form.mesh.devices()) {
    return Error(found->loc(), "feeds of {}, expected {}",
                 Amount(std::ssize(found->items()), "device"), form.mesh.devices());
  }
  for (const JsonValue& item : found->items()) {
    FeedPosition& feed = feeds.emplace_back();
    for (const FeedNumber& number : kFeedNumbers) {
      ASSIGN_OR_RETURN(feed.*number.value, item.GetInt(number.name));
      if (feed.*number.value < 0)
        return Error(item.loc(), "`{}` is {}", number.name, feed.*number.value);
    }
  }
  return feeds;
}

absl::StatusOr<Literal> ReadArray(const JsonValue& file, const std::string& folder,
                                  std::string_view expected, Shape shape) {
  ASSIGN_OR_RETURN(const std::string_view name, file.GetString("name"));
  if (name != expected) return Error(file.loc(), "file `{}`, expected `{}`", name, expected);
  ASSIGN_OR_RETURN(const int64_t bytes, file.GetInt("bytes"));
  ASSIGN_OR_RETURN(const uint64_t hash, file.GetUnsigned("hash"));
  const std::string path = fmt::format("{}/{}", folder, name);
  ASSIGN_OR_RETURN(const std::string text, ReadFile(path));
  if (static_cast<int64_t>(text.size()) != bytes || HashBytes(text) != hash)
    return Error("`{}` is damaged: {} bytes, expected {} of another content", path, text.size(),
                 bytes);
  ASSIGN_OR_RETURN(const NpyArray array, ParseNpy(text));
  return ToLiteral(array, shape);
}

}  // namespace

absl::StatusOr<CheckpointFolder> CheckpointFolder::Open(std::string path, CheckpointForm form) {
  RETURN_IF_ERROR(MakeFolder(path));
  RETURN_IF_ERROR(CheckWritable(fmt::format("{}/{}", path, kIndex)));
  std::error_code error;
  std::vector<fs::path> left;
  for (const fs::directory_entry& entry : fs::directory_iterator(path, error)) {
    if (entry.path().filename().string().starts_with(kUnfinished)) left.push_back(entry.path());
  }
  for (const fs::path& folder : left) fs::remove_all(folder, error);
  if (error) return SystemError("clean", path, error);
  return CheckpointFolder(std::move(path), std::move(form));
}

std::string CheckpointFolder::FolderOf(int64_t step) const {
  return fmt::format("{}/{}{}", path_, kPrefix, step);
}

std::string CheckpointFolder::FileOf(int64_t device, std::string_view kind, size_t number) const {
  const std::string name = fmt::format("{}{}.npy", kind, number);
  return form_.mesh.devices() == 1 ? name : fmt::format("device{}/{}", device, name);
}

std::vector<int64_t> CheckpointFolder::Steps() const {
  std::vector<int64_t> steps;
  std::error_code error;
  for (const fs::directory_entry& entry : fs::directory_iterator(path_, error)) {
    const std::string name = entry.path().filename().string();
    if (!name.starts_with(kPrefix)) continue;
    if (const auto step = ReadNumber<int64_t>(std::string_view(name).substr(kPrefix.size())))
      steps.push_back(*step);
  }
  std::sort(steps.begin(), steps.end());
  return steps;
}

int64_t CheckpointFolder::NewestStep() const {
  const std::vector<int64_t> steps = Steps();
  return steps.empty() ? 0 : steps.back();
}

absl::Status CheckpointFolder::Write(const Checkpoint& checkpoint) const {
  const std::string unfinished = fmt::format("{}/{}{}", path_, kUnfinished, checkpoint.step);
  RETURN_IF_ERROR(MakeFolder(unfinished));
  std::string files;
  const auto write = [&](int64_t device, std::string_view kind, const ArrayNumbers& numbers,
                         const std::vector<Literal>& arrays) -> absl::Status {
    for (size_t i = 0; i < arrays.size(); ++i) {
      const std::string text = NpyText(arrays[i]), name = FileOf(device, kind, numbers[i].first);
      RETURN_IF_ERROR(WriteFile(fmt::format("{}/{}", unfinished, name), text));
      files +=
          fmt::format("{}\n  {{\"name\": {}, \"bytes\": {}, \"hash\": {}}}",
                      files.empty() ? "" : ",", JsonQuoted(name), text.size(), HashBytes(text));
    }
    return absl::OkStatus();
  };
  for (int64_t device = 0; device < form_.mesh.devices(); ++device) {
    if (form_.mesh.devices() > 1)
      RETURN_IF_ERROR(MakeFolder(fmt::format("{}/device{}", unfinished, device)));
    const auto i = static_cast<size_t>(device);
    RETURN_IF_ERROR(write(device, kArgument, form_.arrays, checkpoint.devices[i]));
    if (!checkpoint.results.empty())
      RETURN_IF_ERROR(write(device, kResult, form_.results, checkpoint.results[i]));
  }
  RETURN_IF_ERROR(
      WriteFile(fmt::format("{}/{}", unfinished, kIndex),
                fmt::format("{{\"schema\": 1, \"step\": {}, \"module\": {}, \"replicas\": {}, "
                            "\"partitions\": {}, {}\"files\": [{}\n]}}\n",
                            checkpoint.step, form_.module, form_.mesh.replicas,
                            form_.mesh.partitions, FeedsText(checkpoint.feeds), files)));
  std::error_code error;
  const std::string folder = FolderOf(checkpoint.step);
  fs::remove_all(folder, error);  // one that could not be read
  if (!error) fs::rename(unfinished, folder, error);
  if (error) return SystemError("write", folder, error);
  std::vector<int64_t> steps = Steps();
  for (size_t i = 0; i + kKept < steps.size(); ++i) fs::remove_all(FolderOf(steps[i]), error);
  return absl::OkStatus();
}

absl::StatusOr<Checkpoint> CheckpointFolder::Read(int64_t step) const {
  const std::string folder = FolderOf(step), path = fmt::format("{}/{}", folder, kIndex);
  ASSIGN_OR_RETURN(std::string text, ReadFile(path));
  const auto source = std::make_shared<const Source>(path, std::move(text));
  Checkpoint checkpoint;
  checkpoint.step = step;
  const absl::Status status = [&]() -> absl::Status {
    ASSIGN_OR_RETURN(const JsonDocument document, ParseJson(source));
    RETURN_IF_ERROR(CheckIndex(document.root, form_, step));
    ASSIGN_OR_RETURN(checkpoint.feeds, ReadFeeds(document.root, form_));
    ASSIGN_OR_RETURN(const JsonValue* files, document.root.Get("files", JsonValue::Kind::kArray));
    ASSIGN_OR_RETURN(const bool holds_results, HoldsResults(*files, form_));
    auto file = files->items().begin();
    const auto read = [&](int64_t device, std::string_view kind, const ArrayNumbers& numbers,
                          std::vector<Literal>& arrays) -> absl::Status {
      for (const auto& [number, shape] : numbers) {
        ASSIGN_OR_RETURN(arrays.emplace_back(),
                         ReadArray(*file++, folder, FileOf(device, kind, number), shape));
      }
      return absl::OkStatus();
    };
    for (int64_t device = 0; device < form_.mesh.devices(); ++device) {
      RETURN_IF_ERROR(read(device, kArgument, form_.arrays, checkpoint.devices.emplace_back()));
      if (holds_results)
        RETURN_IF_ERROR(read(device, kResult, form_.results, checkpoint.results.emplace_back()));
    }
    return absl::OkStatus();
  }();
  if (!status.ok()) return WithPlacesInText(status, *source);
  return checkpoint;
}

absl::StatusOr<CheckpointFolder::Found> CheckpointFolder::ReadNewest() const {
  const std::vector<int64_t> steps = Steps();
  absl::Status first;
  Found found;
  for (auto step = steps.rbegin(); step != steps.rend(); ++step) {
    absl::StatusOr<Checkpoint> checkpoint = Read(*step);
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
