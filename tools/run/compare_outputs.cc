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

}  // namespace

Verdict CompareOutputs(const Literal& actual, const ModelFile& model, const Tolerance& tolerance) {
  Verdict verdict;
  const std::vector<Literal> got = ArrayLeaves(actual);
  if (got.size() != model.outputs.size()) {
    return {false, fmt::format("{} outputs, but `{}` describes {}\n", got.size(), model.path,
                               model.outputs.size())};
  }
  for (size_t i = 0; i < got.size(); ++i) {
    AddReport(verdict, i, got[i].shape(), CompareWithModel(got[i], model.outputs[i], tolerance));
  }
  return verdict;
}

absl::StatusOr<Literal> ReadExpected(const std::string& what, Shape shape) {
  const std::vector<ParameterLeaf> leaves = OutputLeaves(shape);
  std::vector<Literal> arrays;
  struct stat info;
  if (stat(what.c_str(), &info) == 0 && S_ISDIR(info.st_mode)) {
    for (size_t i = 0; i < leaves.size(); ++i) {
      ASSIGN_OR_RETURN(arrays.emplace_back(),
                       ExpectedLeaf(fmt::format("{}/out{}.npy", what, i), leaves[i]));
    }
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
  return FromLeaves(shape, arrays, at);
}

}  // namespace hlo
