#include "passes/buffers/optimize_input_output_buffer_alias.h"

#include "lib/types/memory_space.h"
#include "passes/buffers/entry_alias.h"

namespace hlo {
namespace {

struct AliasBuffer {
  int64_t parameter = -1;  // -1: of the result
  ShapeIndex index;
  int64_t bytes = 0;
  int64_t memory_space = 0;
};

void LargestFirst(std::vector<AliasBuffer>& buffers) {
  absl::c_stable_sort(buffers, [](const AliasBuffer& a, const AliasBuffer& b) {
    return std::pair(a.memory_space, -a.bytes) < std::pair(b.memory_space, -b.bytes);
  });
}

std::vector<AliasBuffer> FreeResults(const Module& module) {
  std::vector<AliasBuffer> results;
  const Shape shape = module.entry()->root()->shape();
  ForEachLeaf(shape, [&](Shape leaf, const ShapeIndex& index) {
    if (leaf.IsArray() && AliasOfOutput(module, index) == nullptr)
      results.push_back({-1, index, leaf.byte_size(), MemorySpaceOf(leaf)});
  });
  return results;
}

std::vector<AliasBuffer> FreeParameters(const Module& module, bool donors_only) {
  std::vector<AliasBuffer> buffers;
  for (const Instruction* parameter : module.entry()->parameters()) {
    ForEachLeaf(parameter->shape(), [&](Shape leaf, const ShapeIndex& index) {
      if (!leaf.IsArray() || leaf.has_dynamic_dims()) return;
      const int64_t number = parameter->parameter_number();
      if (AliasOfParameter(module, number, index) == nullptr &&
          (!donors_only || IsDonor(module, number, index)))
        buffers.push_back({number, index, leaf.byte_size(), MemorySpaceOf(leaf)});
    });
  }
  return buffers;
}

}  // namespace

absl::StatusOr<bool> OptimizeInputOutputBufferAlias::Run(Module& module, PassContext& context) {
  if (module.entry()->root()->shape().has_dynamic_dims()) return false;
  std::vector<AliasBuffer> results = FreeResults(module);
  std::vector<AliasBuffer> parameters =
      FreeParameters(module, options_.registered_buffer_donor_only);
  LargestFirst(results);
  LargestFirst(parameters);
  ModuleConfig& config = module.config();
  bool changed = false;
  size_t p = 0;
  for (const AliasBuffer& result : results) {
    const auto rank = [](const AliasBuffer& x) { return std::pair(x.memory_space, -x.bytes); };
    while (p < parameters.size() && rank(parameters[p]) < rank(result)) ++p;
    if (p == parameters.size()) break;
    if (rank(parameters[p]) != rank(result)) continue;
    if (!context.MayRewrite()) break;
    const AliasBuffer& taken = parameters[p++];
    AddEntryAlias(config, result.index, taken.parameter, taken.index);
    context.Count("aliases");
    changed = true;
  }
  SortEntryAliases(config);
  return changed;
}

HLO_DEFINE_PASS(OptimizeInputOutputBufferAlias)

}  // namespace hlo
