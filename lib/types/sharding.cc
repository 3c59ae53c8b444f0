// lib/types/sharding.cc
//
// Makers and text of shardings.
#include "lib/types/sharding.h"

#include <algorithm>

#include "lib/types/append.h"

namespace hlo {
namespace {

std::string_view Word(SubgroupType type) {
  switch (type) {
    case SubgroupType::kManual: return "manual";
    case SubgroupType::kReplicated: return "replicated";
    case SubgroupType::kMaximal: return "maximal";
    case SubgroupType::kUnreduced: return "unreduced";
  }
  return "";
}

// Of `sum`, the default, there is no text.
std::string_view Word(ReductionKind kind) {
  switch (kind) {
    case ReductionKind::kSum: return "";
    case ReductionKind::kMax: return "max";
    case ReductionKind::kMin: return "min";
  }
  return "";
}

std::string_view UpperWord(ReductionKind kind) {
  switch (kind) {
    case ReductionKind::kSum: return "SUM";
    case ReductionKind::kMax: return "MAX";
    case ReductionKind::kMin: return "MIN";
  }
  return "";
}

void AppendMetadata(const OpMetadata& metadata, std::string& out) {
  out += '{';
  metadata.AppendTo(out);
  out += '}';
}

// One entry in its braces, several (or `always_list`) in one more pair.
void AppendMetadataList(const std::vector<OpMetadata>& list, bool always_list, std::string& out) {
  out += "metadata=";
  if (list.size() == 1 && !always_list) return AppendMetadata(list[0], out);
  out += '{';
  for (size_t i = 0; i < list.size(); ++i) {
    if (i > 0) out += ", ";
    AppendMetadata(list[i], out);
  }
  out += '}';
}

constexpr std::string_view kReductionEntry = "sdy::reduction_op";

// The reduction of an unreduced sharding has no text of its own: XLA writes it as an entry of the
// metadata.
std::vector<OpMetadata> MetadataToPrint(const TiledSharding& sharding) {
  const bool unreduced = sharding.kind == TiledSharding::Kind::kUnreduced ||
                         sharding.reduction != ReductionKind::kSum ||
                         std::find(sharding.last_tile_dims.begin(), sharding.last_tile_dims.end(),
                                   SubgroupType::kUnreduced) != sharding.last_tile_dims.end();
  const auto is_entry = [](const OpMetadata& entry) { return entry.op_type == kReductionEntry; };
  std::vector<OpMetadata> list = sharding.metadata;
  if (!unreduced || std::any_of(list.begin(), list.end(), is_entry)) return list;
  OpMetadata entry;
  entry.op_type = kReductionEntry;
  entry.op_name = UpperWord(sharding.reduction);
  list.push_back(std::move(entry));
  return list;
}

void AppendTiles(const TiledSharding& sharding, std::string& out) {
  out += "devices=[";
  AppendInts(sharding.tile_dims, out);
  out += ']';
  if (sharding.iota.has_value()) {
    sharding.iota->AppendSource(out);
  } else {
    AppendInts(sharding.devices, out);
  }
  if (sharding.last_tile_dim_replicate) out += " last_tile_dim_replicate";
  if (sharding.last_tile_dims.empty()) return;
  out += " last_tile_dims={";
  for (size_t i = 0; i < sharding.last_tile_dims.size(); ++i) {
    if (i > 0) out += ", ";
    out += Word(sharding.last_tile_dims[i]);
  }
  out += '}';
}

void AppendLeaf(const TiledSharding& sharding, bool with_metadata, std::string& out) {
  out += '{';
  switch (sharding.kind) {
    case TiledSharding::Kind::kReplicated: out += "replicated"; break;
    case TiledSharding::Kind::kMaximal:
      out += "maximal device=";
      AppendInt(sharding.maximal_device, out);
      break;
    case TiledSharding::Kind::kManual: out += "manual"; break;
    case TiledSharding::Kind::kUnknown: out += "unknown"; break;
    case TiledSharding::Kind::kUnreduced: out += "unreduced"; break;
    case TiledSharding::Kind::kTiled: AppendTiles(sharding, out); break;
  }
  if (sharding.group_kind != ShardGroupKind::kNone) {
    out += sharding.group_kind == ShardGroupKind::kAs ? " shard_as " : " shard_like ";
    AppendInt(sharding.group_id, out);
  }
  if (with_metadata) {
    if (const auto metadata = MetadataToPrint(sharding); !metadata.empty()) {
      out += ' ';
      AppendMetadataList(metadata, /*always_list=*/false, out);
    }
  }
  out += '}';
}

void AppendAxes(const Mesh& mesh, const std::vector<AxisRef>& axes, std::string& out) {
  for (size_t i = 0; i < axes.size(); ++i) {
    if (i > 0) out += ", ";
    axes[i].AppendTo(mesh, out);
  }
}

void AppendAxisList(std::string_view name, std::string_view kind, const Mesh& mesh,
                    const std::vector<AxisRef>& axes, std::string& out) {
  if (axes.empty()) return;
  out += ", ";
  out += name;
  out += '=';
  out += kind;
  out += '{';
  AppendAxes(mesh, axes, out);
  out += '}';
}

void AppendDims(const NamedSharding& sharding, std::string& out) {
  out += ", [";
  for (size_t i = 0; i < sharding.dims.size(); ++i) {
    const NamedSharding::Dim& dim = sharding.dims[i];
    out += i > 0 ? ", {" : "{";
    AppendAxes(sharding.mesh, dim.axes, out);
    if (dim.open) out += dim.axes.empty() ? "?" : ", ?";
    out += '}';
  }
  out += ']';
}

void AppendNamed(const NamedSharding& sharding, std::string& out) {
  const Mesh& mesh = sharding.mesh;
  const bool only_replicated =
      sharding.dims.empty() && sharding.replicated.empty() && sharding.IsReplicated();
  // What is the same on every mesh is written without it, unless the order of the devices would be
  // lost.
  if (only_replicated && mesh.has_default_order()) {
    out += "replicated";
  } else if (sharding.IsUnreduced() && mesh.has_default_order()) {
    out += "unreduced";
    if (sharding.unreduced_kind != ReductionKind::kSum) out += '=';
    out += Word(sharding.unreduced_kind);
  } else if (mesh.maximal_device.has_value()) {
    out += mesh.ToString();
  } else if (only_replicated) {
    out += mesh.ToString() + ", replicated";
  } else if (sharding.IsManual()) {
    out += mesh.ToString() + ", manual";
  } else {
    out += mesh.ToString();
    AppendDims(sharding, out);
    AppendAxisList("replicated", "", mesh, sharding.replicated, out);
    AppendAxisList("unreduced", Word(sharding.unreduced_kind), mesh, sharding.unreduced, out);
    AppendAxisList("manual", "", mesh, sharding.manual, out);
  }
}

void AppendLeaf(const NamedSharding& sharding, bool with_metadata, std::string& out) {
  out += '{';
  AppendNamed(sharding, out);
  if (with_metadata && !sharding.metadata.empty()) {
    out += ", ";
    AppendMetadataList(sharding.metadata, /*always_list=*/true, out);
  }
  out += '}';
}

template <class Fn>
bool AllLeaves(const Sharding& sharding, Fn fn) {
  return std::all_of(sharding.leaves.begin(), sharding.leaves.end(),
                     [&](const Sharding::Leaf& leaf) { return std::visit(fn, leaf); });
}

struct IsReplicatedLeaf {
  bool operator()(const TiledSharding& leaf) const {
    return leaf.kind == TiledSharding::Kind::kReplicated;
  }
  bool operator()(const NamedSharding& leaf) const { return leaf.IsReplicated(); }
};

struct IsManualLeaf {
  bool operator()(const TiledSharding& leaf) const {
    return leaf.kind == TiledSharding::Kind::kManual;
  }
  bool operator()(const NamedSharding& leaf) const { return leaf.IsManual(); }
};

Sharding OfKind(TiledSharding::Kind kind, int64_t device = 0) {
  Sharding sharding;
  auto& leaf = std::get<TiledSharding>(sharding.leaves.emplace_back());
  leaf.kind = kind;
  leaf.maximal_device = device;
  return sharding;
}

}  // namespace

Sharding Sharding::Replicated() { return OfKind(TiledSharding::Kind::kReplicated); }
Sharding Sharding::Maximal(int64_t device) { return OfKind(TiledSharding::Kind::kMaximal, device); }
Sharding Sharding::Manual() { return OfKind(TiledSharding::Kind::kManual); }

Sharding Sharding::Of(Leaf leaf) {
  Sharding sharding;
  sharding.leaves.push_back(std::move(leaf));
  return sharding;
}

Sharding Sharding::Tuple(std::vector<Leaf> leaves) {
  Sharding sharding;
  sharding.is_tuple = true;
  sharding.leaves = std::move(leaves);
  return sharding;
}

bool Sharding::IsReplicated() const { return AllLeaves(*this, IsReplicatedLeaf()); }
bool Sharding::IsManual() const { return AllLeaves(*this, IsManualLeaf()); }

std::string Sharding::ToString(bool with_metadata) const {
  std::string out;
  AppendTo(out, with_metadata);
  return out;
}

void Sharding::AppendTo(std::string& out, bool with_metadata) const {
  if (is_tuple) out += '{';
  for (size_t i = 0; i < leaves.size(); ++i) {
    if (i > 0) out += ", ";
    if (i > 0 && i % 5 == 0) {
      out += "/*index=";
      AppendInt(i, out);
      out += "*/";
    }
    std::visit([&](const auto& leaf) { AppendLeaf(leaf, with_metadata, out); }, leaves[i]);
  }
  if (is_tuple) out += '}';
}

}  // namespace hlo
