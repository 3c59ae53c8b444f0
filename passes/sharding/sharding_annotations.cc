#include "passes/sharding/sharding_annotations.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "lib/support/read_number.h"
#include "lib/support/status.h"
#include "passes/sharding/open_dims.h"

namespace hlo {
namespace {

bool HasGroup(const Instruction& instruction) {
  const TiledSharding* sharding = LeafSharding(instruction);
  return sharding != nullptr && sharding->group_kind != ShardGroupKind::kNone;
}

}  // namespace

const DimVec* ShardingAnnotations::OpenDims(const Instruction& instruction) const {
  const auto found = open_dims_.find(&instruction);
  return found == open_dims_.end() ? nullptr : &found->second;
}

const std::vector<Instruction*>* ShardingAnnotations::GroupOf(
    const Instruction& instruction) const {
  const auto found = group_id_.find(&instruction);
  if (found == group_id_.end()) return nullptr;
  const auto as = as_.find(found->second);
  return as != as_.end() ? &as->second : &like_.at(found->second);
}

bool ShardingAnnotations::IsInAsGroup(const Instruction& instruction) const {
  const auto found = group_id_.find(&instruction);
  return found != group_id_.end() && as_.contains(found->second);
}

absl::Status ShardingAnnotations::Join(Instruction& instruction) {
  Sharding sharding = *instruction.sharding();
  TiledSharding& leaf = LeafAt(sharding, 0);
  auto& group = (leaf.group_kind == ShardGroupKind::kAs ? as_ : like_)[leaf.group_id];
  if (!group.empty() && !SameDimensions(group[0]->shape(), instruction.shape())) {
    return Error(instruction.loc(), "`{}` of shape `{}` is in a group with `{}` of shape `{}`",
                 instruction.name(), instruction.shape(), group[0]->name(), group[0]->shape());
  }
  group.push_back(&instruction);
  group_id_[&instruction] = leaf.group_id;
  leaf.group_kind = ShardGroupKind::kNone;
  leaf.group_id = -1;
  instruction.set_sharding(std::move(sharding));
  return absl::OkStatus();
}

namespace {

absl::Status CheckHasOneOperand(const Instruction& annotation) {
  if (annotation.operand_count() == 1) return absl::OkStatus();
  return Error(annotation.loc(), "`{}` annotates one array, but has {} operands", annotation.name(),
               annotation.operand_count());
}

}  // namespace

absl::StatusOr<bool> ShardingAnnotations::TakeAnnotation(Instruction* annotation, bool replace) {
  if (annotation->sharding() == nullptr)
    return Error(annotation->loc(), "`{}` annotates a sharding, but has none", annotation->name());
  RETURN_IF_ERROR(CheckHasOneOperand(*annotation));
  ASSIGN_OR_RETURN(DimVec open_dims, UnspecifiedDims(*annotation));
  Instruction& operand = *annotation->operand(0);
  if (!Compatible(operand.shape(), annotation->shape()))
    return Error(annotation->loc(), "`{}` of shape `{}` annotates `{}` of shape `{}`",
                 annotation->name(), annotation->shape(), operand.name(), operand.shape());
  Computation& computation = *annotation->parent();
  const Sharding sharding = *annotation->sharding();
  const bool becomes_copy =
      replace && (!AllUnknown(sharding) || operand.opcode() == Opcode::kParameter);
  if (becomes_copy) {
    Instruction* operands[] = {&operand};
    Instruction* copy = computation.Add(Opcode::kCopy, annotation->shape(), operands);
    copy->CopyExtrasFrom(*annotation);
    copy->set_sharding(sharding);
    computation.Replace(annotation, copy);
    annotation = copy;
  }
  bool is_removed = false;
  if (replace && HasGroup(*annotation)) {
    if (becomes_copy) {
      RETURN_IF_ERROR(Join(*annotation));
    } else {
      TiledSharding unknown;
      unknown.kind = TiledSharding::Kind::kUnknown;
      Sharding passed = Sharding::Of(std::move(unknown));
      if (operand.sharding() != nullptr) passed = *operand.sharding();
      LeafAt(passed, 0).group_kind = LeafAt(sharding, 0).group_kind;
      LeafAt(passed, 0).group_id = LeafAt(sharding, 0).group_id;
      operand.set_sharding(std::move(passed));
      is_removed = true;
    }
  }
  if (!open_dims.empty()) {
    open_dims_[annotation] = std::move(open_dims);
  } else if (operand.sharding() == nullptr) {
    operand.set_sharding(*annotation->sharding());
  }
  if (is_removed) computation.Replace(annotation, &operand);
  return becomes_copy || is_removed;
}

absl::StatusOr<bool> ShardingAnnotations::Take(Module& module, bool replace) {
  bool changed = false;
  for (Computation* computation : module.computations()) {
    std::vector<Instruction*> order = computation->PostOrder();
    absl::c_reverse(order);
    for (Instruction* instruction : order) {
      if (IsCustomCall(*instruction, kToManual) || IsCustomCall(*instruction, kToAutomatic))
        RETURN_IF_ERROR(CheckHasOneOperand(*instruction));
      if (IsCustomCall(*instruction, kShardingCall)) {
        ASSIGN_OR_RETURN(const bool replaced, TakeAnnotation(instruction, replace));
        changed |= replaced;
      } else if (replace && HasGroup(*instruction)) {
        RETURN_IF_ERROR(Join(*instruction));
      }
    }
  }
  return changed;
}

absl::StatusOr<DimVec> UnspecifiedDims(const Instruction& call) {
  constexpr std::string_view kKey = "unspecified_dims=[";
  std::string_view text = call.backend_config();
  DimVec dims;
  const size_t begin = text.find(kKey);
  if (begin == std::string_view::npos) return dims;
  text.remove_prefix(begin + kKey.size());
  while (!text.empty() && text[0] != ']') {
    const std::optional<int64_t> dim = TakeNumber<int64_t>(text);
    if (!dim || *dim < 0 || *dim >= call.shape().rank())
      return Error(call.loc(), "`unspecified_dims` of `{}` are no dimensions of `{}`", call.name(),
                   call.shape());
    dims.push_back(*dim);
    if (!text.empty() && text[0] == ',') text.remove_prefix(1);
  }
  absl::c_sort(dims);
  return dims;
}

std::string UnspecifiedDimsText(const DimVec& dims) {
  return dims.empty() ? "" : fmt::format("unspecified_dims=[{}]", fmt::join(dims, ","));
}

namespace {

constexpr std::string_view kOpenMark = "_open_in_manual_region";

}  // namespace

void MarkOpen(Sharding& sharding) {
  OpMetadata mark;
  mark.op_name = kOpenMark;
  LeafAt(sharding, 0).metadata = {mark};
}

bool TakeOpenMark(Sharding& sharding) {
  if (sharding.leaves.empty()) return false;  // of a tuple without elements
  auto* leaf = std::get_if<TiledSharding>(&sharding.leaves[0]);
  if (leaf == nullptr || leaf->metadata.size() != 1 || leaf->metadata[0].op_name != kOpenMark)
    return false;
  leaf->metadata.clear();
  return true;
}

}  // namespace hlo
