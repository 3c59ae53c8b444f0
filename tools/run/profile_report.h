// The forms of a profile. A file has the form that its name ends in:
//
//   .json         {"schema":1,"platform":…,"peaks":{…},"rows":[{"name":…,"median_ms":…},…]}
//   .csv          a line for each row, the same numbers
//   .trace.json   the calls of the last run, for chrome://tracing and ui.perfetto.dev
//   .svg          the rows below the roof of what the machine can do
//   others        the table
#pragma once

#include <string>
#include <string_view>

#include "tools/run/profile.h"

namespace hlo {

// In the form that the name of the file asks for.
std::string ProfileText(const Profile& profile, std::string_view path);

std::string ProfileTable(const Profile& profile);
std::string ProfileJson(const Profile& profile);
std::string ProfileCsv(const Profile& profile);
std::string ProfileTrace(const Profile& profile);
// roofline_svg.cc: both axes logarithmic, a circle for each row that computes, as large as its
// share; hover over it for its name.
std::string RooflineSvg(const Profile& profile);

}  // namespace hlo
