#include "tools/run/compare_outputs.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include "lib/support/file.h"
#include "lib/support/status.h"
#include "tools/run/inputs.h"
#include "tools/run/npy.h"
#include "tools/support/leaves.h"

namespace hlo {
namespace {

// The leaves of a result as if they were parameters, for the readers of inputs.
std::vector<ParameterLeaf> OutputLeaves(Shape shape) {
  std::vector<ParameterLeaf> leaves;
  ForEachLeaf(shape, [&leaves](Shape leaf, const ShapeIndex& index) {
    if (leaf.IsArray())
      leaves.push_back({-1, index, leaf, fmt::format("output {}", leaves.size())});
  });
  return leaves;
}

absl::StatusOr<Literal> ExpectedLeaf(const std::string& path, const ParameterLeaf& leaf) {
  ASSIGN_OR_RETURN(const std::string text, ReadFile(path));
  absl::StatusOr<NpyArray> array = ParseNpy(text);
  if (!array.ok()) return Error("`{}`: {}", path, std::string(array.status().message()));
  absl::StatusOr<Literal> literal = ToLiteral(*array, leaf.shape);
  if (!literal.ok())
    return Error("`{}` for {}: {}", path, leaf.name, std::string(literal.status().message()));
  return literal;
}

constexpr std::string_view kIgnored = "(ignored)";

// "f32[2] {1, 2} (ignored) s32[] 3": the values in between, and zeros for the leaves that are
// not looked at.
absl::Status ReadAroundIgnored(const std::string& text, const std::vector<ParameterLeaf>& leaves,
                               std::vector<Literal>& arrays, std::set<size_t>& ignored) {
  size_t at = 0;
  while (at < text.size()) {
    const size_t end = std::min(text.find(kIgnored, at), text.size());
    const std::string between = text.substr(at, end - at);
    if (between.find_first_not_of(" \t\r\n") != std::string::npos) {
      ASSIGN_OR_RETURN(const std::vector<LiteralFromWord> given,
                       ReadWord(between, leaves, arrays.size()));
      for (const LiteralFromWord& literal : given) {
        for (Literal& array : ArrayLeaves(literal.value)) arrays.push_back(std::move(array));
      }
    }
    at = end + kIgnored.size();
    if (end == text.size()) break;
    if (arrays.size() >= leaves.size())
      return Error("`--expected` gives more values than the module has outputs: {}", leaves.size());
    ignored.insert(arrays.size());
    arrays.emplace_back(leaves[arrays.size()].shape);
  }
  return absl::OkStatus();
}

}  // namespace

Verdict CompareOutputs(const Literal& actual, const ModelFile& model, const Tolerance& tolerance) {
  Verdict verdict;
  const std::vector<Literal> got = ArrayLeaves(actual);
  if (got.size() != model.outputs.size()) {
    return {false, fmt::format("{} outputs, but `{}` describes {}\n", got.size(), model.path,
                               model.outputs.size())};
  }
  for (size_t i = 0; i < got.size(); ++i) {
    AddReport(verdict, i, got[i].shape(), CompareWithModel(got[i], model.outputs[i], tolerance),
              tolerance);
  }
  return verdict;
}

absl::StatusOr<ExpectedValues> ReadExpected(const std::string& what, Shape shape) {
  const std::vector<ParameterLeaf> leaves = OutputLeaves(shape);
  std::vector<Literal> arrays;
  ExpectedValues expected;
  struct stat info;
  if (stat(what.c_str(), &info) == 0 && S_ISDIR(info.st_mode)) {
    for (size_t i = 0; i < leaves.size(); ++i) {
      ASSIGN_OR_RETURN(arrays.emplace_back(),
                       ExpectedLeaf(fmt::format("{}/out{}.npy", what, i), leaves[i]));
    }
  } else if (what.find(kIgnored) != std::string::npos) {
    RETURN_IF_ERROR(ReadAroundIgnored(what, leaves, arrays, expected.ignored));
  } else {
    ASSIGN_OR_RETURN(const std::vector<LiteralFromWord> given, ReadWord(what, leaves, 0));
    for (const LiteralFromWord& literal : given) {
      for (Literal& array : ArrayLeaves(literal.value)) arrays.push_back(std::move(array));
    }
  }
  if (arrays.size() != leaves.size()) {
    return Error("`--expected` gives {} array{}, but the module has {} output{}", arrays.size(),
                 arrays.size() == 1 ? "" : "s", leaves.size(), leaves.size() == 1 ? "" : "s");
  }
  size_t at = 0;
  expected.value = FromLeaves(shape, arrays, at);
  return expected;
}

}  // namespace hlo
