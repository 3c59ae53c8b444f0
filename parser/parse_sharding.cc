// Shardings and device lists.
//
//   sharding = '{' body '}' | '{' [ '{' body '}' { ',' '{' body '}' } ] '}'
//   body     = named | { item }                    items separated by blanks
//   item     = 'replicated' | 'manual' | 'unknown' | 'unreduced' | 'maximal' | 'device=' INT
//            | 'devices=' '[' ints ']' ( ints | '<=' iota ) | 'last_tile_dim_replicate' | 'last_tile_dims=' '{' types '}'
//            | 'shard_as' INT | 'shard_like' INT | 'metadata=' metadata | 'unreduced=' ( 'sum' | 'max' | 'min' )
//   iota     = '[' ints ']' [ 'T' '(' ints ')' ]
//   groups   = '{' lists '}' | '[' INT ',' INT ']' '<=' iota | mesh axes
// Mesh forms are in parse_mesh.cc.
#include <iterator>

#include "lib/types/shape_util.h"
#include "lib/types/sharding_kind.h"
#include "parser/parser_internal.h"

namespace hlo {
namespace {

using Kind = TiledSharding::Kind;

constexpr std::string_view kSubgroupWords[] = {"manual", "replicated", "maximal", "unreduced"};
constexpr SubgroupType kSubgroupTypes[] = {SubgroupType::kManual, SubgroupType::kReplicated,
                                           SubgroupType::kMaximal, SubgroupType::kUnreduced};

// Kinds that are a word, the one that counts first.
constexpr Kind kKindsByRank[] = {Kind::kReplicated, Kind::kMaximal, Kind::kManual, Kind::kUnknown,
                                 Kind::kUnreduced};

}  // namespace

// What the items of one classic sharding have said.
struct Parser::ShardingItems {
  bool said[std::size(kKindsByRank)] = {};
  bool last_tile_dim_replicate = false, has_last_tile_dims = false, has_devices = false;
  std::optional<int64_t> device;

