#include "tools/run/outputs.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <complex>

#include "lib/support/file.h"
#include "lib/support/file_set.h"
#include "lib/support/hash.h"
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
  if (all.nonfinite > 0) {
    const int64_t nans = CountNans(array);
    if (nans > 0) text += fmt::format(", {} NaN", nans);
    if (nans < all.nonfinite) text += fmt::format(", {} infinite", all.nonfinite - nans);
  }
  return text;
}

// The same bytes, the same number: on all machines, and of the shape, too.
std::string HashText(const Literal& array) {
  const std::string bytes = NpyText(array);
  return fmt::format("{:016x}", HashBytes(bytes, HashBytes(fmt::format("{}", array.shape()))));
}

}  // namespace

int64_t CountNans(const Literal& array) {
  const ElementType type = array.element_type();
  if (!IsFloat(type) && !IsComplex(type)) return 0;
  int64_t count = 0;
  for (int64_t i = 0; i < array.element_count(); ++i) {
    const std::complex<double> value =
        IsComplex(type) ? array.GetComplex(i) : std::complex<double>(array.GetDouble(i));
    if (std::isnan(value.real()) || std::isnan(value.imag())) ++count;
  }
  return count;
}

std::string OutputText(const Literal& result, PrintOutputs how) {
  if (how == PrintOutputs::kNone) return "";
  const std::vector<Literal> leaves = ArrayLeaves(result);
  if (how == PrintOutputs::kHash) {
    std::string text;
    for (size_t i = 0; i < leaves.size(); ++i)
      text += fmt::format("output {}: {} hash {}\n", i, leaves[i].shape(), HashText(leaves[i]));
    return text;
  }
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

absl::Status CheckOutputFolder(const std::string& directory) {
  RETURN_IF_ERROR(MakeFolder(directory));
  return CheckWritable(directory + "/out0.npy");
}

absl::Status WriteArrays(absl::Span<const Literal> values, const std::string& directory,
                         std::string_view prefix, int64_t first) {
  RETURN_IF_ERROR(MakeFolder(directory));
  FileSet files;
  int64_t number = first;
  for (const Literal& value : values) {
    for (const Literal& leaf : ArrayLeaves(value)) {
      const std::string path = fmt::format("{}/{}{}.npy", directory, prefix, number++);
      RETURN_IF_ERROR(files.Add(path, NpyText(leaf)));
    }
  }
  return files.Commit();
}

}  // namespace hlo
