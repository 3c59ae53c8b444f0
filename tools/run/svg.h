// What pictures have in common.
#pragma once

#include <string>
#include <string_view>

namespace hlo {

// The element that a picture of this size begins with, white, and its title.
std::string SvgHead(double width, double height, double left, std::string_view title);
std::string SvgLine(double x1, double y1, double x2, double y2, std::string_view colour);
// `anchor`: start, middle or end.
std::string SvgWords(double x, double y, std::string_view anchor, std::string_view text);

}  // namespace hlo