  void Say(Kind kind) {
    for (size_t i = 0; i < std::size(said); ++i) said[i] |= kKindsByRank[i] == kind;
  }
  Kind kind() const {
    for (size_t i = 0; i < std::size(said); ++i) {
      if (said[i]) return kKindsByRank[i];
    }
    return Kind::kTiled;
  }
};

// '[' INT { ',' INT } ']'
bool Parser::ParseSquareInts(DimVec& out) {
  if (!Expect(Tok::kLSquare, "`[` of a list of sizes")) return false;
  out.clear();
  do {
    const SourceLoc loc = token().loc();
    int64_t value;
    if (!ReadValue(value)) return false;
    if (value < 1) return Fail(loc, "a size of {}, expected at least 1", value);
    out.push_back(value);
  } while (Take(Tok::kComma));
  return Expect(Tok::kRSquare, "`,` or `]` in a list of sizes");
}

// '[' ints ']' [ 'T' '(' ints ')' ]; `dims` are those of the device array.
bool Parser::ParseIotaSource(DimVec dims, IotaTiles& out) {
  const SourceLoc loc = token().loc();
  DimVec reshape, transpose;
  if (!ParseSquareInts(reshape)) return false;
  const auto rank = static_cast<int64_t>(reshape.size());
  if (reshape.size() > 1) {
    if (!TakeWord("T")) return Unexpected("`T(` and the order of the dimensions");
    if (!Expect(Tok::kLParen, "`(` after `T`")) return false;
    do {
      const SourceLoc at = token().loc();
      int64_t value;
      if (!ReadValue(value)) return false;
      if (value < 0 || value >= rank)
        return Fail(at, "dimension {} in the transpose of an array of {} dimensions", value, rank);
      transpose.push_back(value);
    } while (Take(Tok::kComma));
    if (!Expect(Tok::kRParen, "`,` or `)` in the transpose")) return false;
    if (!IsPermutation(transpose, rank)) {
      return Fail(loc, "the transpose names {} dimensions, expected each of the {} once",
                  transpose.size(), rank);
    }
  } else {
    transpose.push_back(0);
  }
  const std::optional<int64_t> have = CheckedProduct(reshape), want = CheckedProduct(dims);
  if (!have || !want || *have > kMaxDevices)
    return Fail(loc, "the iota has more than {} devices", kMaxDevices);
  if (*have != *want)
    return Fail(loc, "the iota has {} devices, but the tiles need {}", *have, *want);
  out = IotaTiles::Make(std::move(dims), std::move(reshape), std::move(transpose));
  return true;
}

// '{' fields '}' | '{' [ '{' fields '}' { ',' … } ] '}'
bool Parser::ParseShardingMetadata(std::vector<OpMetadata>& out) {
  if (!Is(Tok::kLBrace)) return Unexpected("`{` of metadata");
  if (lex_.PeekByte() != '{') return ReadValue(out.emplace_back());
  lex_.Next();
  do {
    if (!ReadValue(out.emplace_back())) return false;
  } while (Take(Tok::kComma));
  return Expect(Tok::kRBrace, "`,` or `}` in a list of metadata");
}

bool Parser::ParseTiledBody(TiledSharding& out) {
  const SourceLoc loc = token().loc();
  ShardingItems items;
  while (!Is(Tok::kRBrace)) {
    const Token at = token();
    if (at.kind != Tok::kAttr && at.kind != Tok::kKeyword)
      return Unexpected("a part of a sharding, or `}`");
    lex_.Next();
    if (!(at.kind == Tok::kAttr ? ParseShardingField(at, items, out)
                                : ParseShardingWord(at, items, out)))
      return false;
  }
  return FinishTiledBody(loc, items, out);
}

// What stands after `at`, one of `device=`, `devices=`, …
bool Parser::ParseShardingField(const Token& at, ShardingItems& items, TiledSharding& out) {
  if (at.text == "device") return ReadValue(items.device.emplace());
  if (at.text == "devices") {
    out.devices.clear();
    out.iota.reset();
    if (!ParseSquareInts(out.tile_dims)) return false;
    items.has_devices = true;
    if (Take(Tok::kLeq)) return ParseIotaSource(out.tile_dims, out.iota.emplace());
    return ReadInts(out.devices);
  }
  if (at.text == "metadata") return ParseShardingMetadata(out.metadata);
  if (at.text == "unreduced") {
    // XLA's print of a mesh that is unreduced as a whole.
    items.Say(Kind::kUnreduced);
    return ParseReductionWord(out.reduction);
  }
  if (at.text == "last_tile_dims") {
    items.has_last_tile_dims = true;
    return ParseSubgroupTypes(out);
  }
  static constexpr std::string_view kNames[] = {"device", "devices", "metadata", "last_tile_dims",
                                                "unreduced"};
  return Fail(at.loc(), "a sharding has no `{}`{}", at.text, DidYouMean(at.text, kNames));
}

// '{' [ type { ',' type } ] '}'
bool Parser::ParseSubgroupTypes(TiledSharding& out) {
  if (!Expect(Tok::kLBrace, "`{` of the subgroup types")) return false;
  if (Take(Tok::kRBrace)) return true;
  do {
    size_t k = 0;
    while (k < std::size(kSubgroupWords) && !IsWord(kSubgroupWords[k])) ++k;
    if (k == std::size(kSubgroupWords)) return BadWord(kSubgroupWords);
    lex_.Next();
    out.last_tile_dims.push_back(kSubgroupTypes[k]);
  } while (Take(Tok::kComma));
  return Expect(Tok::kRBrace, "`,` or `}` in the subgroup types");
}

bool Parser::ParseShardingWord(const Token& at, ShardingItems& items, TiledSharding& out) {
  for (const Kind kind : kKindsByRank) {
    if (at.text != Word(kind)) continue;
    items.Say(kind);
    return true;
  }
  if (at.text == "last_tile_dim_replicate") {
    items.last_tile_dim_replicate = true;
    return true;
  }
  if (at.text != "shard_as" && at.text != "shard_like")
    return Fail(at.loc(), "`{}` is no part of a sharding", at.text);
  if (at.text == "shard_as") {
    out.group_kind = ShardGroupKind::kAs;
  } else if (out.group_kind == ShardGroupKind::kNone) {
    out.group_kind = ShardGroupKind::kLike;
  }
  return ReadValue(out.group_id);
}

// What the items mean together; `loc` is where the first one stands.
bool Parser::FinishTiledBody(SourceLoc loc, const ShardingItems& items, TiledSharding& out) {
  out.kind = items.kind();
  if (out.kind == Kind::kMaximal) {
    std::vector<int64_t> devices = out.iota ? out.iota->Devices() : out.devices;
    if (items.device) devices = {*items.device};
    if (devices.size() != 1)
      return Fail(loc, "a maximal sharding is on {} devices, expected one `device=`",
                  devices.size());
    out.maximal_device = devices[0];
    out.devices.clear();
  }
  if (out.kind != Kind::kTiled) {
    if (out.kind != Kind::kMaximal && (items.device || !out.devices.empty()))
      return Fail(loc, "a `{}` sharding has no devices", Word(out.kind));
    out.tile_dims.clear();
    out.iota.reset();
    return true;
  }
  if (!CheckTiles(loc, items, out)) return false;
  out.last_tile_dim_replicate = items.last_tile_dim_replicate;
  out = TiledSharding::Canonical(std::move(out));
  return true;
}

bool Parser::CheckTiles(SourceLoc loc, const ShardingItems& items, const TiledSharding& tiled) {
  if (!items.has_devices) {
    if (items.device)
      return Fail(loc, "only a maximal sharding has `device=`; a tiled one has `devices=[...]`");
    return Fail(loc, "expected a sharding such as `{{replicated}}` or `{{devices=[2,2]<=[4]}}`");
  }
  if (!tiled.iota) {
    if (tiled.devices.size() == 1)
      return Fail(loc, "a tiling of one device; write `{{maximal device={}}}` or an iota",
                  tiled.devices[0]);
    const std::optional<int64_t> want = CheckedProduct(tiled.tile_dims);
    if (!want || *want != static_cast<int64_t>(tiled.devices.size())) {
      return Fail(loc, "{} devices are listed, but the tiles need {}", tiled.devices.size(),
                  want.value_or(INT64_MAX));
    }
  }
  if (items.last_tile_dim_replicate && items.has_last_tile_dims)
    return Fail(loc, "`last_tile_dim_replicate` and `last_tile_dims` exclude each other");
  if (tiled.last_tile_dims.size() > tiled.tile_dims.size()) {
    return Fail(loc, "{} subgroup types, but only {} dimensions", tiled.last_tile_dims.size(),
                tiled.tile_dims.size());
  }
  return true;
}

bool Parser::ParseShardingLeaf(Sharding::Leaf& out) {
  if (!Expect(Tok::kLBrace, "`{` of a sharding")) return false;
  if (IsWord("mesh") || IsWord("maximal_mesh")) {
    if (!ParseNamedBody(out.emplace<NamedSharding>())) return false;
  } else if (!ParseTiledBody(out.emplace<TiledSharding>())) {
    return false;
  }
  return Expect(Tok::kRBrace, "`}` at the end of a sharding");
}

bool Parser::ReadValue(Sharding& out) {
  if (!Is(Tok::kLBrace)) return Unexpected("`{` of a sharding");
  const char next = lex_.PeekByte();
  if (next != '{' && next != '}') return ParseShardingLeaf(out.leaves.emplace_back());
  out.is_tuple = true;
  lex_.Next();
  if (Take(Tok::kRBrace)) return true;
  do {
    if (!ParseShardingLeaf(out.leaves.emplace_back())) return false;
  } while (Take(Tok::kComma));
  return Expect(Tok::kRBrace, "`,` or `}` in a tuple of shardings");
}

bool Parser::ReadValue(ReplicaGroups& out) {
  if (IsWord("mesh") || IsWord("maximal_mesh")) {
    MeshGroups& groups = out.form.emplace<MeshGroups>();
    if (!ParseMesh(groups.mesh)) return false;
    Take(Tok::kComma);
    return ParseAxes(groups.mesh, groups.axes);
  }
  if (Is(Tok::kLSquare)) {
    const SourceLoc loc = token().loc();
    DimVec dims;
    if (!ParseSquareInts(dims)) return false;
    if (dims.size() != 2)
      return Fail(loc, "expected the number of groups and their size, found {} numbers",
                  dims.size());
    if (!Expect(Tok::kLeq, "`<=` and the devices")) return false;
    return ParseIotaSource(dims, out.form.emplace<IotaTiles>());
  }
  auto& lists = out.form.emplace<ReplicaGroups::Lists>();
  if (!Expect(Tok::kLBrace, "replica groups such as `{{0,1},{2,3}}` or `[2,2]<=[4]`")) return false;
  if (Take(Tok::kRBrace)) return true;
  do {
    if (!ReadBracedInts(lists.emplace_back())) return false;
  } while (Take(Tok::kComma));
  return Expect(Tok::kRBrace, "`,` or `}` in replica groups");
}

}  // namespace hlo
