// The differences of two modules for people, for programs, for browsers.
#pragma once

#include <string>
#include <string_view>

#include "tools/diff/module_diff.h"

namespace hlo {

struct DiffNames {
  std::string_view before, after;  // of the files
};

//   --- a.hlo
//   +++ b.hlo
//   computation %main
//   - %z = f32[] constant(0)
//   ~ operand 1
//   - %s = f32[4]{0} add(%x, %z)
//   + %s = f32[4]{0} add(%x, %x)
//   2 instructions are the same, 1 changed, 1 removed, 0 added
//
// One line where nothing differs.
std::string DiffText(const ModuleDiff& diff, const DiffNames& names, bool color);
//   {"schema":1,"equal":false,"same":2,"changed":1,"removed":1,"added":0,"declarations":[],
//    "edits":[{"computation":"main","kind":"changed","before":"%s = …","after":"%s = …",
//    "what":["operand 1"]}]}
std::string DiffJson(const ModuleDiff& diff, const DiffNames& names);
// A page of its own, which needs no network.
std::string DiffHtml(const ModuleDiff& diff, const DiffNames& names);

}  // namespace hlo
