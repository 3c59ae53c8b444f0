// Random programs with random shardings, for mode `spmd`. Some of them are in a region that is
// manual along one axis of the mesh:
//
//   x = f32[8,4] parameter(0)
//   a = f32[8,4] custom-call(x), custom_call_target="Sharding", sharding={devices=[2,1,2]<=[4]
//       last_tile_dim_replicate}
//   b = f32[8,4] custom-call(a), custom_call_target="SPMDFullToShardShape",
//       sharding={devices=[2,1,2]<=[4] last_tile_dims={manual}}
//
// Along that axis all devices are given the same, so that what each group of them makes of it is
// what the program makes without partitions.
#include <algorithm>
#include <functional>
#include <iterator>
#include <numeric>

#include "lib/analysis/leaves.h"
#include "lib/ir/printer.h"
#include "lib/ops/opcode_groups.h"
#include "lib/types/shape_util.h"
#include "parser/parser.h"
#include "tools/fuzz/fuzz_mode.h"
#include "tools/fuzz/module_limits.h"
#include "tools/fuzz/programs/random_program.h"

namespace hlo {
namespace {

// The axes of a mesh, and which one of them is manual; -1: none.
struct RandomMesh {
  std::vector<int64_t> axes;
  int64_t manual = -1;
};

// Some axes divide a dimension each; the rest of the devices have copies.
TiledSharding RandomTiles(int64_t data_rank, const RandomMesh& mesh, bool replicates,
                          FuzzRandom& random) {
  const auto rank = static_cast<size_t>(data_rank);
  std::vector<std::vector<size_t>> axes_of(rank + 2);  // the manual one, then those of copies
  for (size_t axis = 0; axis < mesh.axes.size(); ++axis) {
    const bool is_manual = static_cast<int64_t>(axis) == mesh.manual;
    const size_t place = replicates ? rank : random.Below(rank + 1);
    std::vector<size_t>& list = axes_of[is_manual ? rank : place < rank ? place : rank + 1];
    list.insert(list.begin() + static_cast<std::ptrdiff_t>(random.Below(list.size() + 1)), axis);
  }
  TiledSharding leaf;
  DimVec order;
  for (const std::vector<size_t>& list : axes_of) {
    int64_t tiles = 1;
    for (const size_t axis : list) {
      tiles *= mesh.axes[axis];
      order.push_back(static_cast<int64_t>(axis));
    }
    leaf.tile_dims.push_back(tiles);
  }
  leaf.kind = TiledSharding::Kind::kTiled;
  leaf.last_tile_dims = {SubgroupType::kManual, SubgroupType::kReplicated};
  const DimVec sizes(mesh.axes.begin(), mesh.axes.end());
  const DimVec strides = Permute(RowMajorStrides(sizes), order);
  const DimVec ordered = Permute(sizes, order);
  DimVec index(order.size(), 0);
  do {
    leaf.devices.push_back(
        std::inner_product(index.begin(), index.end(), strides.begin(), int64_t{0}));
  } while (NextIndex(absl::MakeSpan(index), ordered));
  return leaf;
}

// What is manual is one more axis that gives copies.
TiledSharding Outside(TiledSharding tiles) {
  tiles.last_tile_dims = {SubgroupType::kReplicated, SubgroupType::kReplicated};
  return TiledSharding::Canonical(std::move(tiles));
}

TiledSharding RandomLeafSharding(Shape shape, const RandomMesh& mesh, FuzzRandom& random) {
  const int64_t rank = shape.IsArray() ? shape.rank() : 0;
  const bool replicates = rank == 0 || random.OneIn(6);
  TiledSharding leaf = RandomTiles(rank, mesh, replicates, random);
  if (mesh.manual >= 0) return TiledSharding::Canonical(std::move(leaf));
  if (random.OneIn(8)) {
    for (size_t i = leaf.devices.size(); i > 1; --i)
      std::swap(leaf.devices[i - 1], leaf.devices[random.Below(i)]);
  }
  return Outside(std::move(leaf));
}

Sharding RandomSharding(Shape shape, const RandomMesh& mesh, FuzzRandom& random) {
  if (!shape.IsTuple()) return Sharding::Of(RandomLeafSharding(shape, mesh, random));
  std::vector<Sharding::Leaf> leaves;
  for (const Shape leaf : LeafShapes(shape))
    leaves.push_back(RandomLeafSharding(leaf, mesh, random));
  if (leaves.empty()) leaves.emplace_back(RandomLeafSharding(shape, mesh, random));
  return Sharding::Tuple(std::move(leaves));
}

// Computations whose instructions may be sharded: called as a whole, not for elements.
bool IsDivided(const Computation& computation) {
  return computation.is_entry() ||
         std::any_of(
             computation.callers().begin(), computation.callers().end(),
             [&](const CallSite& site) { return kProgramCallers.Has(site.caller->opcode()); });
}

Instruction* AddMarker(std::string_view target, Instruction* operand, TiledSharding sharding) {
  CustomCallAttrs attrs;
  attrs.custom_call_target = std::string(target);
  Instruction* operands[] = {operand};
  Instruction* marker = operand->parent()->Add(Opcode::kCustomCall, operand->shape(), operands,
                                               AttrsPtr::Make(std::move(attrs)));
  marker->set_sharding(Sharding::Of(std::move(sharding)));
  return marker;
}

bool HasOnlyArrays(const Computation& entry) {
  const auto is_array = [](const Instruction* i) { return i->shape().IsArray(); };
  const absl::Span<Instruction* const> parameters = entry.parameters();
  const Instruction& root = *entry.root();
  if (!std::all_of(parameters.begin(), parameters.end(), is_array)) return false;
  if (root.opcode() != Opcode::kTuple) return is_array(&root);
  return std::all_of(root.operands().begin(), root.operands().end(), is_array);
}

// The whole of the entry into a region.
void EnterRegion(Computation& entry, const RandomMesh& mesh, FuzzRandom& random) {
  const auto tiles_for = [&](const Instruction& value) {
    return RandomTiles(value.shape().rank(), mesh, random.OneIn(3), random);
  };
  const auto leave = [&](Instruction* value) {
    TiledSharding tiles = tiles_for(*value);
    Instruction* inside = AddMarker("Sharding", value, TiledSharding::Canonical(tiles));
    return AddMarker("SPMDShardToFullShape", inside, Outside(std::move(tiles)));
  };
  Instruction* root = entry.root();
  if (root->opcode() == Opcode::kTuple) {
    std::vector<Instruction*> elements;
    for (Instruction* element : root->operands()) elements.push_back(leave(element));
    entry.set_root(entry.Add(Opcode::kTuple, root->shape(), elements));
  } else {
    entry.set_root(leave(root));
  }
  for (Instruction* parameter : entry.parameters()) {
    const std::vector<Use> uses(parameter->uses().begin(), parameter->uses().end());
    TiledSharding tiles = tiles_for(*parameter);
    Instruction* outside = AddMarker("Sharding", parameter, Outside(tiles));
    Instruction* inside =
        AddMarker("SPMDFullToShardShape", outside, TiledSharding::Canonical(std::move(tiles)));
    for (const Use& use : uses) use.user->ReplaceOperand(use.operand_index, inside);
  }
}

}  // namespace

std::string RandomShardedProgram(FuzzRandom& random) {
  static const std::vector<int64_t> kMeshes[] = {{2},    {3},    {4},       {6}, {2, 2},
                                                 {2, 3}, {4, 2}, {2, 2, 2}, {8}};
  absl::StatusOr<std::unique_ptr<Module>> module = ParseModule(RandomProgram(random));
  if (!module.ok() || (*module)->entry() == nullptr || RunsOnSeveralDevices(**module)) return "";
  Computation& entry = *(*module)->entry();
  RandomMesh mesh{kMeshes[random.Below(std::size(kMeshes))]};
  (*module)->config().num_partitions =
      std::accumulate(mesh.axes.begin(), mesh.axes.end(), int64_t{1}, std::multiplies<>());
  const RandomMesh around = mesh;
  if (random.OneIn(3) && HasOnlyArrays(entry))
    mesh.manual = static_cast<int64_t>(random.Below(mesh.axes.size()));
  const size_t rarity = 1 + random.Below(3);
  for (Computation* computation : (*module)->computations()) {
    if (!IsDivided(*computation)) continue;
    for (Instruction* instruction : computation->instructions()) {
      if (!random.OneIn(rarity)) continue;
      const bool is_border =
          instruction->opcode() == Opcode::kParameter || instruction == computation->root();
      // What a computation takes and gives is divided as its callers say.
      if (is_border && !computation->is_entry()) continue;
      const RandomMesh& own = is_border && mesh.manual >= 0 ? around : mesh;
      // A result that is given in a region does not leave it.
      if (instruction == computation->root() && mesh.manual >= 0) continue;
      instruction->set_sharding(RandomSharding(instruction->shape(), own, random));
    }
  }
  if (mesh.manual >= 0) EnterRegion(entry, mesh, random);
  PrintOptions print;
  print.large_constants = print.lossless = true;
  return ToText(**module, print);
}

}  // namespace hlo
