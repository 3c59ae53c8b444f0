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
#include "lib/types/shape_util.h"
#include "parser/parser_internal.h"

namespace hlo {
namespace {

using Kind = TiledSharding::Kind;

constexpr std::string_view kSubgroupWords[] = {"manual", "replicated", "maximal", "unreduced"};
constexpr SubgroupType kSubgroupTypes[] = {SubgroupType::kManual, SubgroupType::kReplicated,
                                           SubgroupType::kMaximal, SubgroupType::kUnreduced};

// What the items of one classic sharding have said.
struct Items {
  bool replicated = false, maximal = false, manual = false, unknown = false, unreduced = false;
  bool last_tile_dim_replicate = false, has_last_tile_dims = false;
  std::optional<int64_t> device;
  bool has_devices = false;
};

std::string_view Word(Kind kind) {
  switch (kind) {
    case Kind::kReplicated: return "replicated";
    case Kind::kMaximal: return "maximal";
    case Kind::kManual: return "manual";
    case Kind::kUnknown: return "unknown";
    case Kind::kUnreduced: return "unreduced";
    case Kind::kTiled: return "tiled";
  }
  return "";
}

}  // namespace

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
  Items items;
  while (!Is(Tok::kRBrace)) {
    const Token at = token();
    if (at.kind == Tok::kAttr) {
      lex_.Next();
      if (at.text == "device") {
        int64_t device;
        if (!ReadValue(device)) return false;
        items.device = device;
      } else if (at.text == "devices") {
        out.devices.clear();
        out.iota.reset();
        if (!ParseSquareInts(out.tile_dims)) return false;
        items.has_devices = true;
        if (Take(Tok::kLeq)) {
          if (!ParseIotaSource(out.tile_dims, out.iota.emplace())) return false;
        } else if (!ReadInts(out.devices)) {
          return false;
        }
      } else if (at.text == "metadata") {
        if (!ParseShardingMetadata(out.metadata)) return false;
      } else if (at.text == "unreduced") {
        // XLA's print of a mesh that is unreduced as a whole.
        items.unreduced = true;
        if (!ParseReductionWord(out.reduction)) return false;
      } else if (at.text == "last_tile_dims") {
        items.has_last_tile_dims = true;
        if (!Expect(Tok::kLBrace, "`{` of the subgroup types")) return false;
        if (!Is(Tok::kRBrace)) {
          do {
            size_t k = 0;
            while (k < 4 && !IsWord(kSubgroupWords[k])) ++k;
            if (k == 4) return BadWord(kSubgroupWords);
            lex_.Next();
            out.last_tile_dims.push_back(kSubgroupTypes[k]);
          } while (Take(Tok::kComma));
        }
        if (!Expect(Tok::kRBrace, "`,` or `}` in the subgroup types")) return false;
      } else {
        static constexpr std::string_view kNames[] = {"device", "devices", "metadata",
                                                      "last_tile_dims", "unreduced"};
        return Fail(at.loc(), "a sharding has no `{}`{}", at.text, DidYouMean(at.text, kNames));
      }
      continue;
    }
    if (at.kind != Tok::kKeyword) return Unexpected("a part of a sharding, or `}`");
    lex_.Next();
    if (at.text == "replicated") {
      items.replicated = true;
    } else if (at.text == "maximal") {
      items.maximal = true;
    } else if (at.text == "manual") {
      items.manual = true;
    } else if (at.text == "unknown") {
      items.unknown = true;
    } else if (at.text == "unreduced") {
      items.unreduced = true;
    } else if (at.text == "last_tile_dim_replicate") {
      items.last_tile_dim_replicate = true;
    } else if (at.text == "shard_as" || at.text == "shard_like") {
      if (at.text == "shard_as" || out.group_kind == ShardGroupKind::kNone) {
        out.group_kind = at.text == "shard_as" ? ShardGroupKind::kAs : ShardGroupKind::kLike;
      }
      if (!ReadValue(out.group_id)) return false;
    } else {
      return Fail(at.loc(), "`{}` is no part of a sharding", at.text);
    }
  }
  out.kind = items.replicated  ? Kind::kReplicated
             : items.maximal   ? Kind::kMaximal
             : items.manual    ? Kind::kManual
             : items.unknown   ? Kind::kUnknown
             : items.unreduced ? Kind::kUnreduced
                               : Kind::kTiled;
  if (out.kind == Kind::kMaximal) {
    std::vector<int64_t> devices = out.iota ? out.iota->Devices() : out.devices;
    if (items.device) devices = {*items.device};
    if (devices.size() != 1)
      return Fail(loc, "a maximal sharding is on {} devices, expected one `device=`",
                  devices.size());
    out.maximal_device = devices[0];
    out.tile_dims.clear();
    out.devices.clear();
    out.iota.reset();
    return true;
  }
  if (out.kind != Kind::kTiled) {
    if (items.device || !out.devices.empty())
      return Fail(loc, "a `{}` sharding has no devices", Word(out.kind));
    out.tile_dims.clear();
    out.iota.reset();
    return true;
  }
  if (!items.has_devices) {
    if (items.device)
      return Fail(loc, "only a maximal sharding has `device=`; a tiled one has `devices=[...]`");
    return Fail(loc, "expected a sharding such as `{{replicated}}` or `{{devices=[2,2]<=[4]}}`");
  }
  if (!out.iota) {
    if (out.devices.size() == 1)
      return Fail(loc, "a tiling of one device; write `{{maximal device={}}}` or an iota",
                  out.devices[0]);
    const std::optional<int64_t> want = CheckedProduct(out.tile_dims);
    if (!want || *want != static_cast<int64_t>(out.devices.size())) {
      return Fail(loc, "{} devices are listed, but the tiles need {}", out.devices.size(),
                  want.value_or(INT64_MAX));
    }
  }
  if (items.last_tile_dim_replicate && items.has_last_tile_dims) {
    return Fail(loc, "`last_tile_dim_replicate` and `last_tile_dims` exclude each other");
  }
  if (out.last_tile_dims.size() > out.tile_dims.size()) {
    return Fail(loc, "{} subgroup types, but only {} dimensions", out.last_tile_dims.size(),
                out.tile_dims.size());
  }
  out.last_tile_dim_replicate = items.last_tile_dim_replicate;
  out = TiledSharding::Canonical(std::move(out));
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
