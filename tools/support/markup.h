// Text in HTML and SVG.
#pragma once

#include <string>
#include <string_view>

namespace hlo {

// The text as markup takes it, between elements and inside quotes of either kind.
std::string MarkupText(std::string_view text);

}  // namespace hlo
