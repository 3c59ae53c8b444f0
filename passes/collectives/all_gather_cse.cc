#include "passes/collectives/all_gather_cse.h"

#include <map>

#include "lib/analysis/forwarding.h"
#include "passes/rewrite.h"

namespace hlo {
namespace {

// A leaf of a parameter, converted to these types on the way.
struct GatheredParameter {
  const Instruction* parameter = nullptr;
  int64_t leaf = 0;
  std::vector<ElementType> conversions;
};

GatheredParameter TraceParameter(const Instruction* value) {
  GatheredParameter traced;
  for (;;) {
    if (value->opcode() == Opcode::kParameter) {
      traced.parameter = value;
      return traced;
    }
    if (value->opcode() == Opcode::kConvert) {
      traced.conversions.push_back(value->shape().element_type());
      value = value->operand(0);
      continue;
    }
    const std::vector<LeafSource> sources = ForwardedLeaves(*value, /*dense=*/false);
    if (sources.empty() || value->opcode() == Opcode::kBitcast) return {};
    const LeafSource source = sources[static_cast<size_t>(traced.leaf)];
    if (source.operand < 0) return {};
    traced.leaf = source.leaf;
    value = value->operand(source.operand);
  }
}

std::string GatherKey(const Instruction& gather, const GatheredParameter& traced) {
  const auto& attrs = gather.attrs<AllGatherAttrs>();
  std::string key = fmt::format("{} {} {} {} {} {} {} {}", traced.parameter->parameter_number(),
                                traced.leaf, gather.shape().Text(), attrs.channel_id.has_value(),
                                attrs.replica_groups.ToString(true), attrs.constrain_layout,
                                attrs.dimensions.value, attrs.use_global_device_ids);
  for (const ElementType type : traced.conversions) key += fmt::format(" {}", Text(type));
  return key;
}

}  // namespace

absl::StatusOr<bool> AllGatherCse::Run(Module& module, PassContext& context) {
  bool changed = false;
  for (Computation* computation : context.NonFusionComputations(module, {Opcode::kAllGather})) {
    std::map<std::string, Instruction*> first;
    for (Instruction* gather : computation->PostOrder()) {
      if (gather->opcode() != Opcode::kAllGather || !gather->shape().IsArray() ||
          gather->has_control_edges())
        continue;
      const GatheredParameter traced = TraceParameter(gather->operand(0));
      if (traced.parameter == nullptr) {
        context.Missed(*gather, "what it gathers is no parameter");
        continue;
      }
      const auto [it, is_first] = first.emplace(GatherKey(*gather, traced), gather);
      if (is_first) continue;
      if (!context.MayRewrite()) return changed;
      context.Passed(*gather, "`{}` has gathered the same", it->second->name());
      ReplaceKeepingExtras(gather, it->second, module.id_limit());
      context.Count("merged");
      changed = true;
    }
  }
  return changed;
}

HLO_DEFINE_PASS(AllGatherCse)

}  // namespace hlo
