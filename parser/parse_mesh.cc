// Named device meshes, and the shardings and axis lists in terms of them.
//
//   mesh  = 'mesh' '[' [ STR '=' INT { ',' STR '=' INT } ] ']' [ ',' 'device_ids=' '(' ids ')' ]
//         | 'maximal_mesh' '[' 'device_id=' INT ']'
//   named = mesh [','] 'replicated' | mesh [','] 'manual' | mesh [','] ( 'unreduced' | 'unreduced=' op ) [axes]
//         | mesh [','] dims { ',' 'replicated=' axes | ',' 'unreduced=' [op] axes | ',' 'manual=' axes | ',' 'metadata=' … }
//   dims  = '[' [ dim { ',' dim } ] ']'        dim = '{' [ axis { ',' axis } [ ',' '?' ] | '?' ] '}'
//   axes  = '{' [ axis { ',' axis } ] '}'      axis = STR [ ':' '(' INT ')' INT ]
#include <algorithm>
#include <numeric>

#include "lib/types/shape_util.h"
#include "parser/parser_internal.h"

namespace hlo {
namespace {

constexpr size_t kMaxAxes = 1024;

// The part of its axis that a reference covers: steps [pre, pre * size).
struct Part {
  int64_t axis, pre, size;
};

Part PartOf(const Mesh& mesh, const AxisRef& ref) {
  if (ref.is_sub_axis()) return {ref.axis, ref.pre_size, ref.size};
  // An axis of one device counts as if it had two: it cannot be used twice either.
  return {ref.axis, 1, std::max<int64_t>(mesh.axes[static_cast<size_t>(ref.axis)].size, 2)};
}

bool Overlap(const Part& a, const Part& b) {
  return a.axis == b.axis && a.pre < b.pre * b.size && b.pre < a.pre * a.size;
}

// The message of what is wrong with the axes of one sharding, or "".
std::string AxesProblem(const Mesh& mesh, const std::vector<const std::vector<AxisRef>*>& lists,
                        size_t sorted_from) {
  std::vector<Part> parts;
  for (size_t k = 0; k < lists.size(); ++k) {
    for (size_t i = 0; i < lists[k]->size(); ++i) {
      const AxisRef& ref = (*lists[k])[i];
      const Part part = PartOf(mesh, ref);
      for (const Part& other : parts) {
        if (Overlap(part, other)) return fmt::format("axis {} is used twice", ref.ToString(mesh));
      }
      parts.push_back(part);
      if (i == 0) continue;
      const AxisRef& before = (*lists[k])[i - 1];
      const Part previous = PartOf(mesh, before);
      if (previous.axis == part.axis && previous.pre * previous.size == part.pre) {
        return fmt::format("the neighbours {} and {} are one axis; write them merged",
                           before.ToString(mesh), ref.ToString(mesh));
      }
      if (k >= sorted_from &&
          std::pair(part.axis, part.pre) < std::pair(previous.axis, previous.pre)) {
        return fmt::format("{} stands after {}, expected axes in the order of the mesh",
                           ref.ToString(mesh), before.ToString(mesh));
      }
    }
  }
  return "";
}

}  // namespace

bool Parser::ParseMesh(Mesh& out) {
  if (TakeWord("maximal_mesh")) {
    if (!Expect(Tok::kLSquare, "`[` after `maximal_mesh`")) return false;
    if (!Is(Tok::kAttr) || token().text != "device_id") return Unexpected("`device_id=`");
    lex_.Next();
    int64_t device;
    if (!ReadValue(device)) return false;
    out.maximal_device = device;
    return Expect(Tok::kRSquare, "`]` after the device");
  }
  lex_.Next();  // `mesh`
  if (!Expect(Tok::kLSquare, "`[` after `mesh`")) return false;
  int64_t count = 1;
  if (!Is(Tok::kRSquare)) {
    do {
      MeshAxis axis;
      const SourceLoc axis_loc = token().loc();
      if (!ReadValue(axis.name) || !Expect(Tok::kEqual, "`=` after the name of an axis"))
        return false;
      const SourceLoc size_loc = token().loc();
      if (!ReadValue(axis.size)) return false;
      if (axis.size < 1)
        return Fail(size_loc, "axis `{}` has size {}, expected at least 1", axis.name, axis.size);
      for (const MeshAxis& other : out.axes) {
        if (other.name == axis.name)
          return Fail(axis_loc, "the mesh has two axes named `{}`", axis.name);
      }
      if (__builtin_mul_overflow(count, axis.size, &count) || count > kMaxDevices)
        return Fail(size_loc, "the mesh has more than {} devices", kMaxDevices);
      if (out.axes.size() == kMaxAxes)
        return Fail(axis_loc, "a mesh of more than {} axes", kMaxAxes);
      out.axes.push_back(std::move(axis));
    } while (Take(Tok::kComma));
  }
  if (!Expect(Tok::kRSquare, "`,` or `]` in a mesh")) return false;
  if (!Is(Tok::kComma)) return true;
  const Token next = lex_.Peek();
  if (next.kind != Tok::kAttr || next.text != "device_ids") return true;
  lex_.Next();
  lex_.Next();
  if (!Expect(Tok::kLParen, "`(` of the device ids")) return false;
  const SourceLoc ids_loc = token().loc();
  if (Is(Tok::kLSquare)) {
    DimVec dims;
    for (const MeshAxis& axis : out.axes) dims.push_back(axis.size);
    if (!ParseIotaSource(dims, out.device_iota.emplace())) return false;
  } else {
    if (!ReadInts(out.device_ids)) return false;
    const auto listed = static_cast<int64_t>(out.device_ids.size());
    if (listed != count)
      return Fail(ids_loc, "the mesh has {} devices, but {} ids are listed", count, listed);
    if (!IsPermutation(out.device_ids, listed))
      return Fail(ids_loc, "the device ids are no permutation of 0 to {}", listed - 1);
    if (std::is_sorted(out.device_ids.begin(), out.device_ids.end())) {
      return Fail(ids_loc, "the device ids are in the default order; leave `device_ids` out");
    }
  }
  return Expect(Tok::kRParen, "`)` after the device ids");
}

bool Parser::ParseAxisRef(const Mesh& mesh, AxisRef& out) {
  const SourceLoc loc = token().loc();
  std::string name;
  if (!ReadValue(name)) return false;
  const auto found = std::find_if(mesh.axes.begin(), mesh.axes.end(),
                                  [&](const MeshAxis& axis) { return axis.name == name; });
  if (found != mesh.axes.end()) {
    out.axis = found - mesh.axes.begin();
  } else if (!name.empty() && name.size() < 10 &&
             name.find_first_not_of("0123456789") == std::string::npos) {
    out.axis = std::stoi(name);
    if (out.axis >= static_cast<int64_t>(mesh.axes.size())) {
      return Fail(loc, "axis index {} in a mesh of {} axes", out.axis, mesh.axes.size());
    }
  } else {
    std::vector<std::string_view> names;
    for (const MeshAxis& axis : mesh.axes) names.push_back(axis.name);
    return Fail(loc, "the mesh has no axis `{}`{}", name, DidYouMean(name, names));
  }
  if (!Take(Tok::kColon)) return true;
  if (!Expect(Tok::kLParen, "`(` of a sub-axis") || !ReadValue(out.pre_size) ||
      !Expect(Tok::kRParen, "`)` of a sub-axis") || !ReadValue(out.size)) {
    return false;
  }
  const int64_t whole = mesh.axes[static_cast<size_t>(out.axis)].size;
  int64_t used;
  const bool fits = out.pre_size >= 1 && out.size > 1 && out.size < whole &&
                    !__builtin_mul_overflow(out.pre_size, out.size, &used) && used <= whole &&
                    whole % used == 0;
  if (!fits)
    return Fail(loc, "`({}){}` is no part of axis `{}` of size {}", out.pre_size, out.size, name,
                whole);
  return true;
}

bool Parser::ParseAxes(const Mesh& mesh, std::vector<AxisRef>& out) {
  if (!Expect(Tok::kLBrace, "`{` of a list of axes")) return false;
  if (Take(Tok::kRBrace)) return true;
  do {
    if (!ParseAxisRef(mesh, out.emplace_back())) return false;
  } while (Take(Tok::kComma));
  return Expect(Tok::kRBrace, "`,` or `}` in a list of axes");
}

namespace {

std::vector<AxisRef> AllAxes(const Mesh& mesh) {
  std::vector<AxisRef> axes(mesh.axes.size());
  for (size_t i = 0; i < axes.size(); ++i) axes[i].axis = static_cast<int64_t>(i);
  return axes;
}

}  // namespace

bool Parser::ParseNamedDims(NamedSharding& out) {
  lex_.Next();  // `[`
  if (Take(Tok::kRSquare)) return true;
  do {
    NamedSharding::Dim& dim = out.dims.emplace_back();
    if (!Expect(Tok::kLBrace, "`{` of a dimension's axes")) return false;
    while (!Is(Tok::kRBrace)) {
      if (dim.open) return Fail(token().loc(), "an axis stands after `?`, which must be last");
      if (Take(Tok::kQuestion)) {
        dim.open = true;
      } else if (!ParseAxisRef(out.mesh, dim.axes.emplace_back())) {
        return false;
      }
      if (!Take(Tok::kComma)) break;
      if (Is(Tok::kRBrace)) return Unexpected("an axis");
    }
    if (!Expect(Tok::kRBrace, "`,` or `}` in a dimension's axes")) return false;
  } while (Take(Tok::kComma));
  return Expect(Tok::kRSquare, "`,` or `]` in the dimensions");
}

bool Parser::ParseReductionWord(ReductionKind& out) {
  if (TakeWord("sum")) {
    out = ReductionKind::kSum;
  } else if (TakeWord("max")) {
    out = ReductionKind::kMax;
  } else if (TakeWord("min")) {
    out = ReductionKind::kMin;
  } else {
    return Unexpected("`sum`, `max` or `min`");
  }
  return true;
}

bool Parser::ParseNamedBody(NamedSharding& out) {
  const SourceLoc loc = token().loc();
  if (!ParseMesh(out.mesh)) return false;
  if (!out.mesh.maximal_device.has_value()) {
    Take(Tok::kComma);
    if (Is(Tok::kLSquare)) {
      if (!ParseNamedDims(out)) return false;
    } else if (TakeWord("replicated")) {
    } else if (TakeWord("manual")) {
      out.manual = AllAxes(out.mesh);
    } else if (IsWord("unreduced") || (Is(Tok::kAttr) && token().text == "unreduced")) {
      const bool has_op = Is(Tok::kAttr);
      lex_.Next();
      if (has_op && !ParseReductionWord(out.unreduced_kind)) return false;
      if (!Is(Tok::kLBrace)) {
        out.unreduced = AllAxes(out.mesh);
      } else if (!ParseAxes(out.mesh, out.unreduced)) {
        return false;
      }
    } else {
      return Unexpected("dimensions `[...]`, `replicated`, `manual` or `unreduced`");
    }
  }
  while (Take(Tok::kComma)) {
    const Token name = token();
    if (name.kind != Tok::kAttr)
      return Unexpected("`replicated=`, `unreduced=`, `manual=` or `metadata=`");
    lex_.Next();
    bool ok = false;
    if (name.text == "replicated") {
      ok = ParseAxes(out.mesh, out.replicated);
    } else if (name.text == "manual") {
      ok = ParseAxes(out.mesh, out.manual);
    } else if (name.text == "unreduced") {
      ok = (Is(Tok::kLBrace) || ParseReductionWord(out.unreduced_kind)) &&
           ParseAxes(out.mesh, out.unreduced);
    } else if (name.text == "metadata") {
      ok = ParseShardingMetadata(out.metadata);
    } else {
      static constexpr std::string_view kNames[] = {"replicated", "unreduced", "manual",
                                                    "metadata"};
      return Fail(name.loc(), "a named sharding has no `{}`{}", name.text,
                  DidYouMean(name.text, kNames));
    }
    if (!ok) return false;
  }
  std::vector<const std::vector<AxisRef>*> lists;
  for (const NamedSharding::Dim& dim : out.dims) lists.push_back(&dim.axes);
  const size_t sorted_from = lists.size();
  for (const auto* list : {&out.replicated, &out.unreduced, &out.manual}) lists.push_back(list);
  if (const std::string problem = AxesProblem(out.mesh, lists, sorted_from); !problem.empty())
    return Report(loc, problem);
  return true;
}

}  // namespace hlo
