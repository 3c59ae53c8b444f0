#include "passes/sharding/sharding_format_picker.h"

#include <algorithm>
#include <numeric>
#include <optional>
#include <utility>

#include "lib/types/sharding.h"

namespace hlo {
namespace {

constexpr size_t kMostDevices = 32;

DimVec PrimeFactors(int64_t number) {
  DimVec factors;
  for (int64_t divisor = 2; number > 1; ++divisor) {
    for (; number % divisor == 0; number /= divisor) factors.push_back(divisor);
  }
  return factors;
}

// The devices as a transposed count, if there is one: of prime numbers, in some order, in some
// order again.
std::optional<IotaTiles> CountOf(const TiledSharding& sharding) {
  if (sharding.devices.size() < 2 || sharding.devices.size() > kMostDevices) return std::nullopt;
  DimVec sizes = PrimeFactors(std::ssize(sharding.devices));
  do {
    DimVec order(sizes.size());
    absl::c_iota(order, 0);
    do {
      IotaTiles tiles = IotaTiles::Make(sharding.tile_dims, sizes, order);
      if (tiles.Devices() == sharding.devices) return tiles;
    } while (std::next_permutation(order.begin(), order.end()));
  } while (std::next_permutation(sizes.begin(), sizes.end()));
  return std::nullopt;
}

// Whether it is another one now.
bool WriteAsList(TiledSharding& sharding) {
  if (!sharding.iota.has_value()) return false;
  std::vector<int64_t> devices = sharding.iota->Devices();
  if (devices.size() < 2) return false;  // a list of one is no text that can be read
  sharding.devices = std::move(devices);
  sharding.iota.reset();
  return true;
}

bool WriteAsCount(TiledSharding& sharding) {
  if (sharding.iota.has_value()) return false;
  sharding.iota = CountOf(sharding);
  if (sharding.iota.has_value()) sharding.devices.clear();
  return sharding.iota.has_value();
}

}  // namespace

absl::StatusOr<bool> ShardingFormatPicker::Run(Module& module, PassContext& context) {
  bool changed = false;
  const bool to_lists = options_.sharding_type == "v1";
  for (Computation* computation : module.computations()) {
    for (Instruction* instruction : computation->instructions()) {
      if (instruction->sharding() == nullptr) continue;
      if (to_lists && instruction->sharding()->is_tuple) continue;
      Sharding sharding = *instruction->sharding();
      bool is_other = false;
      for (Sharding::Leaf& leaf : sharding.leaves) {
        auto* const tiled = std::get_if<TiledSharding>(&leaf);
        if (tiled == nullptr || tiled->kind != TiledSharding::Kind::kTiled) continue;
        is_other |= to_lists ? WriteAsList(*tiled) : WriteAsCount(*tiled);
      }
      if (!is_other || !context.MayRewrite()) continue;
      context.Passed(*instruction, "its sharding is written as `{}`", sharding.ToString());
      context.Count("shardings");
      instruction->set_sharding(std::move(sharding));
      changed = true;
    }
  }
  return changed;
}

HLO_DEFINE_PASS(ShardingFormatPicker)

}  // namespace hlo
