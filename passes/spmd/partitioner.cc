#include "passes/spmd/partitioner.h"

#include <fmt/format.h>

#include "absl/algorithm/container.h"
#include "lib/analysis/leaves.h"
#include "lib/ops/async_pairs.h"
#include "lib/support/status.h"
#include "lib/support/strings.h"
#include "passes/spmd/rules.h"
#include "passes/util/origins.h"
#include "passes/util/recovery.h"

namespace hlo {
namespace {

const Sharding::Leaf& LeafOf(const Sharding& sharding, size_t i) {
  return sharding.leaves[sharding.is_tuple ? i : 0];
}

}  // namespace

// ---- modules ----

absl::StatusOr<Placements> ModulePartitioner::PlacementsOf(const Sharding& sharding, Shape shape,
                                                           const Instruction& blame) {
  Placements placements;
  const std::vector<Shape> leaves = LeafShapes(shape);
  for (size_t i = 0; i < leaves.size(); ++i) {
    const int rank = leaves[i].IsArray() ? leaves[i].rank() : 0;
    // (A token may have no leaf.)
    absl::StatusOr<Placement> placement =
        leaves[i].IsArray() ? Placement::Of(LeafOf(sharding, i), rank, state_.partitions())
                            : Placement::Whole(0, state_.partitions());
    if (!placement.ok())
      return Error(blame.loc(), "`{}`: {}", blame.name(), ToStd(placement.status().message()));
    // How much of a dimension of dynamic size a device has would depend on that size.
    for (int d = 0; d < rank; ++d) {
      if (leaves[i].is_dynamic(d)) *placement = placement->WithWhole(d);
    }
    placements.push_back(state_.Keep(*std::move(placement)));
  }
  return placements;
}

Placements ModulePartitioner::WholeLike(Shape shape, const Placement* like) {
  Placements placements;
  for (const Shape leaf : LeafShapes(shape)) {
    const int rank = leaf.IsArray() ? leaf.rank() : 0;
    placements.push_back(state_.Keep(like == nullptr ? Placement::Whole(rank, state_.partitions())
                                                     : like->AllWhole(rank)));
  }
  return placements;
}

absl::StatusOr<ModulePartitioner::Made> ModulePartitioner::Partition(
    Computation& computation, const std::vector<Placements>& parameters, const Placements* result) {
  Key key(computation.serial(), parameters,
          result == nullptr ? std::nullopt : std::optional<Placements>(*result));
  if (const auto found = made_.find(key); found != made_.end()) return found->second;
  Module& module = state_.module();
  Made made;
  made.computation = module.AddComputation(fmt::format("{}_spmd", computation.name()));
  made.computation->set_loc(computation.loc());
  made.computation->set_execution_thread(computation.execution_thread());
  Partitioner partitioner(*this, made.computation, parameters);
  RETURN_IF_ERROR(partitioner.Run(computation, result));
  made.result = partitioner.result();
  made_.emplace(std::move(key), made);
  return made;
}

const std::string& ModulePartitioner::RecoveryOf(const Placement* placement, Shape whole,
                                                 const Sharding::Leaf* sharding) {
  std::string& text = recoveries_[{placement, fmt::format("{}", whole), sharding != nullptr}];
  if (!text.empty()) return text;
  return text = RecoveryModule(placement->TileShape(whole), [&](Instruction* tile) {
           Module& module = tile->module();
           module.config().replica_count = state_.replicas();
           module.config().num_partitions = state_.partitions();
           if (sharding != nullptr) tile->set_sharding(Sharding::Of(*sharding));
           SpmdState state(module, state_.partitions());
           SpmdCode code(tile->parent(), state);
           return Move(code, tile, whole, *placement, placement->AllWhole(whole.rank()));
         });
}

// ---- computations ----

ArrayPart Partitioner::Operand(const Instruction& old, int i) const {
  const Parts& parts = parts_.at(old.operand(i));
  return {parts.value, parts.leaves[0], old.operand(i)->shape()};
}

ArrayPart Partitioner::As(const ArrayPart& tile, const Placement* placement) {
  if (tile.placement == placement) return tile;
  if (!placement->RegionsRefine(*tile.placement) && status_.ok()) {
    status_ = Error(visited_->loc(),
                    "`{}` reads outside of a manual region what is computed in it; only "
                    "`SPMDShardToFullShape` leaves one",
                    visited_->name());
  }
  const auto move = [&] {
    return Move(code_, tile.value, tile.whole, *tile.placement, *placement);
  };
  if (!module_.shares_moves()) return {move(), placement, tile.whole};
  Instruction*& value = moved_[{tile.value, placement}];
  if (value == nullptr) value = move();
  return {value, placement, tile.whole};
}

Parts Partitioner::Divide(Parts parts, Shape whole, const Placements& placements) {
  // What stays where it is stays one value: steps of asynchronous operations must.
  const bool stays =
      absl::c_equal(parts.leaves, placements, [](const Placement* from, const Placement* to) {
        return from == to || (to->RegionsRefine(*from) && from->InRegionsOf(*to) == *to);
      });
  if (stays) return {parts.value, placements};
  if (!whole.IsTuple()) {
    if (!whole.IsArray()) return {parts.value, placements};
    return {As({parts.value, parts.leaves[0], whole}, placements[0]).value, placements};
  }
  std::vector<Instruction*> elements;
  size_t first = 0;
  for (int i = 0; i < whole.element_count_of_tuple(); ++i) {
    const Shape shape = whole.element(i);
    const auto count = shape.IsTuple() ? static_cast<size_t>(LeafCount(shape)) : size_t{1};
    const auto cut = [&](const Placements& all) {
      return Placements(all.begin() + static_cast<std::ptrdiff_t>(first),
                        all.begin() + static_cast<std::ptrdiff_t>(first + count));
    };
    Instruction* element = parts.value->opcode() == Opcode::kTuple
                               ? parts.value->operand(i)
                               : code_.GetTupleElement(parts.value, i);
    elements.push_back(Divide({element, cut(parts.leaves)}, shape, cut(placements)).value);
    first += count;
  }
  return {code_.Tuple(elements), placements};
}

Instruction* Partitioner::OperandAs(const Instruction& old, int i, const Placements& placements) {
  const Instruction* operand = old.operand(i);
  return Divide(parts_.at(operand), operand->shape(), placements).value;
}

Instruction* Partitioner::Clone(const Instruction& old, Shape shape,
                                std::vector<Instruction*> operands) {
  Instruction* clone = code_.computation()->AddClone(old, shape, operands);
  ForgetWhole(clone, old);
  return clone;
}

void Partitioner::ForgetWhole(Instruction* part, const Instruction& old) {
  part->clear_sharding();
  if (!Compatible(part->shape(), old.shape())) SetOrigin(part, nullptr);
}

void Partitioner::NoteOrigin(const Instruction& old, const Parts& parts, uint32_t first_new) {
  if (OriginOf(old) == nullptr) return;
  // In a manual region every device has a value of its own, of which the program says nothing.
  if (!absl::c_all_of(parts.leaves, [](const Placement* leaf) { return leaf->HasOneRegion(); })) {
    if (parts.value->id() >= first_new) SetOrigin(parts.value, nullptr);
    return;
  }
  const std::vector<Shape> shapes = LeafShapes(old.shape());
  NoteRecovery(old, parts.value, [&](size_t leaf) -> std::optional<std::string> {
    const Placement* const placement = parts.leaves[leaf];
    if (placement->IsWhole()) return "";
    const bool as_wanted = old.sharding() != nullptr && wanted_[leaf] == placement;
    return module_.RecoveryOf(placement, shapes[leaf],
                              as_wanted ? &LeafOf(*old.sharding(), leaf) : nullptr);
  });
}

absl::Status Partitioner::Visit(Instruction& old) {
  code_.set_origin(&old);
  visited_ = &old;
  regions_ = nullptr;
  const auto see = [&](const Placement* placement) {
    if (regions_ == nullptr || placement->RegionsRefine(*regions_)) regions_ = placement;
  };
  for (const Instruction* operand : old.operands()) {
    for (const Placement* leaf : parts_.at(operand).leaves) see(leaf);
  }
  // The steps of an asynchronous operation read each other, and nothing in between.
  const bool is_step = YieldsUnderWay(old.opcode());
  if (old.sharding() != nullptr && !is_step) {
    ASSIGN_OR_RETURN(wanted_, module_.PlacementsOf(*old.sharding(), old.shape(), old));
    for (const Placement* leaf : wanted_) see(leaf);
  } else {
    wanted_ = module_.WholeLike(old.shape(), regions_);
  }
  if (regions_ == nullptr) regions_ = Keep(Placement::Whole(0, partitions()));
  const auto is_divided = [](const Placement* placement) {
    return placement != nullptr && !placement->IsWhole();
  };
  if (old.shape().has_dynamic_dims() && absl::c_any_of(wanted_, is_divided)) {
    return Unsupported(old.loc(),
                       "`{}` has dynamic dimensions, of which nobody knows how devices share them; "
                       "run `dynamic_padder` first",
                       old.name());
  }
  // In a manual region it is the device's business; elsewhere nobody could say which one is meant.
  if (regions_->HasOneRegion() && SeesPartitions(old)) {
    return Error(old.loc(),
                 "`{}` has a meaning only in a manual region (sharding={{manual}}): outside of one "
                 "there are no partitions yet",
                 old.name());
  }
  const uint32_t first_new = code_.computation()->module().id_limit();
  ASSIGN_OR_RETURN(Parts parts, RuleOf(old)(*this, old));
  if (old.opcode() != Opcode::kParameter && old.sharding() != nullptr && !is_step)
    parts = Divide(std::move(parts), old.shape(), wanted_);
  RETURN_IF_ERROR(status_);
  RETURN_IF_ERROR(code_.status());
  NoteOrigin(old, parts, first_new);
  // Parameters, which are visited first, wait for nothing, and neither does what was there before,
  // which a marker may stand for: what it would wait for may read it.
  if (old.opcode() != Opcode::kParameter && parts.value->id() >= first_new) {
    for (const Instruction* before : old.control_predecessors()) {
      Instruction* first = parts_.at(before).value;
      if (first != parts.value && first->opcode() != Opcode::kParameter)
        parts.value->AddControlPredecessor(first);
    }
  }
  parts_.emplace(&old, std::move(parts));
  return absl::OkStatus();
}

absl::Status Partitioner::Run(Computation& computation, const Placements* result) {
  for (Instruction* old : computation.parameters()) RETURN_IF_ERROR(Visit(*old));
  for (Instruction* old : computation.PostOrder()) {
    if (old->opcode() != Opcode::kParameter) RETURN_IF_ERROR(Visit(*old));
  }
  const Instruction& root = *computation.root();
  code_.set_origin(&root);
  visited_ = &root;
  const Parts& parts = parts_.at(&root);
  const Placement* like = parts.leaves.empty() ? nullptr : parts.leaves[0];
  const Placements whole = module_.WholeLike(root.shape(), like);
  const Parts divided = Divide(parts, root.shape(), result == nullptr ? whole : *result);
  code_.computation()->set_root(divided.value);
  result_ = divided.leaves;
  RETURN_IF_ERROR(status_);
  return code_.status();
}

}  // namespace hlo
