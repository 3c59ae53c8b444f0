#include "passes/sharding/open_dims.h"

#include "lib/ir/module.h"

namespace hlo {
namespace {

// A manual group with copies, and nothing else.
bool HasManualGroupAndCopies(const TiledSharding& sharding) {
  return HasManualGroup(sharding) && HasCopies(sharding) && sharding.last_tile_dims.size() == 2;
}

// The same tiles, the manual group counted as a last dimension of the data.
TiledSharding WithGroupAsData(const TiledSharding& sharding) {
  if (HasManualGroup(sharding)) return WithSubgroups(sharding, {SubgroupType::kReplicated});
  DimVec dims = sharding.tile_dims;
  dims.insert(dims.begin() + sharding.data_rank(), 1);
  return WithSubgroups(WithTileDims(sharding, dims), Subgroups(sharding));
}

// Both sides of a conversion, by what the automatic side is told.
bool RefineByAutomatic(const TiledSharding& given, const DimVec& open, TiledSharding& automatic,
                       TiledSharding& manual) {
  if (!HasManualGroupAndCopies(manual) || HasManualGroup(automatic)) return false;
  const TiledSharding more = KeepDims(given, open);
  if (!IsTiled(more) || !MergeIfCompatible(more, automatic)) return false;
  TiledSharding merged = WithGroupAsData(manual);
  if (!MergeIfCompatible(WithGroupAsData(more), merged)) return false;
  std::vector<SubgroupType> types = {SubgroupType::kManual};
  if (HasCopies(merged)) types.push_back(SubgroupType::kReplicated);
  manual = WithSubgroups(std::move(merged), std::move(types));
  return true;
}

// The same by what the manual side is told.
bool RefineByManual(const TiledSharding& given, const DimVec& open, TiledSharding& automatic,
                    TiledSharding& manual) {
  if (!HasManualGroup(given) || !HasManualGroupAndCopies(manual) || HasManualGroup(automatic))
    return false;
  const TiledSharding more = KeepDims(given, open);
  if (!IsTiled(more) || !MergeIfCompatible(more, manual)) return false;
  const std::vector<SubgroupType> types(Subgroups(more).size(), SubgroupType::kReplicated);
  return MergeIfCompatible(WithSubgroups(more, types), automatic);
}

// The conversion that an annotation is one with; `fits` says whether it leaves the same open.
Instruction* ConversionAfter(const Instruction& annotation, const DimVec& open, bool& fits) {
  fits = true;
  if (!annotation.has_one_user()) return nullptr;
  Instruction* user = annotation.uses()[0].user;
  if (!IsCustomCall(*user, kToManual) && !IsCustomCall(*user, kToAutomatic)) return nullptr;
  const absl::StatusOr<DimVec> dims = UnspecifiedDims(*user);
  fits = dims.ok() && *dims == open;
  return fits ? user : nullptr;
}

bool RefineAlone(Instruction& annotation, const DimVec& open, const TiledSharding& given) {
  TiledSharding sharding = *LeafSharding(annotation);
  if (!MergeIfCompatible(KeepDims(given, open), sharding)) return false;
  annotation.set_sharding(Sharding::Of(std::move(sharding)));
  return true;
}

// `from_operand`: `given` is the sharding before the annotation, else that after the conversion.
bool RefineBoth(Instruction& annotation, Instruction& conversion, const DimVec& open,
                const TiledSharding& given, bool from_operand) {
  if (LeafSharding(conversion) == nullptr) return false;
  const bool to_manual = IsCustomCall(conversion, kToManual);
  TiledSharding before = *LeafSharding(annotation), after = *LeafSharding(conversion);
  TiledSharding& automatic = to_manual ? before : after;
  TiledSharding& manual = to_manual ? after : before;
  const bool is_refined = to_manual == from_operand
                              ? RefineByAutomatic(given, open, automatic, manual)
                              : RefineByManual(given, open, automatic, manual);
  if (!is_refined) return false;
  annotation.set_sharding(Sharding::Of(std::move(before)));
  conversion.set_sharding(Sharding::Of(std::move(after)));
  return true;
}

}  // namespace

bool RefineFromOperand(Instruction& annotation, const DimVec& open, Instruction*& conversion) {
  conversion = nullptr;
  const TiledSharding* given = LeafSharding(*annotation.operand(0));
  if (given == nullptr || !IsTiled(*given)) return false;
  bool fits;
  conversion = ConversionAfter(annotation, open, fits);
  if (!fits) return false;
  return conversion == nullptr
             ? RefineAlone(annotation, open, *given)
             : RefineBoth(annotation, *conversion, open, *given, /*from_operand=*/true);
}

bool RefineFromUsers(Instruction& annotation, const DimVec& open, const PropagationContext& context,
                     Instruction*& conversion) {
  bool fits;
  conversion = ConversionAfter(annotation, open, fits);
  if (!fits) return false;
  const Instruction& source = conversion == nullptr ? annotation : *conversion;
  bool changed = false;
  for (const Instruction* user : source.users()) {
    if (LeafSharding(*user) == nullptr || !IsTiled(*LeafSharding(*user))) continue;
    const std::optional<Sharding> wish = ShardingFromUser(source, *user, context);
    if (!wish.has_value() || wish->is_tuple || !IsTiled(LeafAt(*wish, 0))) continue;
    changed |= conversion == nullptr ? RefineAlone(annotation, open, LeafAt(*wish, 0))
                                     : RefineBoth(annotation, *conversion, open, LeafAt(*wish, 0),
                                                  /*from_operand=*/false);
  }
  return changed;
}

bool RefineFromGroup(Instruction& annotation, const DimVec& open,
                     const std::vector<Instruction*>& group) {
  if (IsCustomCall(annotation, kBarrierTo)) return false;
  bool changed = false;
  for (const Instruction* member : group) {
    if (member == &annotation || IsCustomCall(*member, kBarrierFrom)) continue;
    const TiledSharding* given = LeafSharding(*member);
    if (given != nullptr && IsTiled(*given)) changed |= RefineAlone(annotation, open, *given);
  }
  return changed;
}

}  // namespace hlo
