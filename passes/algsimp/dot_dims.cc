#include "passes/algsimp/dot_dims.h"

#include "lib/ir/custom_call.h"
#include "lib/support/contains.h"
#include "passes/util/frontend_attribute.h"

namespace hlo::algsimp {

bool HasDynamicSizes(const Instruction* dot) {
  return dot->shape().has_dynamic_dims() || dot->operand(0)->shape().has_dynamic_dims() ||
         dot->operand(1)->shape().has_dynamic_dims();
}

DotDims ResultDims(const DotAttrs& attrs, Shape lhs, Shape rhs) {
  DotDims dims{DimVec(static_cast<size_t>(lhs.rank()), -1),
               DimVec(static_cast<size_t>(rhs.rank()), -1)};
  int64_t next = 0;
  for (size_t i = 0; i < attrs.lhs_batch_dims.size(); ++i) {
    dims.lhs[static_cast<size_t>(attrs.lhs_batch_dims[i])] = next;
    dims.rhs[static_cast<size_t>(attrs.rhs_batch_dims[i])] = next++;
  }
  const auto add_free = [&](DimVec& of, const DimVec& contracting) {
    for (size_t i = 0; i < of.size(); ++i) {
      if (of[i] < 0 && !Contains(contracting, static_cast<int64_t>(i))) of[i] = next++;
    }
  };
  add_free(dims.lhs, attrs.lhs_contracting_dims);
  add_free(dims.rhs, attrs.rhs_contracting_dims);
  return dims;
}

DotDims OperandDims(const DotAttrs& attrs, Shape lhs, Shape rhs) {
  const DotDims to = ResultDims(attrs, lhs, rhs);
  const size_t rank = to.lhs.size() + to.rhs.size() - attrs.lhs_batch_dims.size() -
                      2 * attrs.lhs_contracting_dims.size();
  DotDims from{DimVec(rank, -1), DimVec(rank, -1)};
  const auto invert = [](const DimVec& map, DimVec& inverse) {
    for (size_t i = 0; i < map.size(); ++i) {
      if (map[i] >= 0) inverse[static_cast<size_t>(map[i])] = static_cast<int64_t>(i);
    }
  };
  invert(to.lhs, from.lhs);
  invert(to.rhs, from.rhs);
  return from;
}

namespace {

bool IsUnreduced(const Sharding::Leaf& leaf) {
  if (const auto* named = std::get_if<NamedSharding>(&leaf)) return !named->unreduced.empty();
  const auto& tiled = std::get<TiledSharding>(leaf);
  return tiled.kind == TiledSharding::Kind::kUnreduced ||
         Contains(tiled.last_tile_dims, SubgroupType::kUnreduced);
}

}  // namespace

bool IsLeftUnreduced(const Instruction& dot) {
  if (!dot.has_one_user()) return false;
  const Instruction& user = *dot.uses()[0].user;
  if (!IsCustomCall(user, "Sharding")) return false;
  if (user.sharding() != nullptr && !user.sharding()->is_tuple &&
      IsUnreduced(user.sharding()->leaves[0]))
    return true;
  return FrontendAttribute(user, "xla.sdy.sharding").find("unreduced") != std::string_view::npos;
}

bool IsParameterLike(const Instruction* x) {
  while (x->opcode() != Opcode::kParameter) {
    if (x->operand_count() != 1) return false;
    x = x->operand(0);
  }
  return true;
}

namespace {

DotChoices& Choices() {
  thread_local DotChoices choices;
  return choices;
}

}  // namespace

const DotChoices& CurrentDotChoices() { return Choices(); }

ScopedDotChoices::ScopedDotChoices(const DotChoices& choices) : before_(Choices()) {
  Choices() = choices;
}
ScopedDotChoices::~ScopedDotChoices() { Choices() = before_; }

bool HasItsParameterRight(const Instruction& dot) {
  return CurrentDotChoices().enable_move_dot_param_to_rhs && !IsParameterLike(dot.operand(0)) &&
         IsParameterLike(dot.operand(1));
}

}  // namespace hlo::algsimp
