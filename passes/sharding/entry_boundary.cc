#include "passes/sharding/entry_boundary.h"

#include <algorithm>

#include "absl/algorithm/container.h"
#include "lib/types/shape_util.h"

namespace hlo {
namespace {

std::optional<Sharding> ShardingBefore(const Instruction& instruction) {
  if (instruction.sharding() == nullptr) return std::nullopt;
  return *instruction.sharding();
}

// Every leaf that is tiled has tiles of one size.
bool DividesEvenly(Shape shape, const Sharding& sharding) {
  size_t leaf = 0;
  bool even = true;
  ForEachLeaf(shape, [&](Shape array, const ShapeIndex&) {
    const TiledSharding& tiles = LeafAt(sharding, leaf++);
    for (int d = 0; array.IsArray() && d < array.rank(); ++d)
      even &= array.dim(d) % TilesAlong(tiles, d) == 0;
  });
  return even;
}

size_t Elements(const Instruction& instruction) {
  return instruction.shape().IsTuple() ? instruction.shape().elements().size() : 0;
}

// One permission stands for all.
std::vector<bool> ForEach(const std::vector<bool>& allowed, size_t count) {
  return allowed == std::vector<bool>{true} ? std::vector<bool>(count, true) : allowed;
}

}  // namespace

EntryBoundary::EntryBoundary(Module& module, const std::vector<bool>& to_output,
                             const std::vector<bool>& to_parameters)
    : entry_(*module.entry()),
      to_output_(ForEach(to_output, std::max<size_t>(1, Elements(*entry_.root())))),
      to_parameters_(ForEach(to_parameters, entry_.parameters().size())),
      output_(ShardingBefore(*entry_.root())) {
  for (const Instruction* parameter : entry_.parameters())
    parameters_.push_back(ShardingBefore(*parameter));
}

bool EntryBoundary::any_output() const { return absl::c_linear_search(to_output_, true); }
bool EntryBoundary::any_parameter() const { return absl::c_linear_search(to_parameters_, true); }

// Element by element: those that may change are replicated if need be, the others as before.
void EntryBoundary::RestoreElements(Instruction& tuple, const std::optional<Sharding>& before,
                                    const std::vector<bool>& allowed) {
  Sharding sharding = *tuple.sharding();
  for (size_t i = 0; i < allowed.size(); ++i) {
    const auto element = static_cast<int64_t>(i);
    const Shape shape = tuple.shape().element(static_cast<int>(i));
    Sharding part = ElementSharding(sharding, tuple.shape(), element);
    if (allowed[i]) {
      if (DividesEvenly(shape, part)) continue;
      part = Uniform(shape, TiledSharding());
    } else {
      if (!before.has_value()) continue;
      part = ElementSharding(*before, tuple.shape(), element);
      if (AllUnknown(part)) continue;
    }
    absl::c_copy(part.leaves, sharding.leaves.begin() + FirstLeafOf(tuple.shape(), element));
  }
  tuple.set_sharding(std::move(sharding));
}

void EntryBoundary::RestoreOutput() {
  Instruction& root = *entry_.root();
  if (!any_output() || root.sharding() == nullptr) return;
  if (Elements(root) > 0) {
    if (Elements(root) == to_output_.size()) RestoreElements(root, output_, to_output_);
  } else if (!DividesEvenly(root.shape(), *root.sharding())) {
    root.set_sharding(Uniform(root.shape(), TiledSharding()));
  }
}

void EntryBoundary::RestoreParameters() {
  if (!any_parameter()) return;
  const auto parameters = entry_.parameters();
  const bool is_one_tuple = parameters.size() == 1 && to_parameters_.size() > 1 &&
                            Elements(*parameters[0]) == to_parameters_.size();
  if (is_one_tuple && parameters[0]->sharding() != nullptr)
    return RestoreElements(*parameters[0], parameters_[0], to_parameters_);
  if (to_parameters_.size() != parameters.size()) return;
  for (size_t i = 0; i < parameters.size(); ++i) {
    Instruction& parameter = *parameters[i];
    if (!to_parameters_[i]) {
      if (parameters_[i].has_value() && !AllUnknown(*parameters_[i])) {
        parameter.set_sharding(*parameters_[i]);
      } else {
        parameter.clear_sharding();
      }
    } else if (parameter.sharding() != nullptr &&
               !DividesEvenly(parameter.shape(), *parameter.sharding())) {
      parameter.set_sharding(Uniform(parameter.shape(), TiledSharding()));
    }
  }
}

bool EntryBoundary::Restore() {
  const std::optional<Sharding> before = ShardingBefore(*entry_.root());
  RestoreOutput();
  const bool changed = ShardingBefore(*entry_.root()) != before;
  RestoreParameters();
  return changed;
}

}  // namespace hlo
