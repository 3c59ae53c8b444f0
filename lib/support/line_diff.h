// Differences of two texts by lines, in the unified format.
#pragma once

#include <string>
#include <string_view>

namespace hlo {

struct LineDiffOptions {
  int context = 3;     // equal lines around each difference
  bool color = false;  // terminal colours: red for removed, green for added
};

// Hunks `@@ -line,count +line,count @@` with lines that start with ` `, `-` or `+`; empty when the
// texts are equal. The shortest such script (Myers, "An O(ND) difference algorithm", 1986) for up
// to some thousand differences, beyond that a correct but longer one.
std::string LineDiff(std::string_view before, std::string_view after,
                     const LineDiffOptions& options = {});

}  // namespace hlo
