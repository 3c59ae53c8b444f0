#include "passes/sharding/instruction_sharding.h"

#include <algorithm>

#include "absl/algorithm/container.h"
#include "lib/analysis/leaves.h"
#include "lib/ops/attrs.h"
#include "lib/types/shape_util.h"
#include "passes/util/mesh_forms.h"

namespace hlo {
namespace {

template <class Fn>
bool AllLeavesAre(const Sharding& sharding, Fn&& holds) {
  return absl::c_all_of(sharding.leaves, [&](const Sharding::Leaf& leaf) {
    return holds(std::get<TiledSharding>(leaf));
  });
}

}  // namespace

TiledSharding& LeafAt(Sharding& sharding, size_t i) {
  return std::get<TiledSharding>(sharding.leaves[i]);
}
const TiledSharding& LeafAt(const Sharding& sharding, size_t i) {
  return std::get<TiledSharding>(sharding.leaves[i]);
}

int64_t ShardingLeaves(Shape shape) { return std::max<int64_t>(1, LeafCount(shape)); }

int64_t FirstLeafOf(Shape tuple, int64_t element) {
  // Elements of one tuple are asked for one after the other, and there may be thousands.
  thread_local Shape last;
  thread_local std::vector<int64_t> first_leaves;
  if (last != tuple || first_leaves.empty()) {
    last = tuple;
    first_leaves.assign(1, 0);
    for (const Shape shape : tuple.elements())
      first_leaves.push_back(first_leaves.back() + (shape.IsTuple() ? LeafCount(shape) : 1));
  }
  return first_leaves[static_cast<size_t>(element)];
}

Sharding ElementSharding(const Sharding& sharding, Shape tuple, int64_t element) {
  const Shape shape = tuple.element(static_cast<int>(element));
  const int64_t first = FirstLeafOf(tuple, element);
  if (!shape.IsTuple()) return Sharding::Of(sharding.leaves[static_cast<size_t>(first)]);
  const int64_t count = LeafCount(shape);
  if (count == 0) return Uniform(shape, TiledSharding());
  const auto begin = sharding.leaves.begin() + first;
  return Sharding::Tuple(std::vector<Sharding::Leaf>(begin, begin + count));
}

Sharding Uniform(Shape shape, const TiledSharding& leaf) {
  if (!shape.IsTuple()) return Sharding::Of(leaf);
  return Sharding::Tuple(
      std::vector<Sharding::Leaf>(static_cast<size_t>(ShardingLeaves(shape)), leaf));
}

bool IsSpread(const Sharding& sharding) {
  return !AllLeavesAre(sharding, [](const TiledSharding& leaf) {
    return leaf.kind == TiledSharding::Kind::kMaximal;
  });
}
bool AllManual(const Sharding& sharding) {
  return AllLeavesAre(sharding, [](const TiledSharding& leaf) { return IsManual(leaf); });
}
bool AllReplicated(const Sharding& sharding) {
  return AllLeavesAre(sharding, [](const TiledSharding& leaf) { return IsReplicated(leaf); });
}
bool AllWhole(const Sharding& sharding) {
  return AllLeavesAre(sharding, [](const TiledSharding& leaf) { return IsWhole(leaf); });
}

bool AllUnknown(const Sharding& sharding) {
  return AllLeavesAre(sharding, [](const TiledSharding& leaf) {
    return leaf.kind == TiledSharding::Kind::kUnknown;
  });
}

bool SameSharding(const Sharding& a, const Sharding& b) {
  if (a.is_tuple != b.is_tuple || a.leaves.size() != b.leaves.size()) return false;
  for (size_t i = 0; i < a.leaves.size(); ++i) {
    if (!SameTiles(LeafAt(a, i), LeafAt(b, i))) return false;
  }
  return true;
}

bool IsMoreSpecific(const Sharding& a, const Sharding& b) {
  bool says_more = false;
  for (size_t i = 0; i < a.leaves.size(); ++i) {
    if (IsMoreSpecific(LeafAt(b, i), LeafAt(a, i))) return false;
    says_more |= IsMoreSpecific(LeafAt(a, i), LeafAt(b, i));
  }
  return says_more;
}

std::optional<Sharding> Improved(Sharding proposed, const Sharding* existing, Shape shape,
                                 ImproveOptions options) {
  if (!shape.IsTuple()) {
    std::optional<TiledSharding> better =
        Improved(std::move(LeafAt(proposed, 0)),
                 existing == nullptr ? nullptr : &LeafAt(*existing, 0), shape, options);
    if (!better.has_value()) return std::nullopt;
    return Sharding::Of(*std::move(better));
  }
  if (!IsSpread(proposed)) return std::nullopt;
  if (existing == nullptr) return proposed;
  // Elements of a tuple come from different places: each takes the better one. (XLA takes the whole
  // tuple if one element is better, and may lose others.)
  options.may_reshard = true;
  bool is_better = false;
  for (size_t i = 0; i < proposed.leaves.size(); ++i) {
    std::optional<TiledSharding> better =
        Improved(std::move(LeafAt(proposed, i)), &LeafAt(*existing, i), shape, options);
    is_better |= better.has_value();
    LeafAt(proposed, i) = better.has_value() ? *std::move(better) : LeafAt(*existing, i);
  }
  if (!is_better) return std::nullopt;
  return proposed;
}

void ToClassicForms(Sharding& sharding, Shape shape) {
  std::vector<Shape> shapes = LeafShapes(shape);
  if (shapes.empty()) shapes.push_back(shape);
  for (size_t i = 0; i < sharding.leaves.size(); ++i) {
    const auto* named = std::get_if<NamedSharding>(&sharding.leaves[i]);
    if (named == nullptr) continue;
    const Shape leaf = shapes[std::min(i, shapes.size() - 1)];
    sharding.leaves[i] = ClassicForm(*named, leaf.IsArray() ? leaf.rank() : 0);
  }
  // `{}` is allowed for tokens, and says nothing.
  if (sharding.leaves.empty()) {
    sharding = Uniform(shape, TiledSharding());
  } else if (shape.IsTuple() && !sharding.is_tuple) {
    const TiledSharding leaf = LeafAt(sharding, 0);
    sharding = Uniform(shape, leaf);
  }
}

bool IsSpread(const Instruction& instruction) {
  return instruction.sharding() != nullptr && IsSpread(*instruction.sharding());
}
bool IsManual(const Instruction& instruction) {
  return instruction.sharding() != nullptr && AllManual(*instruction.sharding());
}

const TiledSharding* LeafSharding(const Instruction& instruction) {
  const Sharding* sharding = instruction.sharding();
  return sharding == nullptr || sharding->is_tuple ? nullptr : &LeafAt(*sharding, 0);
}

bool Improve(Instruction& instruction, const Sharding& proposed, ImproveOptions options) {
  const Sharding* existing = instruction.sharding();
  if (existing != nullptr && SameSharding(proposed, *existing)) return false;  // most are
  std::optional<Sharding> better = Improved(proposed, existing, instruction.shape(), options);
  if (!better.has_value()) return false;
  instruction.set_sharding(*std::move(better));
  return true;
}

bool Improve(Instruction& instruction, const TiledSharding& proposed, ImproveOptions options) {
  const TiledSharding* existing = LeafSharding(instruction);
  if (existing != nullptr && SameTiles(proposed, *existing)) return false;
  return Improve(instruction, Uniform(instruction.shape(), proposed), options);
}

bool ImproveElement(Instruction& instruction, int64_t element, TiledSharding proposed,
                    ImproveOptions options) {
  if (!instruction.shape().IsTuple()) return Improve(instruction, proposed, options);
  const Sharding* sharding = instruction.sharding();
  const auto leaf = static_cast<size_t>(FirstLeafOf(instruction.shape(), element));
  std::optional<TiledSharding> better =
      Improved(std::move(proposed), sharding == nullptr ? nullptr : &LeafAt(*sharding, leaf),
               instruction.shape().element(static_cast<int>(element)), options);
  if (!better.has_value()) return false;
  Sharding whole = sharding == nullptr ? Uniform(instruction.shape(), TiledSharding()) : *sharding;
  whole.leaves[leaf] = *std::move(better);
  instruction.set_sharding(std::move(whole));
  return true;
}

bool IsElementwise(const Instruction& instruction) {
  const Opcode opcode = instruction.opcode();
  if (opcode == Opcode::kMap) {
    const DimVec& dims = instruction.attrs<MapAttrs>().dimensions;
    return dims.empty() || dims == IdentityMap(instruction.shape().rank());
  }
  if (opcode == Opcode::kBitcastConvert)
    return instruction.shape().rank() == instruction.operand(0)->shape().rank();
  if (opcode == Opcode::kFusion) {
    for (const Instruction* fused : instruction.fused_computation()->instructions()) {
      if (fused->opcode() != Opcode::kParameter && !IsElementwise(*fused)) return false;
    }
    return true;
  }
  return IsElementwise(opcode) || opcode == Opcode::kConstant || opcode == Opcode::kRng;
}

bool HasOneInnerUser(const Instruction& instruction) {
  const Instruction* root = instruction.parent()->root();
  const Instruction* found = nullptr;
  for (const Use& use : instruction.uses()) {
    if (use.user == root || use.user == found) continue;
    if (found != nullptr) return false;
    found = use.user;
  }
  return found != nullptr;
}

int OperandNumber(const Instruction& user, const Instruction& operand) {
  for (int i = 0; i < user.operand_count(); ++i) {
    if (user.operand(i) == &operand) return i;
  }
  return -1;
}

bool SameTree(Shape a, Shape b) {
  if (a.IsTuple() != b.IsTuple()) return false;
  if (!a.IsTuple()) return a.IsArray() == b.IsArray() && (!a.IsArray() || a.dims() == b.dims());
  if (a.elements().size() != b.elements().size()) return false;
  for (size_t i = 0; i < a.elements().size(); ++i) {
    if (!SameTree(a.elements()[i], b.elements()[i])) return false;
  }
  return true;
}

}  // namespace hlo
