#include "tools/run/outputs.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "lib/support/file_set.h"
#include "lib/support/status.h"
#include "tools/run/model_file.h"
#include "tools/run/npy.h"
#include "tools/support/leaves.h"

namespace hlo {
namespace {

constexpr int64_t kMostShort = 100;
constexpr int64_t kFirstShown = 6;

// "f32[1000] {1, 2, …}  // 1000 elements, min 1, max 1000, mean 500.5".
std::string Shortened(const Literal& array) {
  if (array.element_count() <= kMostShort)
    return fmt::format("{} {}", array.shape(), array.ToString());
  std::string text = fmt::format("{} {{", array.shape());
  for (int64_t i = 0; i < kFirstShown; ++i) {
    AppendScalar(array, i, /*in_array=*/true, text);
    text += ", ";
  }
  text += "...}";
  const ModelStatistics all = StatisticsOf(array);
  text += fmt::format("  // {} elements, min {:.6g}, max {:.6g}, mean {:.6g}",
                      array.element_count(), all.min, all.max, all.mean);
  if (all.nonfinite > 0) text += fmt::format(", {} not finite", all.nonfinite);
  return text;
}

absl::Status MakeFolder(const std::string& path) {
  struct stat info;
  if (stat(path.c_str(), &info) == 0) {
    return S_ISDIR(info.st_mode) ? absl::OkStatus()
                                 : Error("cannot write to `{}`: it is no folder", path);
  }
  if (mkdir(path.c_str(), 0777) == 0) return absl::OkStatus();
  return Error("cannot make the folder `{}`: {}", path, std::strerror(errno));
}

}  // namespace

std::string OutputText(const Literal& result, PrintOutputs how) {
  if (how == PrintOutputs::kNone) return "";
  const std::vector<Literal> leaves = ArrayLeaves(result);
  const bool is_small = std::all_of(leaves.begin(), leaves.end(), [](const Literal& leaf) {
    return leaf.element_count() <= kMostShort;
  });
  if (how == PrintOutputs::kFull || (is_small && leaves.size() <= 10)) {
    return fmt::format("{} {}\n", result.shape(), result.ToString());
  }
  std::string text;
  for (size_t i = 0; i < leaves.size(); ++i) {
    if (result.shape().IsTuple()) text += fmt::format("output {}: ", i);
    text += Shortened(leaves[i]) + "\n";
  }
  return text;
}

absl::Status WriteOutputs(const Literal& result, const std::string& directory) {
  RETURN_IF_ERROR(MakeFolder(directory));
  FileSet files;
  int64_t number = 0;
  for (const Literal& leaf : ArrayLeaves(result))
    RETURN_IF_ERROR(files.Add(fmt::format("{}/out{}.npy", directory, number++), NpyText(leaf)));
  return files.Commit();
}

}  // namespace hlo
